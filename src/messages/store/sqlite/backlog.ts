import type {DatabaseSync, StatementSync} from 'node:sqlite';
import type {MessageStatus, Backlog as Snapshot} from '../store.ts';

/** The maximum number of finished messages that one read skips to find the oldest open one. */
const PASSED_ROWS = 2000;

/** Walks indexes that contain only open messages: once, when the database is opened. */
export const COUNT_OPEN = `
  SELECT status, count(*) AS count, min(seq) AS seq FROM (
    SELECT status, seq FROM messages INDEXED BY messages_waiting WHERE status = 'queued' AND available_at = 0
    UNION ALL
    SELECT status, seq FROM messages INDEXED BY messages_hidden
    WHERE status IN ('queued', 'leased') AND available_at > 0)
  GROUP BY status`;

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
export class BacklogCounter {
  readonly #from: StatementSync;
  readonly #last: StatementSync;
  #committed: State;
  #now: {-readonly [K in keyof State]: State[K]};

  constructor(db: DatabaseSync) {
    this.#from = db.prepare('SELECT seq, status, created_at FROM messages WHERE seq >= ? ORDER BY seq');
    this.#last = db.prepare('SELECT max(seq) AS seq FROM messages');
    const rows = db.prepare(COUNT_OPEN).all();
    const count = (wanted: string) => Number(rows.find(({status}) => status === wanted)?.count ?? 0);
    const oldestSeq = rows.length === 0 ? this.#nextSeq() : Math.min(...rows.map(({seq}) => Number(seq)));
    this.#committed = {queued: count('queued'), leased: count('leased'), oldestSeq};
    this.#now = {...this.#committed};
  }

  /** A message changed its status; without `before`, it is new. */
  move(before: MessageStatus | undefined, after: MessageStatus): void {
    if (before === 'queued' || before === 'leased') this.#now[before] -= 1;
    if (after === 'queued' || after === 'leased') this.#now[after] += 1;
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
      const isOpen = status === 'queued' || status === 'leased';
      passed += 1;
      if (isOpen || passed === PASSED_ROWS) {
        return {backlog: {queued, leased, oldestAt: Number(created_at)}, more: !isOpen};
      }
    }
    this.#now.oldestSeq = this.#nextSeq();
    return {backlog: {queued, leased}, more: false};
  }

  /** SQLite reuses the seqs of deleted messages if they were the highest. */
  #nextSeq(): number {
    return Number(this.#last.get()?.seq ?? 0) + 1;
  }
}
