import {RateLimit} from '../fairness/rate-limit.ts';

/** How many lines per second about the rejected requests of an account, or of strangers, and of all together. */
const OF_ONE = 10;
const OF_ALL = 100;

/** Chooses the rejected requests to log: writing a line for each would cost more than rejecting it. */
export class LogSample {
  readonly #lines = new RateLimit(1000);
  #omitted = 0;

  /** Fields that say how many lines were omitted before this one; undefined: omit it, too. `now` is monotonic, in ms. */
  take(account: string, now: number): {readonly omittedBefore?: number} | undefined {
    const isOver =
      this.#lines.take(
        [
          [`of ${account}`, 1000 / OF_ONE],
          ['all', 1000 / OF_ALL],
        ],
        now,
      ) > 0;
    const omittedBefore = this.#omitted;
    this.#omitted = isOver ? omittedBefore + 1 : 0;
    if (isOver) return undefined;
    return omittedBefore > 0 ? {omittedBefore} : {};
  }
}
