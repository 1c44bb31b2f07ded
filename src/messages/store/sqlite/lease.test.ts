/**
 * The work that a hostile account can cause in the shared transaction: counted in rows, and by the plans of the
 * statements.
 */
import {DatabaseSync} from 'node:sqlite';
import {expect, test} from 'vitest';
import {LAPSE_ROWS} from '../rules.ts';
import {prepareAppend} from './append.ts';
import {prepareLeases} from './lease.ts';
import {prepareReads} from './read.ts';
import {prepareRetention} from './retention.ts';
import {migrate} from './schema.ts';
import {COUNT_OPEN, Transaction} from './transaction.ts';

const MANY = 5000;
const MAX_ATTEMPTS = 3;
const retention = {doneMs: 1000, deadMs: 1000, idempotencyMs: 1000};
const options = {maxAttempts: MAX_ATTEMPTS, accountBytes: 1e12, retention};

interface Store {
  readonly db: DatabaseSync;
  readonly work: Transaction['work'];
  readonly append: ReturnType<typeof prepareAppend>;
  readonly leases: ReturnType<typeof prepareLeases>;
  /** The SQL of every prepared statement. */
  readonly sql: readonly string[];
  /** Rows that `act` changed. */
  changes(act: () => unknown): number;
  /** Claims one message, which must exist. */
  claimOne(account: string, now: number): {readonly id: string; readonly lease: string};
}

function open(db = new DatabaseSync(':memory:')): Store {
  const sql: string[] = [];
  const prepare = db.prepare.bind(db);
  migrate(db);
  db.prepare = (text: string) => {
    sql.push(text);
    return prepare(text);
  };
  const transaction = new Transaction(db);
  const {work} = transaction;
  const append = prepareAppend(transaction, options);
  const leases = prepareLeases(transaction, options);
  prepareReads(transaction);
  prepareRetention(transaction, retention);
  const total = () => Number(prepare('SELECT total_changes() AS n').get()?.n);
  return {
    db,
    work,
    append,
    leases,
    sql,
    changes: act => {
      const before = total();
      act();
      return total() - before;
    },
    claimOne: (account, now) => {
      const [claimed] = leases.claim({account, limit: 1, leaseMs: 1000}, now);
      if (claimed === undefined) throw new Error('there is nothing to claim');
      return claimed;
    },
  };
}

/** Messages of one account, all claimed at 0 for a second. */
function claimed({append, leases}: Store, account: string, count: number) {
  for (let n = 0; n < count; n++) append({account, message: `${n}`}, 0);
  return Array.from({length: count / 100}, () => leases.claim({account, limit: 100, leaseMs: 1000}, 0)).flat();
}

// attack: message-work
test('no statement of the store walks a table or sorts, except at the start', () => {
  const {db, sql} = open();
  const statements = sql.filter(text => text !== COUNT_OPEN);
  const plans = statements.map(text => ({
    text,
    plan: db
      .prepare(`EXPLAIN QUERY PLAN ${text}`)
      .all()
      .map(({detail}) => String(detail)),
  }));
  expect(plans.length).toBeGreaterThan(15);
  expect(plans.filter(({plan}) => plan.some(step => /SCAN|TEMP B-TREE/.test(step)))).toEqual([]);
  const steps = plans.flatMap(({plan}) => plan);
  // Messages that are not available, or not yet, are outside the ranges that a claim reads.
  expect(steps).toContain('SEARCH messages USING INDEX messages_hidden (account=? AND available_at<?)');
  expect(steps).toContain('SEARCH messages USING INDEX messages_by_status (account=? AND status=?)');
  expect(steps).toContain('SEARCH messages USING COVERING INDEX messages_leased (available_at<?)');
});

// attack: message-work
test('5,000 delayed messages: a claim touches what it returns, now and when the delays have ended', () => {
  const store = open();
  const {leases, append, work} = store;
  for (const {id, lease} of claimed(store, 'mine', MANY)) {
    leases.nack({account: 'mine', id, lease, delayMs: 60_000}, 0);
  }
  append({account: 'mine', message: 'available'}, 1);
  work.reset();
  expect(store.changes(() => store.claimOne('mine', 1))).toBe(1);
  expect(work.rows).toBe(1);
  expect(store.changes(() => leases.claim({account: 'mine', limit: 100, leaseMs: 1000}, 1))).toBe(0);
  const due = store.changes(() => leases.claim({account: 'mine', limit: 100, leaseMs: 1000}, 60_000));
  expect(due).toBe(300);
});

test('5,000 leases that expire together: no operation processes more than a few of them', () => {
  const store = open();
  const {leases, append} = store;
  claimed(store, 'mine', MANY);
  append({account: 'theirs', message: 'x'}, 0);
  append({account: 'theirs', message: 'y'}, 0);
  const later = 5000;
  let [first, second] = [
    {id: '', lease: ''},
    {id: '', lease: ''},
  ];
  expect(store.changes(() => (first = store.claimOne('theirs', later)))).toBe(1);
  expect(store.changes(() => (second = store.claimOne('theirs', later)))).toBe(1);
  expect(store.changes(() => leases.ack({account: 'theirs', ...first}, later))).toBe(1);
  expect(store.changes(() => leases.nack({account: 'theirs', ...second, delayMs: 0}, later))).toBe(1);
  expect(store.changes(() => store.claimOne('mine', later))).toBe(3);
  expect(store.changes(() => leases.lapse(later))).toBe(LAPSE_ROWS);
  let lapsed = LAPSE_ROWS;
  for (let count = LAPSE_ROWS; count === LAPSE_ROWS; lapsed += count) count = leases.lapse(later);
  expect(lapsed, 'all but those that the claim took back').toBe(MANY - 2);
});

test('a lease that has run out is lost, also before anything took it back', () => {
  const store = open();
  const {leases, append} = store;
  append({account: 'mine', message: 'x'}, 0);
  const ref = {account: 'mine', ...store.claimOne('mine', 0)};
  expect(leases.ack(ref, 1000)).toEqual({kind: 'lease-lost'});
  expect(leases.nack({...ref, delayMs: 0}, 1000)).toEqual({kind: 'lease-lost'});
  expect(store.claimOne('mine', 1000).id).toBe(ref.id);
});

test('claims return every message once its delay or lease has ended, and none twice', () => {
  const store = open();
  const {leases} = store;
  const all = claimed(store, 'mine', 1000);
  for (const {id, lease} of all.slice(0, 500)) leases.nack({account: 'mine', id, lease, delayMs: 10 + id.length}, 0);
  const again = new Set<string>();
  for (let n = 0; n < 1000; n++) again.add(store.claimOne('mine', 2000).id);
  expect(again).toEqual(new Set(all.map(({id}) => id)));
  expect(leases.claim({account: 'mine', limit: 1, leaseMs: 1000}, 2000)).toEqual([]);
});
