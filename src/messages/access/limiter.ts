import {RateLimit} from '../../fairness/rate-limit.ts';
import type {Clock} from '../../time/clock.ts';
import type {RateUsage, RateUsages} from '../store/store.ts';

interface RateLimits {
  readonly requestsPerSecond: number;
  readonly bytesPerSecond: number;
  readonly answerBytesPerSecond: number;
  /** The longest burst, in seconds of the rate. */
  readonly burstSeconds: number;
}

/** bytes: of request bodies. answers: bytes of responses. */
type Kind = keyof RateUsage;
const KINDS: readonly Kind[] = ['requests', 'bytes', 'answers'];
const NOTHING: RateUsage = {requests: 0, bytes: 0, answers: 0};

/** The limit that rejects a request, and when to retry. */
export interface Excess {
  readonly limit: Kind;
  /** The limit, per second. */
  readonly perSecond: number;
  readonly retryAfterMs: number;
}

/**
 * Limits the requests and bytes that an account sends and the bytes that it receives: a rate per second and a burst of a
 * few seconds' worth. In memory, per process. If processes share the limits, each one reports what it allowed
 * (`unshared`) and learns what all of them have allowed (`share`).
 */
export class AccountLimiter {
  readonly #perSecond: RateUsage;
  readonly #burstMs: number;
  readonly #rates: Readonly<Record<Kind, RateLimit>>;
  readonly #isShared: boolean;
  #unshared = new Map<string, {-readonly [K in Kind]: number}>();

  constructor(limits: RateLimits, {isShared = false}: {readonly isShared?: boolean} = {}) {
    const {requestsPerSecond, bytesPerSecond, answerBytesPerSecond, burstSeconds} = limits;
    this.#perSecond = {requests: requestsPerSecond, bytes: bytesPerSecond, answers: answerBytesPerSecond};
    this.#burstMs = 1000 * burstSeconds;
    const rate = () => new RateLimit(this.#burstMs);
    this.#rates = {requests: rate(), bytes: rate(), answers: rate()};
    this.#isShared = isShared;
  }

  /** A request. `now` is monotonic, in ms. A rejected request does not count. */
  take(account: string, now: number): Excess | undefined {
    const excess =
      this.#excess(account, 'requests', 1, now) ??
      this.#excess(account, 'bytes', 0, now) ??
      this.#excess(account, 'answers', 0, now);
    if (excess === undefined) this.spend(account, 'requests', 1, now);
    return excess;
  }

  /** Bytes of a request that was accepted before, by `take`. If they are rejected, they do not count. */
  takeBytes(account: string, bytes: number, now: number): Excess | undefined {
    const excess = this.#excess(account, 'bytes', bytes, now);
    if (excess === undefined) this.spend(account, 'bytes', bytes, now);
    return excess;
  }

  /**
   * Bytes that were received or sent already. They count even if they are too many: then, later requests wait. Returns
   * how many milliseconds of the average rate they use.
   */
  spend(account: string, kind: Kind, amount: number, now: number): number {
    const ms = this.#msOf(kind, amount);
    this.#rates[kind].spend(account, ms, now);
    this.#note(account, kind, ms);
    return ms;
  }

  /** The usage of accounts since the last call. */
  unshared(): RateUsages {
    const used = this.#unshared;
    if (used.size > 0) this.#unshared = new Map();
    return used;
  }

  /** Takes back what could not be shared. No more than a burst: what was used before that has drained meanwhile. */
  keep(used: RateUsages): void {
    for (const [account, usage] of used) {
      for (const kind of KINDS) this.#note(account, kind, Math.min(usage[kind], this.#burstMs));
    }
  }

  /** Adopts what all processes have allowed, as the milliseconds until each bucket is full again. */
  share(account: string, untilFull: RateUsage, now: number): void {
    const since = this.#unshared.get(account) ?? NOTHING;
    for (const kind of KINDS) this.#rates[kind].set(account, Math.max(0, untilFull[kind]) + since[kind], now);
  }

  #msOf(kind: Kind, amount: number): number {
    return (1000 * amount) / this.#perSecond[kind];
  }

  #excess(account: string, kind: Kind, amount: number, now: number): Excess | undefined {
    const retryAfterMs = this.#rates[kind].waitMs(account, this.#msOf(kind, amount), now);
    if (retryAfterMs === 0) return undefined;
    return {limit: kind, perSecond: this.#perSecond[kind], retryAfterMs};
  }

  #note(account: string, kind: Kind, ms: number): void {
    if (!this.#isShared) return;
    const used = this.#unshared.get(account) ?? {...NOTHING};
    used[kind] += ms;
    this.#unshared.set(account, used);
  }
}

interface ShareOptions {
  readonly limiter: AccountLimiter;
  /**
   * Adds what this pod has allowed to what the others have. Returns in how many milliseconds each bucket will be full
   * again, or undefined if that is not known now.
   */
  readonly exchange: (used: RateUsages) => Promise<RateUsages | undefined>;
  readonly clock: Clock;
}

/**
 * A pod does not know for this long what the others allow. If together they allow more than the burst in that time, the
 * account must wait longer afterwards, so the average rate is that of one pod.
 */
const INTERVAL_MS = 100;

/**
 * Shares the limits among pods, so that several pods allow an account no more than one would. Runs until the signal is
 * aborted. While the exchange fails, each pod applies the limits to its own requests, and
 * tells the others later: twice, if only the answer was lost.
 */
export async function shareLimits({limiter, exchange, clock}: ShareOptions, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const used = limiter.unshared();
    const untilFull = used.size === 0 ? used : await exchange(used);
    const now = clock.monotonic();
    if (untilFull === undefined) limiter.keep(used);
    else for (const [account, each] of untilFull) limiter.share(account, each, now);
    await clock.sleep(INTERVAL_MS, signal).catch(() => undefined);
  }
}
