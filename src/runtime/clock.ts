import {setTimeout as delay} from 'node:timers/promises';

/**
 * Time, passed in so that nothing here reads a global clock. Durations are milliseconds.
 *
 * `monotonic()` never steps backwards or jumps with the wall clock, and it goes on while the process is stopped
 * (SIGSTOP): whoever asks "how long ago" must use it, `now()` is for timestamps that people and other programs read.
 */
export interface Clock {
  /** Wall clock, milliseconds since the epoch. */
  now(): number;
  /** Milliseconds since an arbitrary fixed point. */
  monotonic(): number;
  /** Resolves after `ms`; rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: async (ms, signal) => {
    try {
      await delay(ms, undefined, signal ? {signal} : {});
    } catch {
      throw signal?.reason; // Where Node throws an AbortError that only mentions it.
    }
  },
};
