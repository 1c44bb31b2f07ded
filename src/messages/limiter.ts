import type {AccountLimits} from './config.ts';

/** The request may go on, or when to come back. */
export type Allowance =
  | {readonly ok: true}
  | {
      readonly ok: false;
      readonly limit: 'requests' | 'bytes';
      /** Of the limit, each second. */
      readonly perSecond: number;
      readonly retryAfterMs: number;
    };

/** When each bucket would be full again, in milliseconds: all that GCRA has to remember of an account. */
interface Buckets {
  requests: number;
  bytes: number;
}

/** Above this number of accounts, those whose buckets are full are forgotten. */
const FORGET_ABOVE = 10_000;

/**
 * Requests and bytes an account may send, as two leaky buckets (GCRA, as in ATM Forum TM 4.1): so many a second, and a
 * burst of some seconds' worth. In memory and of this process.
 */
export class AccountLimiter {
  readonly #limits: AccountLimits;
  readonly #accounts = new Map<string, Buckets>();
  #forgetAt = 0;

  constructor(limits: AccountLimits) {
    this.#limits = limits;
  }

  /** `now` in milliseconds, monotonic. A request that is refused counts for nothing. */
  take(account: string, bytes: number, now: number): Allowance {
    const {requestsPerSecond, bytesPerSecond, burstSeconds} = this.#limits;
    const buckets = this.#accounts.get(account) ?? {requests: now, bytes: now};
    const requestsFull = Math.max(buckets.requests, now) + 1000 / requestsPerSecond;
    const bytesFull = Math.max(buckets.bytes, now) + (1000 * bytes) / bytesPerSecond;
    const until = now + 1000 * burstSeconds;
    if (requestsFull > until) {
      return {ok: false, limit: 'requests', perSecond: requestsPerSecond, retryAfterMs: requestsFull - until};
    }
    if (bytesFull > until) {
      return {ok: false, limit: 'bytes', perSecond: bytesPerSecond, retryAfterMs: bytesFull - until};
    }
    this.#accounts.set(account, {requests: requestsFull, bytes: bytesFull});
    if (this.#accounts.size > FORGET_ABOVE && now >= this.#forgetAt) this.#forget(now);
    return {ok: true};
  }

  /** Not again before a burst has passed, after which every bucket of now is full. */
  #forget(now: number): void {
    this.#forgetAt = now + 1000 * this.#limits.burstSeconds;
    for (const [account, {requests, bytes}] of this.#accounts) {
      if (requests <= now && bytes <= now) this.#accounts.delete(account);
    }
  }
}
