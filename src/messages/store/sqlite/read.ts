import type {DatabaseSync, SQLOutputValue} from 'node:sqlite';
import {type ListQuery, type MessagePage, type MessageStatus, PAGE_BYTES, type StoredMessage} from '../store.ts';
import type {Work} from './work.ts';

export type Row = Readonly<Record<string, SQLOutputValue>>;

/** The columns of a StoredMessage. */
export const COLUMNS = 'id, status, created_at, attempts, reason, message';

export interface Reads {
  get(account: string, id: string): StoredMessage | undefined;
  list(query: ListQuery): MessagePage;
}

export function prepareReads(db: DatabaseSync, work: Work): Reads {
  const one = db.prepare(`SELECT ${COLUMNS}, bytes FROM messages WHERE account = ? AND id = ?`);
  const all = db.prepare(`SELECT ${COLUMNS}, bytes FROM messages WHERE account = ? AND id > ? ORDER BY id`);
  const some = db.prepare(
    `SELECT ${COLUMNS}, bytes FROM messages WHERE account = ? AND status = ? AND id > ? ORDER BY id`,
  );
  return {
    get: (account, id) => {
      const row = one.get(account, id);
      work.add(1, Number(row?.bytes ?? 0));
      return row && toMessage(row);
    },
    list: ({account, limit, after = '', status}) => {
      const found = status === undefined ? all.iterate(account, after) : some.iterate(account, status, after);
      const {rows, bytes, more} = upTo(limit, found);
      work.add(rows.length + Number(more), bytes);
      return {messages: rows.map(toMessage), more};
    },
  };
}

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

export function toMessage({id, status, created_at, attempts, reason, message}: Row): StoredMessage {
  return {
    id: String(id),
    message: JSON.parse(String(message)),
    status: String(status) as MessageStatus,
    createdAt: Number(created_at),
    attempts: Number(attempts),
    ...(reason !== null && {reason: String(reason)}),
  };
}
