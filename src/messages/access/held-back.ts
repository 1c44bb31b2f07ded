/** Spaces out the responses to requests over a rate limit. */

/** How many such responses per second each payer gets immediately, on average and at the same time. */
const PER_SECOND = 100;
/** The longest that a response is held back. Clients wait for at least this long. */
const LONGEST_MS = 5000;
/** Above this number of payers, those that would get a response immediately are dropped. */
const FORGET_ABOVE = 10_000;

/**
 * Rejecting a request costs almost as much as serving it, so a client that ignores 429 and repeats immediately would
 * still keep the process busy. It is answered later, and a connection has one request at a time, so it cannot send more
 * meanwhile.
 */
export class HeldBack {
  /** When each payer has no more responses outstanding, in monotonic milliseconds. */
  readonly #until = new Map<string, number>();

  /** How long to hold back one more response to this account or address. */
  delayMs(payer: string, now: number): number {
    const interval = 1000 / PER_SECOND;
    const since = now - 1000;
    const at = Math.min(Math.max(this.#until.get(payer) ?? since, since) + interval, now + LONGEST_MS);
    this.#until.set(payer, at);
    if (this.#until.size > FORGET_ABOVE) this.#forget(since);
    return Math.max(0, at - now);
  }

  #forget(since: number): void {
    for (const [payer, until] of this.#until) if (until <= since) this.#until.delete(payer);
  }
}
