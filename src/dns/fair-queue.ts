/** Ready keys, shared out fairly: one from each account in turn, and no account takes more than `perAccount` places. */
export class FairQueue {
  readonly #perAccount: number;
  /** In the order in which the accounts have their turns. */
  readonly #ready = new Map<string, Set<string>>();
  readonly #running = new Map<string, number>();

  constructor(perAccount: number) {
    this.#perAccount = perAccount;
  }

  add(account: string, key: string): void {
    const keys = this.#ready.get(account) ?? new Set();
    keys.add(key);
    this.#ready.set(account, keys);
  }

  remove(account: string, key: string): void {
    const keys = this.#ready.get(account);
    keys?.delete(key);
    if (keys?.size === 0) this.#ready.delete(account);
  }

  /** The next key whose account has a place left; it holds the place until `done`. */
  take(): {readonly account: string; readonly key: string} | undefined {
    for (const [account, keys] of this.#ready) {
      const running = this.#running.get(account) ?? 0;
      const [key] = keys;
      if (running >= this.#perAccount || key === undefined) continue;
      keys.delete(key);
      this.#ready.delete(account);
      if (keys.size > 0) this.#ready.set(account, keys);
      this.#running.set(account, running + 1);
      return {account, key};
    }
    return undefined;
  }

  done(account: string): void {
    const running = (this.#running.get(account) ?? 1) - 1;
    if (running > 0) this.#running.set(account, running);
    else this.#running.delete(account);
  }
}
