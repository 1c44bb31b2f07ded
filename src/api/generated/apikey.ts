// Generated from crds/ by tools/generate-types.ts; do not edit.

/**
 * What is wanted.
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
   * Name of the Secret that the operator makes; NAME-apikey where absent. A Secret that exists already is left alone. Cannot be changed.
   */
  secretName?: string;
  /**
   * When the key ends to work, in RFC 3339. Absent, it does not expire.
   */
  expiresAt?: string;
  /**
   * True ends the key at once and for good.
   */
  revoked?: boolean;
  /**
   * How a key is replaced by a new one.
   */
  rotation?: {
    /**
     * How long the key before goes on working beside the new one; a day where absent.
     */
    overlapSeconds?: number;
  };
}

/**
 * What the operator found and did.
 */
export interface APIKeyStatus {
  /**
   * The generation of the spec that the status speaks of; -1 before the operator has seen it.
   */
  observedGeneration?: number;
  /**
   * The account whose key this is, the namespace's label nameplate.dev/account or else its UID.
   */
  account?: string;
  /**
   * The Secret that holds the key, under 'key'.
   */
  secretName?: string;
  /**
   * How the key begins, to recognize it by.
   */
  prefix?: string;
  /**
   * SHA-256 of the key in hexadecimal, the name of its KeyClaim. The messages API reads only KeyClaims.
   */
  sha256?: string;
  /**
   * The key before, while it still works.
   */
  previous?: {
    /**
     * SHA-256 of the key before, in hexadecimal.
     */
    sha256: string;
    /**
     * When the key before ends to work.
     */
    validUntil: string;
  };
  /**
   * The value of the annotation nameplate.dev/rotate-requested-at for which the key was last replaced.
   */
  lastHandledRotateRequest?: string;
  /**
   * Active says whether the key works. Ready says whether the operator has done what the spec wants; it stays True for a key that was revoked or has expired.
   */
  conditions?: {
    /**
     * Name of the condition.
     */
    type: string;
    /**
     * True, False or Unknown.
     */
    status: 'True' | 'False' | 'Unknown';
    /**
     * The generation of the spec that the condition speaks of.
     */
    observedGeneration?: number;
    /**
     * When status last changed.
     */
    lastTransitionTime: string;
    /**
     * One CamelCase word for programs.
     */
    reason: string;
    /**
     * What was found, and who must do what next.
     */
    message: string;
  }[];
}
