import type {DatabaseSync} from 'node:sqlite';
import {MessageIds} from '../message-id.ts';
import {decideAppend} from '../rules.ts';
import type {AppendOutcome, NewMessage, StoreRules} from '../store.ts';
import type {AccountBytes} from './account-bytes.ts';
import type {BacklogCounter} from './backlog.ts';
import type {Work} from './work.ts';

export type Append = (message: NewMessage, now: number) => AppendOutcome;

/** Must run inside a transaction: message, idempotency key, and the account's bytes are one unit. */
export function prepareAppend(
  db: DatabaseSync,
  usage: AccountBytes,
  rules: StoreRules,
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

  return (message, now) => {
    const {account, idempotency} = message;
    work.add(1, message.message.length);
    const row = idempotency && findKey.get(account, idempotency.key);
    const kept = row && {
      fingerprint: String(row.fingerprint),
      id: String(row.id),
      createdAt: Number(row.created_at),
    };
    const decision = decideAppend(message, kept, usage, rules, now);
    if (decision.kind !== 'new') return decision;
    const id = ids.next(now);
    insert.run(id, account, now, decision.bytes, decision.literal);
    backlog.move(undefined, 'queued');
    if (idempotency) keepKey.run(account, idempotency.key, idempotency.fingerprint, id, now);
    return {kind: 'appended', id, createdAt: now};
  };
}

/** The greatest id of all messages, without walking them: ids grow in the order of arrival. */
export function lastId(db: DatabaseSync): string | undefined {
  const row = db.prepare('SELECT id FROM messages WHERE seq = (SELECT max(seq) FROM messages)').get();
  return row === undefined ? undefined : String(row.id);
}
