/** The objects of a CA (RFC 8555, section 7.1), checked: every URL is at the origin of its directory. */
import type {Problem} from './errors.ts';

export interface AcmeDirectory {
  readonly newNonce: string;
  readonly newAccount: string;
  readonly newOrder: string;
  readonly keyChange?: string | undefined;
  /** RFC 9773. */
  readonly renewalInfo?: string | undefined;
}

export interface AcmeAccount {
  readonly uri: string;
}

export interface Order {
  readonly url: string;
  readonly status: 'pending' | 'ready' | 'processing' | 'valid' | 'invalid';
  /** Lowercase, sorted. */
  readonly names: readonly string[];
  readonly authorizations: readonly string[];
  readonly finalize: string;
  readonly certificate?: string | undefined;
  readonly error?: Problem | undefined;
  readonly retryAfterMs?: number | undefined;
}

export interface Authorization {
  readonly status: 'pending' | 'valid' | 'invalid' | 'deactivated' | 'expired' | 'revoked';
  readonly challenges: readonly AcmeChallenge[];
  readonly retryAfterMs?: number | undefined;
}

export interface AcmeChallenge {
  readonly type: string;
  readonly url: string;
  readonly status: 'pending' | 'processing' | 'valid' | 'invalid';
  /** Base64url. Empty if the type has none. */
  readonly token: string;
  readonly error?: Problem | undefined;
}

/** When to renew a certificate (RFC 9773, section 4.2). */
export interface RenewalWindow {
  /** Since the epoch. */
  readonly startMs: number;
  readonly endMs: number;
  readonly retryAfterMs?: number | undefined;
}
