/** So many buckets are kept, and as many as were not full when full ones were last dropped. */
const KEPT = 10_000;

/**
 * A rate with a burst, for each key separately (GCRA, as in ATM Forum TM 4.1). Everything is measured in milliseconds:
 * what is taken, as the time that it takes at the rate, and `now` on the monotonic clock.
 */
export class RateLimit {
  readonly #burstMs: number;
  /** When the bucket of each key will be full again: the only state that GCRA needs. */
  readonly #fullAt = new Map<string, number>();
  #keptAfterDrop = 0;

  constructor(burstMs: number) {
    this.#burstMs = burstMs;
  }

  /** How long to wait until this much can be taken. */
  waitMs(key: string, ms: number, now: number): number {
    return Math.max(0, this.#next(key, ms, now) - (now + this.#burstMs));
  }

  /** Takes it even if it is too much: then, what comes later waits. */
  spend(key: string, ms: number, now: number): void {
    this.#fullAt.set(key, this.#next(key, ms, now));
    if (this.#fullAt.size > KEPT + 2 * this.#keptAfterDrop) this.#drop(now);
  }

  /** Takes each of these if all are allowed now; otherwise nothing. Returns how long to wait until they are. */
  take(costs: readonly (readonly [key: string, ms: number])[], now: number): number {
    const waitMs = Math.max(...costs.map(([key, ms]) => this.waitMs(key, ms, now)));
    if (waitMs === 0) for (const [key, ms] of costs) this.spend(key, ms, now);
    return waitMs;
  }

  /** Takes it for later. Returns when: the wait, at most `mostMs`. If it would be longer, it takes nothing. */
  reserve(key: string, ms: number, now: number, mostMs: number): number {
    const waitMs = this.waitMs(key, ms, now);
    if (waitMs >= mostMs) return mostMs;
    this.spend(key, ms, now);
    return waitMs;
  }

  /** From now on, the bucket is full again in so many milliseconds. */
  set(key: string, untilFullMs: number, now: number): void {
    this.#fullAt.set(key, now + untilFullMs);
  }

  #next(key: string, ms: number, now: number): number {
    return Math.max(this.#fullAt.get(key) ?? now, now) + ms;
  }

  #drop(now: number): void {
    for (const [key, at] of this.#fullAt) if (at <= now) this.#fullAt.delete(key);
    this.#keptAfterDrop = this.#fullAt.size;
  }
}
