import {setTimeout as delay} from 'node:timers/promises';

/** A busy machine must not decide a test, so no wait for a condition needs a limit of its own. */
export const PATIENCE_MS = 180_000;

export interface WaitOptions {
  timeoutMs?: number;
  intervalMs?: number;
  signal?: AbortSignal | undefined;
}

/** A probe throws this if waiting longer cannot help. */
export class Hopeless extends Error {}

/**
 * Polls `probe` until it returns something truthy, and returns that. A probe that throws counts as "not yet", unless it
 * throws Hopeless. The last error becomes the cause of the error at the deadline.
 */
export async function until<T>(
  what: string,
  probe: () => Promise<T> | T,
  options: WaitOptions = {},
): Promise<NonNullable<T>> {
  const {timeoutMs = PATIENCE_MS, intervalMs = 100, signal} = options;
  const deadline = performance.now() + timeoutMs;
  let cause: unknown;
  for (;;) {
    signal?.throwIfAborted();
    try {
      const answer = await probe();
      if (answer) return answer;
    } catch (error) {
      if (error instanceof Hopeless) throw error;
      cause = error;
    }
    if (performance.now() > deadline) throw new Error(`not within ${timeoutMs / 1000} s: ${what}`, {cause});
    await delay(intervalMs, undefined, signal ? {signal} : {});
  }
}
