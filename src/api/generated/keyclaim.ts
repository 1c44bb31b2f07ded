// Generated from crds/ by tools/generate-types.ts; do not edit.

/**
 * Which APIKey holds the key, what the key may do, and when it ends.
 */
export interface KeyClaimSpec {
  /**
   * The account that holds the key: the namespace's label nameplate.dev/account or, without that label, the namespace's UID.
   */
  account: string;
  /**
   * The namespace of the APIKey.
   */
  namespace: string;
  /**
   * The name of the APIKey.
   */
  name: string;
  /**
   * The UID of the APIKey. Another APIKey of the same name does not hold the key.
   */
  uid: string;
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
   * When the key expires, from spec.expiresAt of the APIKey.
   */
  expiresAt?: string;
  /**
   * True if spec.revoked of the APIKey ended the key.
   */
  revoked?: boolean;
  /**
   * When this key stops working, because a newer key replaced it.
   */
  validUntil?: string;
  /**
   * When the APIKey was deleted or lost the key. A released key does not work. Nameplate keeps the record for a day (at most the last thousand per account). During that time, no other account can take the key.
   */
  releasedAt?: string;
}
