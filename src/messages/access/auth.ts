/** Who asks. The seam between the service, which knows HTTP, and whatever knows the keys. */

export const SCOPES = ['messages:write', 'messages:read', 'messages:process'] as const;
export type Scope = (typeof SCOPES)[number];

/** The holder of a valid key. Everything that is stored or looked up is scoped by `account`. */
export interface Principal {
  /**
   * The account of the key's namespace: the platform's label, else the namespace's UID, so that a namespace deleted
   * and made again inherits nothing. Never a namespace's name.
   */
  readonly account: string;
  /** Names the key in logs. Not secret, not derived from the key's secret part. */
  readonly keyId: string;
  readonly scopes: ReadonlySet<Scope>;
}

export interface Refusal {
  /**
   * - invalid: malformed, unknown, expired or revoked; 401.
   * - unavailable: it cannot be told now, because what is known of keys is not there yet or too old; 503.
   */
  readonly refused: 'invalid' | 'unavailable';
  /** For whoever sent the key, as a sentence: "This key expired at …". Absent: a general one. */
  readonly detail?: string;
}

export interface Authenticator {
  /** Decides at once, from memory. `key` is what followed `Bearer `, well-formed as a header but otherwise untrusted. */
  authenticate(key: string): Principal | Refusal;
  /** Why no key can be judged now, for the readiness check; undefined when all is well. */
  problem(): string | undefined;
}

/** RFC 6750, section 2.1 (b64token), scheme compared without case as RFC 9110, section 11.1 has it. */
const BEARER = /^bearer +(?<key>[A-Za-z0-9._~+/-]+=*) *$/i;

/** The key of an Authorization header; undefined where the header is absent or has another form. */
export function bearerKey(authorization: string | undefined): string | undefined {
  return authorization === undefined ? undefined : BEARER.exec(authorization)?.groups?.key;
}
