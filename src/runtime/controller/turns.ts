import {setImmediate} from 'node:timers/promises';
import type {Clock} from '../../time/clock.ts';

/** After this long, timers and sockets have their turn, above all the renewal of the lease. */
const TURN_MS = 10;

/**
 * Does work that takes long in several turns of the event loop: a turn may end wherever the work yields, and caches may
 * change there. Returns the result and the time that the work itself took. Rejects with the signal's reason.
 */
export async function inTurns<T>(
  work: Iterator<void, T>,
  clock: Pick<Clock, 'monotonic'>,
  signal: AbortSignal,
): Promise<{readonly result: T; readonly ms: number}> {
  let ms = 0;
  let startsAt = clock.monotonic();
  for (let step = work.next(); ; step = work.next()) {
    const turnMs = clock.monotonic() - startsAt;
    if (step.done) return {result: step.value, ms: ms + turnMs};
    if (turnMs < TURN_MS) continue;
    ms += turnMs;
    await setImmediate();
    signal.throwIfAborted();
    startsAt = clock.monotonic();
  }
}

/** Does the same work in one turn. */
export function atOnce<T>(work: Iterator<void, T>): T {
  let step = work.next();
  while (!step.done) step = work.next();
  return step.value;
}
