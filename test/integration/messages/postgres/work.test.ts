/**
 * A statement's cost does not depend on what it does not return, and each step of a sweep does a limited amount of
 * work.
 */
import pg from 'pg';
import {expect, test} from 'vitest';
import {MessageIds} from '../../../../src/messages/store/message-id.ts';
import {CREATE, LOCK, SAVE} from '../../../../src/messages/store/postgres/accounts.ts';
import {FIND_KEYS, INSERT, KEEP_KEYS} from '../../../../src/messages/store/postgres/append.ts';
import {
  FINISH,
  GIVE_BACK,
  LAPSE,
  LOCK as LOCK_MESSAGES,
  REVEAL,
  TAKE,
} from '../../../../src/messages/store/postgres/lease.ts';
import {SPEND} from '../../../../src/messages/store/postgres/rate-usage.ts';
import {
  ALL,
  COUNT,
  GET,
  OLDEST,
  QUEUED,
  readBacklog,
  readStoredRows,
  SOME,
} from '../../../../src/messages/store/postgres/read.ts';
import {
  DELETE_BODIES,
  DELETE_KEYS,
  DELETE_MESSAGES,
  FINISHED,
  OLD_KEYS,
  sweep,
} from '../../../../src/messages/store/postgres/retention.ts';
import {Session} from '../../../../src/messages/store/postgres/session/session.ts';
import {sessionSettings} from '../../../../src/messages/store/postgres/session/settings.ts';
import {writeBatch} from '../../../../src/messages/store/postgres/write.ts';
import {LAPSE_ROWS, SWEEP_BYTES, SWEEP_ROWS} from '../../../../src/messages/store/rules.ts';
import {until} from '../../../cluster/wait.ts';
import {sharedServer} from './shared-server.ts';
import {connectionTo, rules, withStore} from './store.ts';

const ROWS = 20_000;
const server = sharedServer({autovacuum: 'off'});

const ONE = `INSERT INTO nameplate.messages (account, id, created_at, bytes) VALUES ('mine', 'ffffffff-ffff-7fff-8000-000000000000', 1, 10)`;
const TWO = `${ONE}; INSERT INTO nameplate.accounts VALUES ('mine', 1), ('theirs', 1)`;
/** Messages in every state, of this account and another: none is available, lapsing, or old. */
const MESSAGES = `
  INSERT INTO nameplate.messages (account, id, lease, created_at, available_at, lease_until, finished_at, bytes, status)
  SELECT account, ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, NULL, 1,
    CASE WHEN status IN ('delayed', 'leased') THEN 9e15 END, CASE WHEN status = 'leased' THEN 9e15 END,
    CASE WHEN status IN ('done', 'dead') THEN 9e15 END, 10, status
  FROM unnest(ARRAY['mine', 'theirs']) AS account,
    (SELECT n, (ARRAY['delayed', 'leased', 'done', 'dead'])[1 + n % 4] AS status FROM generate_series(1, ${ROWS}) AS n) AS s;
  INSERT INTO nameplate.messages (account, id, created_at, bytes)
  SELECT 'theirs', gen_random_uuid(), 1, 10 FROM generate_series(1, ${ROWS});
  INSERT INTO nameplate.bodies SELECT account, id, '""' FROM nameplate.messages`;
const ACCOUNTS = `
  INSERT INTO nameplate.accounts SELECT n::text, 0 FROM generate_series(1, ${ROWS}) AS n;
  INSERT INTO nameplate.usage SELECT n::text, 9e15, 9e15, 9e15 FROM generate_series(1, ${ROWS}) AS n;
  INSERT INTO nameplate.idempotency SELECT 'mine', n::text, '', gen_random_uuid(), 9e15 FROM generate_series(1, ${ROWS}) AS n`;

interface Measured {
  readonly name: string;
  readonly text: string;
  readonly values: readonly (string | number | null)[];
  /** It reads fewer pages than this. */
  readonly blocks: number;
}

const ZERO = '00000000-0000-0000-0000-000000000000';
const LAST = 'ffffffff-ffff-7fff-8000-000000000001';
const DONE = '00000000-0000-7000-8000-000000000002';
const DEAD = '00000000-0000-7000-8000-000000000003';
const two = (one: string | number) => `{${one},${one}}`;
/** All but two: FORGET_USAGE reads the row of each account with recent requests, and the session's a table of one row. */
const statements: readonly Measured[] = [
  {name: 'lock accounts', text: LOCK.text, values: ['{1,2,3}'], blocks: 20},
  {name: 'create accounts', text: CREATE.text, values: ['{mine,theirs}'], blocks: 20},
  {name: 'save accounts', text: SAVE.text, values: ['{"(0,1)","(0,2)"}', '{1,1}', two(ZERO)], blocks: 10},
  {name: 'find keys', text: FIND_KEYS.text, values: [two('mine'), '{1,none}'], blocks: 20},
  {name: 'keep keys', text: KEEP_KEYS.text, values: [two('mine'), '{1,none}', '{a,b}', two(ZERO), 1], blocks: 40},
  {name: 'append', text: INSERT.text, values: [two('mine'), `{${ZERO},${LAST}}`, '{a,b}', '{1,1}', 1], blocks: 200},
  {name: 'claim', text: TAKE.text, values: ['mine', 1, 9e15], blocks: 40},
  {name: 'reveal', text: REVEAL.text, values: [5, 1, 'mine', 2], blocks: 10},
  {name: 'lapse', text: LAPSE.text, values: [5, 1], blocks: 10},
  {name: 'lock messages', text: LOCK_MESSAGES.text, values: [two('mine'), `{${DONE},${ZERO}}`], blocks: 20},
  {name: 'finish', text: FINISH.text, values: ['{"(0,1)"}', 1], blocks: 40},
  {name: 'give back', text: GIVE_BACK.text, values: ['(0,1)', 'delayed', 1, null, 'why'], blocks: 40},
  {name: 'get', text: GET.text, values: ['mine', DONE], blocks: 20},
  {name: 'list', text: ALL.text, values: ['mine', ZERO, 2], blocks: 20},
  {name: 'list queued', text: QUEUED.text, values: ['mine', ZERO, 2], blocks: 30},
  {name: 'list dead', text: SOME.text, values: ['mine', ZERO, 2, 'dead'], blocks: 20},
  {name: 'list none', text: SOME.text, values: ['mine', LAST, 2, 'dead'], blocks: 10},
  {name: 'finished', text: FINISHED.text, values: ['done', 1], blocks: 10},
  {name: 'old keys', text: OLD_KEYS.text, values: [1], blocks: 10},
  {name: 'delete messages', text: DELETE_MESSAGES.text, values: [two('mine'), `{${DONE},${DEAD}}`], blocks: 20},
  {name: 'delete bodies', text: DELETE_BODIES.text, values: [two('mine'), `{${DONE},${DEAD}}`], blocks: 20},
  {name: 'delete keys', text: DELETE_KEYS.text, values: [two('mine'), '{1,2}', 9e15], blocks: 20},
  {name: 'spend', text: SPEND.text, values: ['{1,none}', '{1,1}', '{1,1}', '{1,1}'], blocks: 20},
];
/** With two accounts, because they read something of each. */
const ofBacklog: readonly Measured[] = [
  {name: 'oldest', text: OLDEST.text, values: [], blocks: 40},
  {name: 'count', text: COUNT.text, values: [100], blocks: 300},
];

async function openSession(database: string): Promise<Session> {
  const connection = await connectionTo(server(), database);
  return Session.open(connection, new AbortController().signal, () => undefined);
}

/** A session like the store's, with prepared statements. */
async function prepared(database: string, measured: readonly Measured[]): Promise<pg.Client> {
  const client = new pg.Client({connectionString: server().uri(database)});
  client.on('error', () => {}); // if the server ends first
  await client.connect();
  await client.query(sessionSettings('storage'));
  for (const {name, text} of measured) await client.query(`PREPARE "${name}" AS ${text}`);
  return client;
}

/** The number of pages that the statement reads. */
async function blocksOf(client: pg.Client, {name, values}: Measured): Promise<number> {
  const list = values.map(value => (typeof value === 'string' ? `'${value}'` : String(value))).join(', ');
  await client.query('BEGIN');
  const execute = `EXECUTE "${name}" ${list && `(${list})`}`;
  const {rows} = await client.query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${execute}`);
  await client.query('ROLLBACK');
  const {Plan: plan} = rows[0]['QUERY PLAN'][0];
  return plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
}

async function expectBounded(client: pg.Client, measured: readonly Measured[], when: string): Promise<void> {
  for (const each of measured) {
    expect.soft(await blocksOf(client, each), `${each.name}, ${when}`).toBeLessThan(each.blocks);
  }
  await client.end();
}

async function expectBoundedAfter(measured: readonly Measured[], early: string, later: string): Promise<void> {
  const database = await server().createDatabase();
  await withStore(server(), database, async () => {});
  await server().query(early, database);
  await server().query('VACUUM ANALYZE', database); // now the planner knows that the tables are tiny
  const planned = await prepared(database, measured);
  for (const each of measured) await blocksOf(planned, each); // statements are planned at their first use
  await server().query(later, database);
  await expectBounded(planned, measured, 'with plans from before');
  await expectBounded(await prepared(database, measured), measured, 'with old statistics');
  await server().query('ANALYZE', database);
  await expectBounded(await prepared(database, measured), measured, 'with new statistics');
}

// attack: many-pods
test('statements read what they return, with plans from before the table grew and with new statistics', async () => {
  await expectBoundedAfter(statements, ONE, `${MESSAGES}; ${ACCOUNTS}`);
});

// attack: many-pods
test('a backlog that is longer than what is counted costs no more', async () => {
  await expectBoundedAfter(ofBacklog, TWO, MESSAGES);
});

test('a sweep ends a limited number of leases in one step, however many have expired', async () => {
  const database = await server().createDatabase();
  using session = await openSession(database);
  const expired = `
    INSERT INTO nameplate.messages (account, id, lease, created_at, lease_until, bytes, status)
    SELECT 'mine', gen_random_uuid(), gen_random_uuid(), 1, 1, 10, 'leased'
    FROM generate_series(1, ${2 * LAPSE_ROWS + 1})`;
  await server().query(expired, database);
  const lapsed: number[] = [];
  for (let more = true; more; ) {
    const step = await sweep(session, rules);
    lapsed.push(step.lapsed);
    ({more} = step);
  }
  expect(lapsed).toEqual([LAPSE_ROWS, LAPSE_ROWS, 1]);
});

test('a claim makes a limited number of messages available, however many delays have ended', async () => {
  const database = await server().createDatabase();
  await withStore(server(), database, async store => {
    const due = `
      INSERT INTO nameplate.messages (account, id, created_at, available_at, bytes, status)
      SELECT 'mine', gen_random_uuid(), 1, 1, 10, 'delayed' FROM generate_series(1, 1000);
      INSERT INTO nameplate.bodies SELECT account, id, '""' FROM nameplate.messages`;
    await server().query(due, database);
    await expect(store.perform('claim', {account: 'mine', limit: 10, leaseMs: 60_000})).resolves.toHaveLength(10);
    const left = `SELECT count(*)::int AS count FROM nameplate.messages WHERE status = 'delayed'`;
    await expect(server().query(left, database)).resolves.toEqual([{count: 980}]);
  });
});

test('transactions over the same accounts in different orders wait for each other, and none fails', async () => {
  const database = await server().createDatabase();
  using first = await openSession(database);
  using second = await openSession(database);
  const submit = (session: Session, accounts: readonly string[]) => {
    const batch = accounts.map(account => ({kind: 'append', given: {account, message: 'hello'}}) as const);
    return writeBatch(session, batch, {rules, ids: new MessageIds(undefined)});
  };
  await submit(first, ['a', 'b', 'c']);
  const waiting = async (count: number) => {
    const locked = `SELECT 1 FROM pg_stat_activity WHERE datname = '${database}' AND wait_event_type = 'Lock'`;
    await until(`${count} wait`, async () => (await server().query(locked, database)).length === count, {
      intervalMs: 10,
    });
  };
  const holder = new pg.Client({connectionString: server().uri(database)});
  await holder.connect();
  await holder.query(`BEGIN; SELECT FROM nameplate.accounts WHERE account = 'c' FOR UPDATE`);
  const one = submit(first, ['a', 'c', 'b']);
  await waiting(1);
  const two = submit(second, ['b', 'c', 'a']);
  await waiting(2);
  await holder.query('COMMIT');
  await holder.end();
  await expect(Promise.all([one, two])).resolves.toHaveLength(2);
});

test('dead rows are counted while an old snapshot keeps them', async () => {
  const database = await server().createDatabase();
  using session = await openSession(database);
  await server().query(ONE, database);
  const old = new pg.Client({connectionString: server().uri(database)});
  await old.connect();
  await old.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
  await server().query('UPDATE nameplate.messages SET attempts = 1', database);
  const vacuum = () => server().query('VACUUM nameplate.messages', database);
  await vacuum();
  await expect(readStoredRows(session)).resolves.toEqual({live: 1, dead: 1});
  await old.end();
  await until('the snapshot is gone', async () => {
    await vacuum();
    return (await readStoredRows(session)).dead === 0;
  });
});

test('the age of the oldest message does not depend on the clock of the pod', async () => {
  const database = await server().createDatabase();
  using session = await openSession(database);
  await expect(readBacklog(session, 0)).resolves.toEqual({queued: 0, leased: 0});
  await server().query(`INSERT INTO nameplate.accounts VALUES ('mine', 1)`, database);
  await server().query(ONE.replace('1, 10)', 'extract(epoch FROM now()) * 1000 - 60000, 10)'), database);
  const {oldestAt} = await readBacklog(session, 0);
  expect(oldestAt).toBeLessThanOrEqual(-60_000);
  expect(oldestAt).toBeGreaterThan(-120_000);
});

test('messages that cannot be counted have an age', async () => {
  const database = await server().createDatabase();
  using session = await openSession(database);
  await server().query(TWO, database);
  const uncounted = `
    REVOKE SELECT ON nameplate.messages FROM app;
    GRANT SELECT (account, id, status, created_at) ON nameplate.messages TO app`;
  await server().query(uncounted, database); // lease_until is missing
  await expect(readBacklog(session, 0)).resolves.toEqual({oldestAt: expect.any(Number)});
});

/** Messages past their retention, and as many keys. */
const OLD = (count: number, bytes: number) => `
  INSERT INTO nameplate.messages (account, id, created_at, finished_at, bytes, status)
  SELECT 'mine', gen_random_uuid(), 1, 1, ${bytes}, 'done' FROM generate_series(1, ${count});
  INSERT INTO nameplate.idempotency SELECT 'mine', n::text, '', gen_random_uuid(), 1 FROM generate_series(1, ${count}) AS n`;

test.each([
  {what: 'rows', count: 5 * SWEEP_ROWS, bytes: 10, most: SWEEP_ROWS},
  {what: 'bytes', count: 100, bytes: SWEEP_BYTES / 16, most: 16},
])(
  'a sweep deletes a limited number of $what in one step, and the next ones the rest',
  async ({count, bytes, most}) => {
    const database = await server().createDatabase();
    using session = await openSession(database);
    await server().query(
      `INSERT INTO nameplate.accounts VALUES ('mine', ${count * 1e6}); ${OLD(count, bytes)}`,
      database,
    );
    const left = async () => {
      const counted = `SELECT (SELECT count(*) FROM nameplate.messages)::int AS messages,
      (SELECT count(*) FROM nameplate.idempotency)::int AS keys`;
      return (await server().query(counted, database))[0];
    };
    await expect(sweep(session, rules)).resolves.toMatchObject({deleted: most, more: true});
    expect(await left()).toEqual({messages: count - most, keys: Math.max(0, count - SWEEP_ROWS)});
    while ((await sweep(session, rules)).more);
    expect(await left()).toEqual({messages: 0, keys: 0});
  },
);
