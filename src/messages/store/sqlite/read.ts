import type {SQLOutputValue} from 'node:sqlite';
import {type StoredRow, toMessage} from '../rules.ts';
import {type ListQuery, type MessagePage, PAGE_BYTES, type StoredMessage} from '../store.ts';
import type {Transaction} from './transaction.ts';

/** The columns of a StoredRow. */
export const COLUMNS = 'id, status, created_at, attempts, reason, literal';

export function prepareReads({db, work}: Transaction) {
  const one = db.prepare(`SELECT ${COLUMNS}, bytes FROM messages WHERE account = ? AND id = ?`);
  const all = db.prepare(`SELECT ${COLUMNS}, bytes FROM messages WHERE account = ? AND id > ? ORDER BY id`);
  const ofStatus = (status: string) =>
    `SELECT ${COLUMNS}, bytes FROM messages WHERE account = ?1 AND id > ?2 AND status = ${status}`;
  const some = db.prepare(`${ofStatus('?3')} ORDER BY id`);
  const queued = db.prepare(`${ofStatus(`'waiting'`)} UNION ALL ${ofStatus(`'delayed'`)} ORDER BY id`);
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
