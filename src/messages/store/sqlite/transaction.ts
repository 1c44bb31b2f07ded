/** What the engine knows about a transaction before it commits: its work, the charges of accounts, and the backlog. */
import type {DatabaseSync, StatementSync} from 'node:sqlite';
import {BATCH_BYTES, BATCH_ROWS, type Charges, type StoredStatus, shownStatus} from '../rules.ts';
import type {Backlog as Snapshot} from '../store.ts';

/** Counts the rows that a transaction reads or writes for its operations, and the bytes of their messages. */
class Work {
  rows = 0;
  bytes = 0;

  add(rows: number, bytes: number): void {
    this.rows += rows;
    this.bytes += bytes;
  }

  /** Whether the current operation, the `operations`-th, is the last of its transaction. */
  isEnough(operations: number): boolean {
    return Math.max(this.rows, operations) >= BATCH_ROWS || this.bytes >= BATCH_BYTES;
  }

  reset(): void {
    this.rows = 0;
    this.bytes = 0;
  }
}

/**
 * How much each account has stored. Sums stay in memory during a transaction and are written once per account. Call
 * `flush` before each commit, and `forget` after a rollback.
 */
class AccountBytes implements Charges {
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

/** The maximum number of finished messages that one read skips to find the oldest open one. */
const PASSED_ROWS = 2000;

/** Walks the open messages of each account: once, when the database is opened. */
export const COUNT_OPEN = `
  SELECT m.status, count(*) AS count, min(m.seq) AS seq
  FROM accounts a CROSS JOIN messages m INDEXED BY messages_by_status
  WHERE m.account = a.account AND m.status IN ('waiting', 'delayed', 'leased') GROUP BY m.status`;

interface State {
  readonly queued: number;
  readonly leased: number;
  /** No open message has a lower seq: finished messages stay finished, and new ones have higher seqs. */
  readonly oldestSeq: number;
}

interface Reading {
  readonly backlog: Snapshot;
  /** The oldest is not certain yet: read again. */
  readonly more: boolean;
}

/**
 * How many messages are queued and leased: counted when the database is opened, then kept in memory. Call `flush` after
 * each commit, and `forget` after a rollback.
 */
class BacklogCounter {
  readonly #from: StatementSync;
  readonly #last: StatementSync;
  #committed: State;
  #now: {-readonly [K in keyof State]: State[K]};

  constructor(db: DatabaseSync) {
    this.#from = db.prepare('SELECT seq, status, created_at FROM messages WHERE seq >= ? ORDER BY seq');
    this.#last = db.prepare('SELECT max(seq) AS seq FROM messages');
    const rows = db.prepare(COUNT_OPEN).all();
    const counted = {queued: 0, leased: 0, done: 0, dead: 0};
    for (const {status, count} of rows) counted[shownStatus(status as StoredStatus)] += Number(count);
    const oldestSeq = rows.length === 0 ? this.#nextSeq() : Math.min(...rows.map(({seq}) => Number(seq)));
    this.#committed = {queued: counted.queued, leased: counted.leased, oldestSeq};
    this.#now = {...this.#committed};
  }

  /** A message changed its status; without `before`, it is new. */
  move(before: StoredStatus | undefined, after: StoredStatus): void {
    this.#count(before, -1);
    this.#count(after, 1);
  }

  flush(): void {
    this.#committed = {...this.#now};
  }

  forget(): void {
    this.#now = {...this.#committed};
  }

  /** Call it after finished messages were deleted. Skips each finished message at most once. */
  read(): Reading {
    const {queued, leased} = this.#now;
    let passed = 0;
    for (const {seq, status, created_at} of this.#from.iterate(this.#now.oldestSeq)) {
      this.#now.oldestSeq = Number(seq);
      const isOpen = status !== 'done' && status !== 'dead';
      passed += 1;
      if (isOpen || passed === PASSED_ROWS) {
        return {backlog: {queued, leased, oldestAt: Number(created_at)}, more: !isOpen};
      }
    }
    this.#now.oldestSeq = this.#nextSeq();
    return {backlog: {queued, leased}, more: false};
  }

  #count(status: StoredStatus | undefined, by: number): void {
    const shown = status && shownStatus(status);
    if (shown === 'queued' || shown === 'leased') this.#now[shown] += by;
  }

  /** SQLite reuses the seqs of deleted messages if they were the highest. */
  #nextSeq(): number {
    return Number(this.#last.get()?.seq ?? 0) + 1;
  }
}

/** A connection, and what is known of its transaction. */
export class Transaction {
  readonly db: DatabaseSync;
  readonly work = new Work();
  readonly usage: AccountBytes;
  readonly backlog: BacklogCounter;

  constructor(db: DatabaseSync) {
    this.db = db;
    this.usage = new AccountBytes(db);
    this.backlog = new BacklogCounter(db);
  }
}
