/** Compares the charge with the actual growth of the file. */
import {mkdtempSync, rmSync, statSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {DatabaseSync} from 'node:sqlite';
import {afterAll, expect, test} from 'vitest';
import {COST_ROWS, type CostRow} from '../../../../test/support/cost.rows.ts';
import {prepareAppend} from './append.ts';
import {prepareLeases} from './lease.ts';
import {prepareRetention} from './retention.ts';
import {migrate} from './schema.ts';
import {Transaction} from './transaction.ts';

const FACTOR = 2;
const folder = mkdtempSync(join(tmpdir(), 'nameplate-cost-'));
afterAll(() => rmSync(folder, {recursive: true}));

let files = 0;
const retention = {doneMs: 1000, deadMs: 1000, idempotencyMs: 1000};

function open(accountBytes = 1e12) {
  const path = join(folder, `${files++}.db`);
  const db = new DatabaseSync(path);
  db.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF');
  migrate(db);
  const transaction = new Transaction(db);
  const {usage} = transaction;
  const rules = {maxAttempts: 2, accountBytes, retention};
  const expire = prepareRetention(transaction, retention);
  return {
    db,
    usage,
    append: prepareAppend(transaction, rules),
    leases: prepareLeases(transaction, rules),
    sweep: (now: number) => {
      while (expire(now).more);
    },
    size: () => statSync(path).size,
    charged: () => {
      usage.flush();
      return Number(db.prepare('SELECT sum(bytes) AS bytes FROM accounts').get()?.bytes ?? 0);
    },
  };
}

type Store = ReturnType<typeof open>;

function fill(store: Store, {count, account, message, key, reason}: CostRow): void {
  const {db, append, leases} = store;
  db.exec('BEGIN');
  for (let n = 0; n < count; n++) {
    const idempotency = key && {key: key(n), fingerprint: 'f'.repeat(43)};
    expect(append({account: account(n), message, ...(idempotency && {idempotency})}, 1e12).kind).toBe('appended');
  }
  for (let n = 0; reason !== undefined && n < count; n++) {
    const [claimed] = leases.claim({account: account(n), limit: 1, leaseMs: 1000}, 1e12);
    if (claimed) leases.nack({account: account(n), ...claimed, delayMs: 1e6, reason}, 1e12);
  }
  store.charged();
  db.exec('COMMIT');
}

// attack: message-work
test.each(COST_ROWS)(`messages, $case: the file grows by at most ${FACTOR} times what is charged`, row => {
  const store = open();
  const before = store.size();
  fill(store, row);
  const ratio = (store.size() - before) / store.charged();
  expect(ratio).toBeLessThan(FACTOR);
  expect(ratio, 'and nobody is charged for what is not there').toBeGreaterThan(0.3);
});

test('deleted data is no longer charged, to the byte', () => {
  const store = open();
  const {append, leases, charged, sweep} = store;
  for (let n = 0; n < 10; n++) {
    append({account: 'a', message: 'x', idempotency: {key: `k${n}`, fingerprint: 'f'}}, 0);
  }
  append({account: 'a', message: 'again', idempotency: {key: 'k0', fingerprint: 'f'}}, 2000);
  for (const {id, lease} of leases.claim({account: 'a', limit: 100, leaseMs: 1000}, 3000)) {
    leases.nack({account: 'a', id, lease, delayMs: 0, reason: 'first, and longer'}, 3000);
  }
  for (const [n, {id, lease}] of leases.claim({account: 'a', limit: 100, leaseMs: 1000}, 3000).entries()) {
    if (n % 2 === 0) leases.ack({account: 'a', id, lease}, 3000);
    else leases.nack({account: 'a', id, lease, delayMs: 0, ...(n % 3 === 0 && {reason: 'last'})}, 3000);
  }
  expect(charged()).toBeGreaterThan(10 * 512);
  sweep(10_000);
  expect(charged()).toBe(0);
});

test('an account over its quota may return messages, but keeps no reasons', () => {
  const {append, leases, usage} = open(1200);
  expect(append({account: 'a', message: 'x'}, 0).kind).toBe('appended');
  const [claimed] = leases.claim({account: 'a', limit: 1, leaseMs: 1000}, 0);
  if (!claimed) throw new Error('there is nothing to claim');
  append({account: 'a', message: 'y'.repeat(130)}, 0);
  expect(append({account: 'a', message: 'z'}, 0).kind).toBe('quota');
  const before = usage.of('a');
  expect(leases.nack({account: 'a', ...claimed, delayMs: 0, reason: 'r'.repeat(500)}, 0).kind).toBe('settled');
  expect(usage.of('a')).toBe(before);
});
