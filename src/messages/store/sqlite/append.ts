import type {DatabaseSync} from 'node:sqlite';
import {MessageIds} from '../message-id.ts';
import type {AppendOutcome, Idempotency, NewMessage} from '../store.ts';
import type {AccountBytes} from './account-bytes.ts';
import type {EngineOptions} from './operations.ts';

export type Append = (message: NewMessage, now: number) => AppendOutcome;

/** Must run inside a transaction: message, idempotency key and the account's bytes stand or fall together. */
export function prepareAppend(db: DatabaseSync, usage: AccountBytes, {accountBytes, retention}: EngineOptions): Append {
  const insert = db.prepare(
    'INSERT INTO messages (id, account, created_at, available_at, bytes, message) VALUES (?, ?, ?, ?, ?, ?)',
  );
  const findKey = db.prepare('SELECT fingerprint, id, created_at FROM idempotency WHERE account = ? AND key = ?');
  const keepKey = db.prepare(
    'INSERT OR REPLACE INTO idempotency (account, key, fingerprint, id, created_at) VALUES (?, ?, ?, ?, ?)',
  );
  const ids = new MessageIds(lastId(db));

  function earlier(account: string, {key, fingerprint}: Idempotency, now: number): AppendOutcome | undefined {
    const row = findKey.get(account, key);
    if (row === undefined || Number(row.created_at) <= now - retention.idempotencyMs) return undefined;
    if (row.fingerprint !== fingerprint) return {kind: 'mismatch'};
    return {kind: 'replayed', id: String(row.id), createdAt: Number(row.created_at)};
  }

  return ({account, message, idempotency}, now) => {
    const known = idempotency && earlier(account, idempotency, now);
    if (known) return known;
    const literal = JSON.stringify(message);
    const bytes = Buffer.byteLength(literal);
    if (usage.of(account) + bytes > accountBytes) return {kind: 'quota'};
    const id = ids.next(now);
    insert.run(id, account, now, now, bytes, literal);
    usage.add(account, bytes);
    if (idempotency) keepKey.run(account, idempotency.key, idempotency.fingerprint, id, now);
    return {kind: 'appended', id, createdAt: now};
  };
}

function lastId(db: DatabaseSync): string | undefined {
  const row = db.prepare('SELECT id FROM messages ORDER BY seq DESC LIMIT 1').get();
  return row === undefined ? undefined : String(row.id);
}
