/** The interface between the service, which knows HTTP, and an authenticator, which knows the keys. */

export const SCOPES = ['messages:write', 'messages:read', 'messages:process'] as const;
export type Scope = (typeof SCOPES)[number];

/** The holder of a valid key. Everything that is stored or looked up is scoped to `account`. */
export interface Principal {
  /**
   * The account of the key's namespace: the platform's label, or else the namespace's UID, so that a recreated
   * namespace inherits nothing.
   */
  readonly account: string;
  /** Names the key in logs. Not secret, not derived from the key's secret part. */
  readonly keyId: string;
  readonly scopes: ReadonlySet<Scope>;
}

export interface Refusal {
  /**
   * - invalid: malformed, unknown, expired, or revoked; 401.
   * - unavailable: not known at the moment, because the records of keys are missing or too old; 503.
   */
  readonly refused: 'invalid' | 'unavailable';
  /** A sentence for the client, such as "This key expired at …". If absent, a general one is used. */
  readonly detail?: string;
}

export interface Authenticator {
  /**
   * Decides immediately, from memory. `key` is what followed `Bearer `, well-formed as a header but otherwise
   * untrusted.
   */
  authenticate(key: string): Principal | Refusal;
  /** Why keys cannot be checked at the moment, for the readiness check; undefined if they can. */
  problem(): string | undefined;
}

/** RFC 6750, section 2.1 (b64token). The scheme is case-insensitive (RFC 9110, section 11.1). */
const BEARER = /^bearer +(?<key>[A-Za-z0-9._~+/-]+=*) *$/i;

/** The key of an Authorization header; undefined if the header is absent or has another form. */
export function bearerKey(authorization: string | undefined): string | undefined {
  return authorization === undefined ? undefined : BEARER.exec(authorization)?.groups?.key;
}
