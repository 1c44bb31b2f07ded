import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {DatabaseSync} from 'node:sqlite';
import {afterAll, expect, test} from 'vitest';
import type {Operation, SweepOutcome} from '../queue/operations.ts';
import type {LeasedMessage} from '../store.ts';
import {Engine} from './engine.ts';

const folder = mkdtempSync(join(tmpdir(), 'nameplate-backlog-'));
afterAll(() => rmSync(folder, {recursive: true}));

const ACCOUNTS = ['a', 'b', 'c'];
const LEASE_MS = 1000;
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

function open(freeBytes?: () => number) {
  const path = join(folder, `${files++}.db`);
  const options = {path, maxAttempts: 2, accountBytes: 1e12, reserveBytes: 0, retention};
  const engine = new Engine(options, freeBytes);
  const reader = new DatabaseSync(path);
  const perform = (now: number, ...operations: Operation[]) =>
    [...engine.applyAll(operations, now)].flatMap(({results}) => results.map(each => each.ok && each.value));
  const sweep: Operation = {kind: 'sweep', given: {probe: false}};
  return {
    options,
    perform,
    /** The backlog, once it is certain. */
    backlog: (now: number) => {
      for (;;) {
        const [swept] = perform(now, sweep) as SweepOutcome[];
        if (!swept?.more) return swept?.backlog;
      }
    },
    /** What the rows themselves say. */
    counted: () => {
      const row = reader
        .prepare(
          `SELECT count(*) FILTER (WHERE status = 'queued') AS queued, count(*) FILTER (WHERE status = 'leased') AS leased,
             min(created_at) FILTER (WHERE status IN ('queued', 'leased')) AS oldestAt FROM messages`,
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
  for (let step = 0; step < 400; step++) {
    now += pick(300);
    const account = ACCOUNTS[pick(3)] ?? '';
    const ref = leases[pick(Math.max(leases.length, 1))];
    const isFilling = Math.floor(step / 100) % 2 === 0; // then it drains, to the last message
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
    const [result] = store.perform(now, operation);
    for (const {id, lease} of operation.kind === 'claim' ? (result as LeasedMessage[]) : []) {
      leases.push({account, id, lease});
    }
    expect(store.backlog(now), `step ${step}`).toEqual(store.counted());
  }
  expect(leases.length).toBeGreaterThan(50);
});

test('a database that is opened again continues to count', () => {
  const store = open();
  const append = (account: string): Operation => ({kind: 'append', given: {account, message: 'x'}});
  store.perform(1, append('a'), append('b'), append('a'));
  store.perform(2, {kind: 'claim', given: {account: 'a', limit: 1, leaseMs: LEASE_MS}});
  const engine = new Engine(store.options);
  const [batch] = [...engine.applyAll([{kind: 'sweep', given: {probe: false}}], 3)];
  expect(batch?.results[0]).toMatchObject({value: {backlog: {queued: 2, leased: 1, oldestAt: 1}}});
});

test('what is rolled back does not count', () => {
  const store = open();
  const text = (length: number): Operation => ({kind: 'append', given: {account: 'a', message: 'x'.repeat(length)}});
  store.perform(1, text(1));
  const blocker = new DatabaseSync(store.options.path);
  blocker.exec(
    'CREATE TRIGGER no_more BEFORE INSERT ON messages WHEN new.bytes > 100 BEGIN SELECT raise(FAIL, 1); END',
  );
  expect(store.perform(2, text(2), text(200))).toEqual([false, false]);
  blocker.exec('DROP TRIGGER no_more');
  expect(store.backlog(3)).toEqual({queued: 1, leased: 0, oldestAt: 1});
});
