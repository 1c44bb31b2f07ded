import {FairQueue} from '../fairness/fair-queue.ts';

/** Keys that are due, one from each account in turn. No account has more than `maxInFlightPerAccount` in flight. */
export class AccountQueue {
  readonly #maxInFlightPerAccount: number;
  /** The value of each key is its account. */
  readonly #due = new FairQueue<string>();
  readonly #inFlight = new Map<string, number>();

  constructor(maxInFlightPerAccount: number) {
    this.#maxInFlightPerAccount = maxInFlightPerAccount;
  }

  add(account: string, key: string): void {
    if (!this.#due.has(account, key)) this.#due.add(account, key, account);
  }

  remove(account: string, key: string): void {
    this.#due.remove(account, key);
  }

  /** The next key of an account that is below its limit. It is in flight until `done`. */
  take(): {readonly account: string; readonly key: string} | undefined {
    const [key, account] = this.#due.takeFirst(each => this.#inFlightOf(each) < this.#maxInFlightPerAccount) ?? [];
    if (key === undefined || account === undefined) return undefined;
    this.#inFlight.set(account, this.#inFlightOf(account) + 1);
    return {account, key};
  }

  done(account: string): void {
    const left = this.#inFlightOf(account) - 1;
    if (left > 0) this.#inFlight.set(account, left);
    else this.#inFlight.delete(account);
  }

  #inFlightOf(account: string): number {
    return this.#inFlight.get(account) ?? 0;
  }
}
