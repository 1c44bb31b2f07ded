/** The accounts' rows: locks them for a transaction, and keeps how many bytes and which last id each account has. */
import type {MessageIds} from '../message-id.ts';
import type {Charges} from '../rules.ts';
import {columnsOf, type Session} from './session/session.ts';

interface Account {
  readonly account: string;
  /** The ctid of its row. */
  readonly place: string;
  bytes: number;
  lastId: string | null;
  changed: boolean;
}

// Sorted by the program, so that no two transactions wait for each other. The subquery fixes the order of the join.
export const LOCK = {
  name: 'lock-accounts',
  text: `
    SELECT a.* FROM unnest($1::text[]) AS wanted(account)
    CROSS JOIN LATERAL (
      SELECT ctid::text AS place, account, bytes, last_id AS "lastId", false AS changed
      FROM accounts a WHERE a.account = wanted.account LIMIT 1 FOR UPDATE) a`,
};
export const CREATE = {
  name: 'create-accounts',
  text: `
    INSERT INTO accounts (account, bytes) SELECT account, 0 FROM unnest($1::text[]) AS wanted(account)
    ON CONFLICT DO NOTHING`,
};
// Nobody else moves a locked row.
export const SAVE = {
  name: 'save-accounts',
  text: `
    UPDATE accounts a SET bytes = changed.bytes, last_id = changed.last_id
    FROM unnest($1::tid[], $2::bigint[], $3::uuid[]) AS changed(place, bytes, last_id)
    WHERE a.ctid = changed.place`,
};

/** Accounts without a row, which must be created in a separate transaction first: see `withAccounts`. */
class MissingAccounts extends Error {
  readonly accounts: readonly string[];

  constructor(accounts: readonly string[]) {
    super(`${accounts.length} accounts have no row yet`);
    this.accounts = accounts;
  }
}

/**
 * The rows of some accounts, locked until the transaction commits. Therefore an account's ids become visible in
 * their order, whichever pod commits them, and a list never misses one behind its cursor.
 */
export class Accounts implements Charges {
  readonly #known: ReadonlyMap<string, Account>;

  private constructor(known: ReadonlyMap<string, Account>) {
    this.#known = known;
  }

  static async lock(session: Session, names: ReadonlySet<string>): Promise<Accounts> {
    if (names.size === 0) return new Accounts(new Map());
    const rows = await session.query<Account>(LOCK, [[...names].sort()]);
    const known = new Map(rows.map(row => [row.account, row]));
    const missing = [...names].filter(name => !known.has(name)).sort();
    if (missing.length > 0) throw new MissingAccounts(missing);
    return new Accounts(known);
  }

  has(account: string): boolean {
    return this.#known.has(account);
  }

  of(account: string): number {
    return this.#get(account).bytes;
  }

  add(account: string, bytes: number): void {
    const known = this.#get(account);
    known.bytes += bytes;
    known.changed ||= bytes !== 0;
  }

  /** The account's next id: above all earlier ones, even if the clock stepped back. `now` as the database has it. */
  nextId(account: string, ids: MessageIds, now: number): string {
    const known = this.#get(account);
    if (known.lastId !== null) ids.continueAfter(known.lastId);
    const id = ids.next(now);
    known.lastId = id;
    known.changed = true;
    return id;
  }

  /** Writes what has changed. */
  save(session: Session): void {
    const changed = [...this.#known.values()].filter(account => account.changed);
    if (changed.length > 0) session.send(SAVE, columnsOf(changed, 'place', 'bytes', 'lastId'));
  }

  #get(account: string): Account {
    const known = this.#known.get(account);
    if (known === undefined) throw new Error('the account is not locked');
    return known;
  }
}

/** Runs a transaction that locks accounts, and creates their rows first if that is necessary. */
export async function withAccounts<T>(session: Session, transaction: () => Promise<T>): Promise<T> {
  try {
    return await transaction();
  } catch (error) {
    const {cause} = error as {cause?: unknown};
    if (!(cause instanceof MissingAccounts)) throw error;
    await session.query(CREATE, [cause.accounts]);
    return await transaction();
  }
}
