// Generated from crds/ by tools/generate-types.ts; do not edit.

/**
 * The desired state.
 */
export interface APIKeySpec {
  /**
   * What the key may do.
   *
   * @minItems 1
   */
  scopes: [
    'messages:write' | 'messages:read' | 'messages:process',
    ...('messages:write' | 'messages:read' | 'messages:process')[]
  ];
  /**
   * Name of the Secret that the operator creates. Defaults to NAME-apikey. The operator does not touch an existing Secret. Immutable.
   */
  secretName?: string;
  /**
   * When the key expires, in RFC 3339 format. If absent, the key does not expire.
   */
  expiresAt?: string;
  /**
   * If true, the key is revoked immediately and permanently.
   */
  revoked?: boolean;
  /**
   * How the key is rotated.
   */
  rotation?: {
    /**
     * How long the previous key keeps working after a rotation. Defaults to a day.
     */
    overlapSeconds?: number;
  };
}

/**
 * The observed state.
 */
export interface APIKeyStatus {
  /**
   * The generation of the spec that this status describes; -1 until the operator has seen the object.
   */
  observedGeneration?: number;
  /**
   * The account that the key belongs to: the namespace's label nameplate.dev/account or, without that label, the namespace's UID.
   */
  account?: string;
  /**
   * The Secret that holds the key, under 'key'.
   */
  secretName?: string;
  /**
   * The first characters of the key, so that people can recognize it.
   */
  prefix?: string;
  /**
   * SHA-256 of the key in hexadecimal; also the name of its KeyClaim. The messages API reads only KeyClaims.
   */
  sha256?: string;
  /**
   * The previous key, while it still works.
   */
  previous?: {
    /**
     * SHA-256 of the previous key, in hexadecimal.
     */
    sha256: string;
    /**
     * When the previous key stops working.
     */
    validUntil: string;
  };
  /**
   * The value of the annotation nameplate.dev/rotate-requested-at that last caused a rotation.
   */
  lastHandledRotateRequest?: string;
  /**
   * Active says whether the key works. Ready says whether the operator has applied the spec; it stays True for a key that was revoked or has expired.
   */
  conditions?: {
    /**
     * Name of the condition.
     */
    type: string;
    /**
     * True, False, or Unknown.
     */
    status: 'True' | 'False' | 'Unknown';
    /**
     * The generation of the spec that this condition describes.
     */
    observedGeneration?: number;
    /**
     * When status last changed.
     */
    lastTransitionTime: string;
    /**
     * A CamelCase word for programs.
     */
    reason: string;
    /**
     * What the operator found, and what to do next.
     */
    message: string;
  }[];
}
