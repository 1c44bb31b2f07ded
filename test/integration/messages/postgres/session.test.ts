/** What shares a transaction, and what a failed statement does to the others. */
import pg from 'pg';
import {expect, test, vi} from 'vitest';
import {MIGRATIONS, migrate} from '../../../../src/messages/store/postgres/session/schema.ts';
import {Session} from '../../../../src/messages/store/postgres/session/session.ts';
import {until} from '../../../cluster/wait.ts';
import {sharedServer} from './shared-server.ts';
import {connectionTo, withStore} from './store.ts';

const server = sharedServer();

test('a batch that waits for its locks takes what arrives meanwhile, up to what needs more than these locks', async () => {
  const database = await server().createDatabase();
  await withStore(server(), database, async store => {
    const append = (message: string, key?: string) => {
      const idempotency = key === undefined ? {} : {idempotency: {key, fingerprint: key}};
      return store.perform('append', {account: 'mine', message, ...idempotency});
    };
    await append('first');
    const holder = new pg.Client({connectionString: server().uri(database)});
    await holder.connect();
    await holder.query('BEGIN; SELECT FROM nameplate.accounts FOR UPDATE');
    const waiting = append('waiting');
    const locked = `SELECT 1 FROM pg_stat_activity WHERE datname = '${database}' AND wait_event_type = 'Lock'`;
    await until('it waits', async () => (await server().query(locked, database)).length === 1, {intervalMs: 10});
    const later = [append('joins'), append('joins, too'), append('looks for its key', 'a'), append('comes after it')];
    await holder.query('COMMIT');
    await holder.end();
    await Promise.all([waiting, ...later]);
    const transactions = `
      SELECT json_agg(literal::json ORDER BY id) AS messages FROM nameplate.bodies GROUP BY xmin::text ORDER BY min(id::text)`;
    const stored = await server().query(transactions, database);
    expect(stored.map(({messages}) => messages)).toEqual([
      ['first'],
      ['waiting', 'joins', 'joins, too'],
      ['looks for its key', 'comes after it'],
    ]);
  });
});

const never = new AbortController().signal;
const sessionTo = async (database: string) =>
  Session.open(await connectionTo(server(), database), never, () => undefined);

const DIVIDE = {name: 'divide', text: 'SELECT 1 / $1::int AS result'};
const NEW = {name: 'new', text: 'SELECT $1::int AS result'};

test('after a statement that failed, the session and the statements that it skipped can be used', async () => {
  const database = await server().createDatabase();
  using session = await sessionTo(database);
  const both = (divisor: number) => () => Promise.all([session.query(DIVIDE, [divisor]), session.query(NEW, [2])]);
  const write = async (divisor: number) => ({value: await both(divisor)(), promises: true});
  const nothing = async () => undefined;
  const failure = {refusal: 'down', message: expect.stringContaining('division by zero')};
  await expect(
    session.commit(both(0), () => write(1)),
    'while it reads',
  ).rejects.toMatchObject(failure);
  await expect(
    session.commit(nothing, () => write(0)),
    'while it writes',
  ).rejects.toMatchObject(failure);
  await expect(session.read(both(0)), 'without a transaction').rejects.toMatchObject(failure);
  const unawaited = async () => {
    session.send(DIVIDE, [0]);
    session.send(NEW, [2]);
    return {value: undefined, promises: true};
  };
  await expect(session.commit(nothing, unawaited), 'unnoticed until COMMIT').rejects.toMatchObject(failure);
  expect(session.isBroken).toBe(false);
  await expect(
    session.commit(both(1), found => write(1).then(done => ({...done, value: [found, done.value]}))),
  ).resolves.toEqual(Array.from({length: 2}, () => [[{result: 1}], [{result: 2}]]));
});

test('a statement that could not be parsed can be repeated', async () => {
  const database = await server().createDatabase();
  using session = await sessionTo(database);
  const read = () => session.read(() => session.query({name: 'later', text: 'SELECT * FROM nameplate.later'}, []));
  await expect(read()).rejects.toMatchObject({message: expect.stringContaining('does not exist')});
  await server().query(
    'CREATE TABLE nameplate.later AS SELECT 1 AS result; GRANT SELECT ON nameplate.later TO PUBLIC',
    database,
  );
  await expect(read()).resolves.toEqual([{result: 1}]);
});

test('a transaction that failed is known to have stored nothing, even if the server does not answer to the end', async () => {
  const database = await server().createDatabase();
  using session = await sessionTo(database);
  await server().configure({synchronous_standby_names: 'missing'});
  const failing = session.commit(
    async () => undefined,
    async () => {
      session.send(DIVIDE, [0]);
      return {value: undefined, promises: true};
    },
  );
  const noted = expect(failing).rejects.toMatchObject({
    refusal: 'down',
    message: expect.stringContaining('division by zero'),
  });
  const pid = await until('the second transaction waits', async () => (await server().waiting())[0]);
  await server().query(`SELECT pg_terminate_backend(${pid})`);
  await noted;
  await server().configure({synchronous_standby_names: `''`});
});

test('a script that migrates the tables may take longer than other statements', async () => {
  const database = await server().createDatabase();
  using session = await sessionTo(database);
  const holder = new pg.Client({connectionString: server().uri(database)});
  await holder.connect();
  await holder.query('SELECT pg_advisory_lock(7)');
  vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout']});
  try {
    const migrating = migrate(session, [...MIGRATIONS, 'SET lock_timeout = 0; SELECT pg_advisory_lock(7)']);
    const ended = expect(migrating).resolves.toBeUndefined();
    const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = '${database}' AND wait_event = 'advisory'`;
    await until('the script waits', async () => (await server().query(waiting)).length === 1, {intervalMs: 10});
    vi.advanceTimersByTime(60_000);
    await holder.end();
    await ended;
  } finally {
    vi.useRealTimers();
  }
});
