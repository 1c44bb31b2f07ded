/**
 * Since when this process has known things. The wall clock may step, and a recorded time comes from another clock.
 * Neither may delay an act by more than its wait, nor end what has just begun.
 */
import type {Clock} from '../../time/clock.ts';
import {TtlCache} from '../../time/ttl-cache.ts';

const THINGS = 100_000;
/** Longer than any wait. After this time, known things count as new. */
const FORGET_MS = 86_400_000;

export class KnownSince {
  readonly #clock: Clock;
  readonly #known: TtlCache<number>;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#known = new TtlCache(clock, THINGS);
  }

  /** The time of the first call with this id, on the monotonic clock. Nothing else may ever have the same id. */
  of(id: string): number {
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    const nowMs = this.#clock.monotonic();
    this.#known.set(id, nowMs, FORGET_MS);
    return nowMs;
  }

  ageMs(id: string): number {
    return this.#clock.monotonic() - this.of(id);
  }

  /**
   * The remaining wait, from `recordedMs` (milliseconds since the epoch) or from the first call, whichever is earlier.
   */
  leftMs(id: string, recordedMs: number, waitMs: number): number {
    return Math.min(recordedMs + waitMs - this.#clock.now(), waitMs - this.ageMs(id));
  }
}
