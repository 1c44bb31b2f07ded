import type {DatabaseSync} from 'node:sqlite';
import {keyCost, messageCost} from '../cost.ts';
import {MessageIds} from '../message-id.ts';
import type {AppendOutcome, Idempotency, NewMessage, StoreRules} from '../store.ts';
import type {AccountBytes} from './account-bytes.ts';
import type {BacklogCounter} from './backlog.ts';
import type {Row} from './read.ts';
import type {Work} from './work.ts';

export type Append = (message: NewMessage, now: number) => AppendOutcome;

/** Must run inside a transaction: message, idempotency key, and the account's bytes are one unit. */
export function prepareAppend(
  db: DatabaseSync,
  usage: AccountBytes,
  {accountBytes, retention}: StoreRules,
  work: Work,
  backlog: BacklogCounter,
): Append {
  const insert = db.prepare(
    'INSERT INTO messages (id, account, created_at, available_at, bytes, message) VALUES (?, ?, ?, 0, ?, ?)',
  );
  const findKey = db.prepare('SELECT fingerprint, id, created_at FROM idempotency WHERE account = ? AND key = ?');
  const keepKey = db.prepare(
    'INSERT OR REPLACE INTO idempotency (account, key, fingerprint, id, created_at) VALUES (?, ?, ?, ?, ?)',
  );
  const ids = new MessageIds(lastId(db));

  function earlier(row: Row, {fingerprint}: Idempotency, now: number): AppendOutcome | undefined {
    if (Number(row.created_at) <= now - retention.idempotencyMs) return undefined;
    if (row.fingerprint !== fingerprint) return {kind: 'mismatch'};
    return {kind: 'replayed', id: String(row.id), createdAt: Number(row.created_at)};
  }

  return ({account, message, idempotency}, now) => {
    work.rows += 1;
    const kept = idempotency && findKey.get(account, idempotency.key);
    const known = idempotency && kept && earlier(kept, idempotency, now);
    if (known) return known;
    const literal = JSON.stringify(message);
    const bytes = Buffer.byteLength(literal);
    work.bytes += bytes;
    const isNewKey = idempotency !== undefined && kept === undefined;
    const cost = messageCost({account, bytes, reasonBytes: 0}) + (isNewKey ? keyCost(account, idempotency.key) : 0);
    if (usage.of(account) + cost > accountBytes) return {kind: 'quota'};
    const id = ids.next(now);
    insert.run(id, account, now, bytes, literal);
    backlog.move(undefined, 'queued');
    usage.add(account, cost);
    if (idempotency) keepKey.run(account, idempotency.key, idempotency.fingerprint, id, now);
    return {kind: 'appended', id, createdAt: now};
  };
}

/** The greatest id of all messages, without walking them: ids grow in the order of arrival. */
export function lastId(db: DatabaseSync): string | undefined {
  const row = db.prepare('SELECT id FROM messages WHERE seq = (SELECT max(seq) FROM messages)').get();
  return row === undefined ? undefined : String(row.id);
}
