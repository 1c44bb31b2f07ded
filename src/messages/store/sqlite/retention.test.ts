import {DatabaseSync} from 'node:sqlite';
import {expect, test} from 'vitest';
import {prepareAppend} from './append.ts';
import {prepareRetention} from './retention.ts';
import {migrate} from './schema.ts';
import {Transaction} from './transaction.ts';

test('an idempotency key is forgotten when its own time is over, not when that of another account is', () => {
  const db = new DatabaseSync(':memory:');
  migrate(db);
  const transaction = new Transaction(db);
  const retention = {doneMs: 0, deadMs: 0, idempotencyMs: 1000};
  const append = prepareAppend(transaction, {maxAttempts: 1, accountBytes: 1e6, retention});
  const submit = (account: string, now: number, fingerprint = 'f') =>
    append({account, message: 'x', idempotency: {key: 'same', fingerprint}}, now).kind;
  submit('mine', 0);
  submit('theirs', 500);
  prepareRetention(transaction, retention)(1000);
  expect(submit('mine', 1000, 'other')).toBe('appended');
  expect(submit('theirs', 1000, 'other')).toBe('mismatch');
});
