import {DatabaseSync} from 'node:sqlite';
import {expect, test} from 'vitest';
import {AccountBytes} from './account-bytes.ts';
import {prepareAppend} from './append.ts';
import {BacklogCounter} from './backlog.ts';
import {prepareRetention} from './retention.ts';
import {migrate} from './schema.ts';
import {Work} from './work.ts';

test('an idempotency key is forgotten when its own time is over, not when that of another account is', () => {
  const db = new DatabaseSync(':memory:');
  migrate(db);
  const usage = new AccountBytes(db);
  const backlog = new BacklogCounter(db);
  const retention = {doneMs: 0, deadMs: 0, idempotencyMs: 1000};
  const work = new Work();
  const options = {path: '', maxAttempts: 1, accountBytes: 1e6, reserveBytes: 0, retention};
  const append = prepareAppend(db, usage, options, work, backlog);
  const submit = (account: string, now: number, fingerprint = 'f') =>
    append({account, message: 'x', idempotency: {key: 'same', fingerprint}}, now).kind;
  submit('mine', 0);
  submit('theirs', 500);
  prepareRetention(db, usage, retention, work)(1000);
  expect(submit('mine', 1000, 'other')).toBe('appended');
  expect(submit('theirs', 1000, 'other')).toBe('mismatch');
});
