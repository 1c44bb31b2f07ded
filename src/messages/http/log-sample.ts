import {RateLimit} from '../../fairness/rate-limit.ts';

/** How many lines per second about the rejected requests of an account, or of strangers, and of all together. */
const OF_ONE = 10;
const OF_ALL = 100;
const ALL = 'all';

/** Chooses the rejected requests to log: writing a line for each would cost more than rejecting it. */
export class LogSample {
  readonly #one = new RateLimit(1000);
  readonly #all = new RateLimit(1000);
  #omitted = 0;

  /** How many lines were omitted before this one; undefined: omit this one, too. `now` is monotonic, in ms. */
  take(account: string, now: number): number | undefined {
    const [ofOne, ofAll] = [1000 / OF_ONE, 1000 / OF_ALL];
    if (this.#one.waitMs(account, ofOne, now) > 0 || this.#all.waitMs(ALL, ofAll, now) > 0) {
      this.#omitted += 1;
      return undefined;
    }
    this.#one.spend(account, ofOne, now);
    this.#all.spend(ALL, ofAll, now);
    const omitted = this.#omitted;
    this.#omitted = 0;
    return omitted;
  }
}
