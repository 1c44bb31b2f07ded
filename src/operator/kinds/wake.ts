/** When an object is reconciled again although nothing has changed. */
import {after, done, type Outcome, retry} from '../../runtime/controller/outcome.ts';
import {PausedError} from './write-conditions.ts';

/** However many times have passed already. */
const SHORTEST_MS = 1000;

/** The first of some times; undefined if there is none. */
export function earliest(...timesMs: readonly (number | undefined)[]): number | undefined {
  const known = timesMs.filter(time => time !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
}

/** After the backoff if a write failed, and not only because of a pause; otherwise, at the time, if any. */
export function outcomeOf(failures: readonly unknown[], wakeAtMs: number | undefined, nowMs: number): Outcome {
  const failure = failures.find(each => each !== undefined && !(each instanceof PausedError));
  if (failure !== undefined) return retry(failure);
  return wakeAtMs === undefined ? done() : after(Math.max(wakeAtMs - nowMs, SHORTEST_MS));
}
