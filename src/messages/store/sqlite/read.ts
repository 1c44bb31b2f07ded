import type {SQLOutputValue} from 'node:sqlite';
import {type StoredRow, type StoredStatus, toMessage} from '../rules.ts';
import {type ListQuery, type MessagePage, PAGE_BYTES, type StoredMessage} from '../store.ts';
import type {Transaction} from './transaction.ts';

/** The columns of a StoredRow. */
export const COLUMNS = 'id, status, created_at, attempts, reason, literal';

const STATUSES = ['waiting', 'delayed', 'leased', 'done', 'dead'] as const satisfies StoredStatus[];

/**
 * The messages of account `?1` after the id `?2` in the order of their ids. The index has them by status, so that
 * claims find the waiting ones; SQLite merges the statuses without sorting.
 */
export function inOrder(columns: string, statuses: readonly StoredStatus[] = STATUSES): string {
  const each = statuses.map(
    status => `SELECT ${columns} FROM messages WHERE account = ?1 AND id > ?2 AND status = '${status}'`,
  );
  return `${each.join(' UNION ALL ')} ORDER BY id`;
}

export function prepareReads({db, work}: Transaction) {
  const columns = `${COLUMNS}, bytes`;
  const one = db.prepare(`SELECT ${columns} FROM messages INDEXED BY messages_by_id WHERE account = ? AND id = ?`);
  const all = db.prepare(inOrder(columns));
  const queued = db.prepare(inOrder(columns, ['waiting', 'delayed']));
  const some = db.prepare(`SELECT ${columns} FROM messages WHERE account = ? AND id > ? AND status = ? ORDER BY id`);
  return {
    get: (account: string, id: string): StoredMessage | undefined => {
      const row = one.get(account, id);
      work.add(1, Number(row?.bytes ?? 0));
      return row && toMessage(row as unknown as StoredRow);
    },
    list: ({account, limit, after = '', status}: ListQuery): MessagePage => {
      const found =
        status === undefined
          ? all.iterate(account, after)
          : status === 'queued'
            ? queued.iterate(account, after)
            : some.iterate(account, after, status);
      const {rows, bytes, more} = upTo(limit, found);
      work.add(rows.length + Number(more), bytes);
      return {messages: rows.map(row => toMessage(row as unknown as StoredRow)), more};
    },
  };
}

type Row = Readonly<Record<string, SQLOutputValue>>;

/** At most `limit` rows and one page of bytes, but at least one row. `bytes`: of all that were read. */
export function upTo(limit: number, found: Iterable<Row>) {
  const rows: Row[] = [];
  let bytes = 0;
  for (const row of found) {
    bytes += Number(row.bytes);
    if (rows.length === limit || (rows.length > 0 && bytes > PAGE_BYTES)) return {rows, bytes, more: true};
    rows.push(row);
  }
  return {rows, bytes, more: false};
}
