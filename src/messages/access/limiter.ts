interface RateLimits {
  readonly requestsPerSecond: number;
  readonly bytesPerSecond: number;
  readonly answerBytesPerSecond: number;
  /** The longest burst, in seconds of the rate. */
  readonly burstSeconds: number;
}

/** bytes: of request bodies. */
type Limit = 'requests' | 'bytes' | 'answer bytes';

/** Whether the request is allowed, or when to retry. */
export type Allowance =
  | {readonly ok: true}
  | {
      readonly ok: false;
      readonly limit: Limit;
      /** The limit, per second. */
      readonly perSecond: number;
      readonly retryAfterMs: number;
    };

/** What an account has used of each bucket, in milliseconds of its rate. */
export interface Usage {
  readonly requests: number;
  readonly bytes: number;
  readonly answers: number;
}

/** By account. */
export type Usages = ReadonlyMap<string, Usage>;

/** When each bucket would be full again, in milliseconds: the only state that GCRA needs per account. */
type Buckets = {-readonly [Kind in keyof Usage]: number};

const NOTHING: Usage = {requests: 0, bytes: 0, answers: 0};
const KINDS = ['requests', 'bytes', 'answers'] as const;

/** Above this number of accounts, those with full buckets are dropped. */
const FORGET_ABOVE = 10_000;

/**
 * Limits the requests and bytes that an account sends and the bytes that it receives, with leaky buckets (GCRA, as in
 * ATM Forum TM 4.1): a rate per second and a burst of a few seconds' worth. In memory, per process. If processes share
 * the limits, each one reports what it allowed (`unshared`) and learns what all of them have allowed (`share`).
 */
export class AccountLimiter {
  readonly #limits: RateLimits;
  readonly #accounts = new Map<string, Buckets>();
  readonly #isShared: boolean;
  #unshared = new Map<string, Buckets>();
  #forgetAt = 0;

  constructor(limits: RateLimits, {isShared = false}: {readonly isShared?: boolean} = {}) {
    this.#limits = limits;
    this.#isShared = isShared;
  }

  /** A request with a body of this many bytes. `now` is monotonic, in ms. A rejected request does not count. */
  take(account: string, bytes: number, now: number): Allowance {
    const {requestsPerSecond, bytesPerSecond, answerBytesPerSecond, burstSeconds} = this.#limits;
    const buckets = this.#bucketsOf(account, now);
    const until = now + 1000 * burstSeconds;
    const requests = Math.max(buckets.requests, now) + 1000 / requestsPerSecond;
    if (requests > until) return refused('requests', requestsPerSecond, requests - until);
    const sent = Math.max(buckets.bytes, now) + (1000 * bytes) / bytesPerSecond;
    if (sent > until) return refused('bytes', bytesPerSecond, sent - until);
    const {answers} = buckets;
    if (answers > until) return refused('answer bytes', answerBytesPerSecond, answers - until);
    buckets.requests = requests;
    buckets.bytes = sent;
    this.#note(account, 'requests', 1000 / requestsPerSecond);
    this.#note(account, 'bytes', (1000 * bytes) / bytesPerSecond);
    if (this.#accounts.size > FORGET_ABOVE && now >= this.#forgetAt) this.#forget(now);
    return {ok: true};
  }

  /** Bytes of a request that was accepted before, by `take`. If they are rejected, they do not count. */
  takeBytes(account: string, bytes: number, now: number): Allowance {
    const {bytesPerSecond, burstSeconds} = this.#limits;
    const buckets = this.#bucketsOf(account, now);
    const full = Math.max(buckets.bytes, now) + (1000 * bytes) / bytesPerSecond;
    const excess = full - (now + 1000 * burstSeconds);
    if (excess > 0) return refused('bytes', bytesPerSecond, excess);
    buckets.bytes = full;
    this.#note(account, 'bytes', (1000 * bytes) / bytesPerSecond);
    return {ok: true};
  }

  /** Bytes that have been received already. They count even if they are too many: then, later requests wait for them. */
  spend(account: string, bytes: number, now: number): void {
    const buckets = this.#bucketsOf(account, now);
    const ms = (1000 * bytes) / this.#limits.bytesPerSecond;
    buckets.bytes = Math.max(buckets.bytes, now) + ms;
    this.#note(account, 'bytes', ms);
  }

  /**
   * A response of this many bytes. Its length is unknown before, so it counts against later requests. Returns how many
   * milliseconds of the average rate it uses.
   */
  answered(account: string, bytes: number, now: number): number {
    const buckets = this.#bucketsOf(account, now);
    const ms = (1000 * bytes) / this.#limits.answerBytesPerSecond;
    buckets.answers = Math.max(buckets.answers, now) + ms;
    this.#note(account, 'answers', ms);
    return ms;
  }

  /** What accounts have used since the last call. */
  unshared(): Usages {
    const used = this.#unshared;
    if (used.size > 0) this.#unshared = new Map();
    return used;
  }

  /** Takes back what could not be shared. No more than a burst: what was used before that has drained meanwhile. */
  keep(used: Usages): void {
    const most = 1000 * this.#limits.burstSeconds;
    for (const [account, usage] of used) {
      for (const kind of KINDS) this.#note(account, kind, Math.min(usage[kind], most));
    }
  }

  /** Adopts what all processes have allowed, as the milliseconds until each bucket is full again. */
  share(account: string, untilFull: Usage, now: number): void {
    const buckets = this.#bucketsOf(account, now);
    const since = this.#unshared.get(account) ?? NOTHING;
    for (const kind of KINDS) buckets[kind] = now + Math.max(0, untilFull[kind]) + since[kind];
  }

  #note(account: string, kind: keyof Usage, ms: number): void {
    if (!this.#isShared) return;
    let used = this.#unshared.get(account);
    if (used === undefined) {
      used = {...NOTHING};
      this.#unshared.set(account, used);
    }
    used[kind] += ms;
  }

  #bucketsOf(account: string, now: number): Buckets {
    let buckets = this.#accounts.get(account);
    if (buckets === undefined) {
      buckets = {requests: now, bytes: now, answers: now};
      this.#accounts.set(account, buckets);
    }
    return buckets;
  }

  /** Runs at most once per burst period, after which every current bucket is full. */
  #forget(now: number): void {
    this.#forgetAt = now + 1000 * this.#limits.burstSeconds;
    for (const [account, {requests, bytes, answers}] of this.#accounts) {
      if (requests <= now && bytes <= now && answers <= now) this.#accounts.delete(account);
    }
  }
}

function refused(limit: Limit, perSecond: number, retryAfterMs: number): Allowance {
  return {ok: false, limit, perSecond, retryAfterMs};
}
