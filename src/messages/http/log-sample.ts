/** How many lines per second about the rejected requests of an account, or of strangers, and of all together. */
const OF_ONE = 10;
const OF_ALL = 100;

/** Chooses the rejected requests to log: writing a line for each would cost more than rejecting it. */
export class LogSample {
  readonly #lines = new Map<string, number>();
  #total = 0;
  #since = 0;
  #omitted = 0;

  /** How many lines were omitted before this one; undefined: omit this one, too. `now` is monotonic, in ms. */
  take(account: string, now: number): number | undefined {
    if (now - this.#since >= 1000) {
      this.#since = now;
      this.#total = 0;
      this.#lines.clear();
    }
    const lines = this.#lines.get(account) ?? 0;
    if (lines >= OF_ONE || this.#total >= OF_ALL) {
      this.#omitted += 1;
      return undefined;
    }
    this.#lines.set(account, lines + 1);
    this.#total += 1;
    const omitted = this.#omitted;
    this.#omitted = 0;
    return omitted;
  }
}
