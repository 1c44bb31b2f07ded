import {setTimeout as delay} from 'node:timers/promises';

/**
 * Time, passed in so that no code reads a global clock. All values are in milliseconds.
 *
 * Measure durations with `monotonic()`: it never steps back or jumps with the wall clock, and it continues while the
 * process is stopped (SIGSTOP). `now()` is for timestamps that people and other programs read.
 */
export interface Clock {
  /** The wall clock, since the epoch. */
  now(): number;
  /** Since an arbitrary fixed point. */
  monotonic(): number;
  /** Resolves after `ms`. Rejects with the signal's reason if the signal aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: async (ms, signal) => {
    try {
      await delay(ms, undefined, signal ? {signal} : {});
    } catch {
      throw signal?.reason; // Node itself throws an AbortError that only mentions the reason.
    }
  },
};
