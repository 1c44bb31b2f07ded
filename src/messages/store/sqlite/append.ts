import type {DatabaseSync} from 'node:sqlite';
import {MessageIds} from '../message-id.ts';
import {decideAppend} from '../rules.ts';
import type {AppendOutcome, NewMessage, StoreRules} from '../store.ts';
import type {Transaction} from './transaction.ts';

/** Must run inside a transaction: message, idempotency key, and the account's bytes are one unit. */
export function prepareAppend({db, usage, work, backlog}: Transaction, rules: StoreRules) {
  const insert = db.prepare('INSERT INTO messages (id, account, created_at, bytes, literal) VALUES (?, ?, ?, ?, ?)');
  const findKey = db.prepare('SELECT fingerprint, id, created_at FROM idempotency WHERE account = ? AND key = ?');
  const keepKey = db.prepare(
    'INSERT OR REPLACE INTO idempotency (account, key, fingerprint, id, created_at) VALUES (?, ?, ?, ?, ?)',
  );
  const ids = new MessageIds(lastId(db));

  return (message: NewMessage, now: number): AppendOutcome => {
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
    backlog.move(undefined, 'waiting');
    if (idempotency) keepKey.run(account, idempotency.key, idempotency.fingerprint, id, now);
    return {kind: 'appended', id, createdAt: now};
  };
}

/** The greatest id of all messages, without walking them: ids grow in the order of arrival. */
export function lastId(db: DatabaseSync): string | undefined {
  const row = db.prepare('SELECT id FROM messages WHERE seq = (SELECT max(seq) FROM messages)').get();
  return row === undefined ? undefined : String(row.id);
}
