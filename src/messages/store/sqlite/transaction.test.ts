import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {DatabaseSync} from 'node:sqlite';
import {afterAll, expect, test} from 'vitest';
import type {LeasedMessage, Operation, SweepOutcome} from '../store.ts';
import {Engine} from './engine.ts';
import {migrate} from './schema.ts';
import {Transaction} from './transaction.ts';

const folder = mkdtempSync(join(tmpdir(), 'nameplate-backlog-'));
afterAll(() => rmSync(folder, {recursive: true}));

const ACCOUNTS = ['a', 'b', 'c'];
const LEASE_MS = 1000;
const SWEEP: Operation = {kind: 'sweep', given: {probe: false}};
const retention = {doneMs: 3000, deadMs: 5000, idempotencyMs: 1e9};
let files = 0;

/** Repeatable; https://en.wikipedia.org/wiki/Lehmer_random_number_generator */
function randomly(seed: number): (below: number) => number {
  let state = seed;
  return below => {
    state = (state * 48_271) % 0x7f_ff_ff_ff;
    return state % below;
  };
}

function open() {
  const path = join(folder, `${files++}.db`);
  const options = {path, maxAttempts: 2, accountBytes: 1e12, reserveBytes: 0, retention};
  const engine = new Engine(options);
  const reader = new DatabaseSync(path);
  const perform = (now: number, ...operations: Operation[]) =>
    [...engine.applyAll(operations, now)].flatMap(({results}) => results.map(each => each.ok && each.value));
  return {
    options,
    perform,
    backlog: (now: number) => (perform(now, SWEEP) as SweepOutcome[])[0]?.backlog,
    /** The counts according to the rows themselves. */
    counted: () => {
      const row = reader
        .prepare(
          `SELECT count(*) FILTER (WHERE status IN ('waiting', 'delayed')) AS queued, count(*) FILTER (WHERE status = 'leased') AS leased,
             min(created_at) FILTER (WHERE status IN ('waiting', 'delayed', 'leased')) AS oldestAt FROM messages`,
        )
        .get();
      const {oldestAt, ...counts} = row ?? {};
      return {...counts, ...(oldestAt !== null && {oldestAt})};
    },
  };
}

test.each([1, 2, 3])('after anything that happens to messages, the backlog is what the rows say (seed %i)', seed => {
  const pick = randomly(seed);
  const store = open();
  const leases: {readonly account: string; readonly id: string; readonly lease: string}[] = [];
  let now = 0;
  for (let step = 0; step < 200; step++) {
    now += pick(300);
    const account = ACCOUNTS[pick(3)] ?? '';
    const ref = leases[pick(Math.max(leases.length, 1))];
    const isFilling = Math.floor(step / 50) % 2 === 0; // otherwise, it drains to the last message
    const operations: readonly Operation[] = [
      isFilling
        ? {kind: 'append', given: {account, message: 'x'}}
        : {kind: 'claim', given: {account, limit: 5, leaseMs: LEASE_MS}},
      {kind: 'claim', given: {account, limit: 2, leaseMs: LEASE_MS}},
      ...(ref ? ([{kind: 'ack', given: ref}] as const) : []),
      ...(ref ? ([{kind: 'nack', given: {...ref, delayMs: pick(2) * 500}}] as const) : []),
    ];
    const operation = operations[pick(operations.length)];
    if (!operation) continue;
    const [result, swept] = store.perform(now, operation, SWEEP);
    for (const {id, lease} of operation.kind === 'claim' ? (result as LeasedMessage[]) : []) {
      leases.push({account, id, lease});
    }
    expect((swept as SweepOutcome).backlog, `step ${step}`).toEqual(store.counted());
  }
  expect(leases.length).toBeGreaterThan(30);
});

test('a database that is opened again continues to count', () => {
  const store = open();
  const append = (account: string): Operation => ({kind: 'append', given: {account, message: 'x'}});
  store.perform(1, append('a'), append('b'), append('a'));
  store.perform(2, {kind: 'claim', given: {account: 'a', limit: 1, leaseMs: LEASE_MS}});
  const engine = new Engine(store.options);
  const [batch] = [...engine.applyAll([SWEEP], 3)];
  expect(batch?.results[0]).toMatchObject({value: {backlog: {queued: 2, leased: 1, oldestAt: 1}}});
});

test('a new message counts, even if it has the place of a deleted one', () => {
  const store = open();
  const append: Operation = {kind: 'append', given: {account: 'a', message: 'x'}};
  store.perform(1, append, append, append);
  const [claimed] = store.perform(2, {kind: 'claim', given: {account: 'a', limit: 3, leaseMs: LEASE_MS}});
  for (const {id, lease} of claimed as LeasedMessage[]) {
    store.perform(3, {kind: 'ack', given: {account: 'a', id, lease}});
  }
  expect(store.backlog(4)).toEqual({queued: 0, leased: 0});
  const later = 4 + retention.doneMs;
  expect(store.backlog(later)).toEqual({queued: 0, leased: 0});
  store.perform(later, append);
  expect(store.backlog(later)).toEqual({queued: 1, leased: 0, oldestAt: later});
});

test('what is rolled back does not count', () => {
  const db = new DatabaseSync(':memory:');
  migrate(db);
  const {backlog} = new Transaction(db);
  backlog.move(undefined, 'waiting');
  backlog.flush();
  backlog.move(undefined, 'waiting');
  backlog.move('waiting', 'leased');
  backlog.forget();
  expect(backlog.read().backlog).toEqual({queued: 1, leased: 0});
});
