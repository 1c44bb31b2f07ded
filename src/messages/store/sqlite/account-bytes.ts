import type {DatabaseSync, StatementSync} from 'node:sqlite';
import type {Charges} from '../rules.ts';

/**
 * How much each account has stored. Sums stay in memory during a transaction and are written once per account. Call
 * `flush` before each commit, and `forget` after a rollback.
 */
export class AccountBytes implements Charges {
  readonly #find: StatementSync;
  readonly #set: StatementSync;
  readonly #known = new Map<string, number>();
  readonly #changed = new Set<string>();

  constructor(db: DatabaseSync) {
    this.#find = db.prepare('SELECT bytes FROM accounts WHERE account = ?');
    this.#set = db.prepare('INSERT OR REPLACE INTO accounts (account, bytes) VALUES (?, ?)');
  }

  of(account: string): number {
    let bytes = this.#known.get(account);
    if (bytes === undefined) {
      bytes = Number(this.#find.get(account)?.bytes ?? 0);
      this.#known.set(account, bytes);
    }
    return bytes;
  }

  add(account: string, bytes: number): void {
    this.#known.set(account, this.of(account) + bytes);
    this.#changed.add(account);
  }

  flush(): void {
    for (const account of this.#changed) this.#set.run(account, this.of(account));
    this.forget();
  }

  forget(): void {
    this.#known.clear();
    this.#changed.clear();
  }
}
