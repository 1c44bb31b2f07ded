/**
 * Migration from SQLite to PostgreSQL or back, killed at each step, while clients continuously send, read, and
 * acknowledge: exactly one serving store has what was acknowledged.
 */
import {cp} from 'node:fs/promises';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {databasePath} from '../../../../src/messages/service.ts';
import {openSource} from '../../../../src/messages/store/migration/source.ts';
import {CONNECTIONS_BESIDE_WRITERS} from '../../../../src/messages/store/postgres/postgres-store.ts';
import {until} from '../../../cluster/wait.ts';
import {type Client, createClient} from '../client.ts';
import {listAllMessages} from '../load.ts';
import {accountOf, removeFolders, type Service, startService, temporaryFolder} from '../service.ts';
import {Clients, Promises} from './clients.ts';
import {type Command, migrate, migrateDurably} from './migration-command.ts';
import {type Postgres, startPostgres} from './server.ts';
import {startPod, startReadyPod} from './service.ts';
import {type Stop, type StoppingProxy, stopAt} from './stopping-proxy.ts';

const {key} = accountOf(0);
const NUMBERS = {writers: 2, readers: 1, workers: 1};
const STORAGE = {durability: 'storage'};
/** Of a pod. */
const CONNECTIONS = 1 + CONNECTIONS_BESIDE_WRITERS;
const FENCED = 'were migrated to PostgreSQL';
let server: Postgres;
/** Stores after a migration, without later writes. */
let migrated: Stores;
const before = new Promises();

interface Stores {
  readonly folder: string;
  readonly database: string;
  /** Has a synchronous standby. By default, a server without one. */
  readonly primary?: Postgres;
}

interface Pod {
  readonly service: Service;
  readonly client: Client;
}

beforeAll(async () => {
  server = await startPostgres();
  migrated = {folder: await temporaryFolder(), database: await server.createDatabase()};
  const pod = await started(startService({folder: migrated.folder}));
  const clients = new Clients({name: 'before', key, promises: before, pods: () => [pod.client]}, NUMBERS);
  await clients.more(20);
  await clients.stop();
  await ended(pod);
  await expect(run(migrated)).resolves.toMatchObject({code: 0});
});
afterAll(async () => {
  await server.remove();
  await removeFolders();
});

async function started(starting: Promise<Service>): Promise<Pod> {
  const service = await starting;
  return {service, client: await createClient(service.url)};
}

async function ended({service, client}: Pod): Promise<void> {
  await service.kill();
  client.close();
}

function uriOf({database, primary = server}: Stores): string {
  return primary.uri(database);
}

/** Starts the command. */
function begin(stores: Stores, args: readonly string[] = [], uri = uriOf(stores)): Promise<Command> {
  return (stores.primary ? migrateDurably : migrate)(uri, stores.folder, ...args);
}

async function run(stores: Stores, ...args: readonly string[]) {
  return (await begin(stores, args)).done;
}

type Tried = (proxy: StoppingProxy) => unknown;

/** Kills the command once PostgreSQL has reached one of its statements and clients have tried to send meanwhile. */
async function killedAt(stop: Stop, stores: Stores, tried: Tried, ...args: readonly string[]): Promise<void> {
  const proxy = await stopAt(uriOf(stores), stop);
  const command = await begin(stores, args, proxy.uri);
  const ending = command.done.then(({out}) => Promise.reject(new Error(`it ended: ${out}`)));
  ending.catch(() => {});
  await Promise.race([proxy.stopped, ending]);
  await Promise.race([tried(proxy), ending]);
  command.kill();
  await expect(command.done).resolves.toMatchObject({code: null});
  proxy.close();
}

const isReady = async ({service}: Pod) => (await service.operations('/readyz')).status === 200;

/**
 * Expects that no acknowledged message is lost, changed, or duplicated, no acknowledged ack is lost, and no read was
 * stale.
 */
async function expectAll(pod: Pod, {ids, done, history}: Promises): Promise<void> {
  await until('all connections of the pod were opened again', () => isReady(pod));
  const listed = await listAllMessages(pod.client, key);
  const found = new Map(listed.map(({message, id}) => [message, id]));
  expect([...ids].filter(([message, id]) => found.get(message) !== id)).toEqual([]);
  expect(listed).toHaveLength(found.size);
  expect(listed.filter(({id, status}) => done.has(id) && status !== 'done')).toEqual([]);
  expect(history.violations()).toEqual([]);
}

const FORTH: readonly (Stop & {readonly when: string; readonly isFenced: boolean})[] = [
  {when: 'before it locks the tables', statements: ['LOCK TABLE'], isFenced: false},
  {when: 'before it fences SQLite', statements: ['SELECT id, state'], isExecuted: true, isFenced: false},
  {when: 'before it copies messages', statements: ['migrate-messages'], isFenced: true},
  {when: 'before it copies the account', statements: ['migrate-account'], isFenced: true},
  {when: 'before it compares', statements: ['migrated-messages'], isFenced: true},
  {when: 'before it notes that it is done', statements: ['migrate-done'], isFenced: true},
  {when: 'before its COMMIT', statements: ['migrate-done', 'COMMIT'], isFenced: true},
];
const COMMITTED: Stop = {statements: ['migrate-done', 'COMMIT'], isExecuted: true};

test('to PostgreSQL, killed at each step and taken back: each store serves only alone, and has all', async () => {
  const stores = {folder: await temporaryFolder(), database: await server.createDatabase()};
  const promises = new Promises();
  const pod = await started(startPod(server, {...stores, postgres: {...STORAGE, awaitMigration: true}}));
  let old = await started(startService(stores));
  const clients = new Clients({name: 'load', key, promises, pods: () => [old.client, pod.client]}, NUMBERS);
  const waiting = await begin(stores);
  await until('it waits for the old pod', () => waiting.said().includes('no other process'));
  waiting.kill();
  const tried = async () => {
    clients.refusals.clear();
    await until('a client was refused', () => clients.refusals.has('unavailable'), {intervalMs: 10});
  };
  for (const {when, isFenced, ...stop} of FORTH) {
    await clients.more(5);
    await ended(old);
    await killedAt(stop, stores, tried);
    if (isFenced) {
      await expect(startService(stores), when).rejects.toThrow(FENCED);
      await expect(run(stores, '--undo'), when).resolves.toMatchObject({code: 0});
    }
    expect(await isReady(pod), when).toBe(false);
    old = await started(startService(stores));
  }
  await clients.more(5);
  await ended(old);
  await killedAt(COMMITTED, stores, () => {});
  await expect(startService(stores)).rejects.toThrow(FENCED);
  await clients.more(20);
  await expect(run(stores)).resolves.toMatchObject({code: 0, out: expect.stringContaining('Nothing to do')});
  await expect(run(stores, '--undo'), 'after a first write').resolves.toMatchObject({code: 1});
  await clients.more(20);
  await clients.stop();
  expect(promises.done.size, 'acknowledged by workers').toBeGreaterThan(0);
  await expectAll(pod, promises);
  await ended(pod);
});

const BACK: readonly (Stop & {readonly when: string; readonly isUndone?: boolean})[] = [
  {when: 'before it locks the tables', statements: ['LOCK TABLE']},
  {when: 'before it compares', statements: ['migrated-messages']},
  {when: 'before it notes that it is undone', statements: ['UPDATE migrated']},
  {when: 'before it ends the sessions of pods', statements: ['pg_terminate_backend']},
  {when: 'before it empties the tables', statements: ['TRUNCATE']},
  {when: 'before its COMMIT', statements: ['TRUNCATE', 'COMMIT']},
  {when: 'before it lifts the fence', statements: ['TRUNCATE', 'COMMIT'], isExecuted: true, isUndone: true},
];

test.concurrent.each(BACK)('back to SQLite, killed $when: one store serves, and has all', async row => {
  const {when, isUndone = false, ...stop} = row;
  const stores = {folder: await temporaryFolder(), database: `back_${BACK.indexOf(row)}`};
  await server.query(`CREATE DATABASE ${stores.database} TEMPLATE ${migrated.database} OWNER app`);
  await cp(migrated.folder, stores.folder, {recursive: true});
  const promises = new Promises();
  for (const [message, id] of before.ids) {
    promises.ids.set(message, id);
    promises.history.submitted(message, 0);
    promises.history.shown(message, id, {began: 0, ended: 0});
    promises.history.acknowledged(message, 0);
  }
  const pod = await started(startReadyPod(server, {...stores, postgres: STORAGE}));
  const serving = [pod.client];
  let clients: Clients | undefined;
  const tried = async () => {
    clients = new Clients({name: 'load', key, promises, pods: () => serving}, NUMBERS);
    const {counts, refusals} = clients;
    await until('a client got an answer, or waits', async () => {
      const waiting = `SELECT FROM pg_stat_activity WHERE datname = '${stores.database}' AND wait_event_type = 'Lock'`;
      return counts.acknowledged > 0 || refusals.size > 0 || (await server.query(waiting)).length > 0;
    });
  };
  await killedAt(stop, stores, tried, '--undo');
  if (isUndone) {
    await expect(startService(stores), 'no store serves').rejects.toThrow(FENCED);
    await expect(run(stores, '--undo')).resolves.toMatchObject({code: 0});
    const old = await started(startService(stores));
    serving.push(old.client);
    await clients?.more(5);
    await clients?.stop();
    expect(await isReady(pod)).toBe(false);
    await expectAll(old, promises);
    await ended(old);
  } else {
    await clients?.more(5);
    await expect(run(stores, '--undo')).resolves.toMatchObject({code: 1, out: expect.stringContaining('differs')});
    await expect(startService(stores), when).rejects.toThrow(FENCED);
    await clients?.more(5);
    await clients?.stop();
    await expectAll(pod, promises);
  }
  await ended(pod);
});

test('to a primary without its standby, then killed: neither store serves until the standby has the migration', async () => {
  const primary = await startPostgres();
  const standby = await primary.standby('standby');
  await primary.configure({synchronous_standby_names: 'standby'});
  const stores = {folder: await temporaryFolder(), database: await primary.createDatabase(), primary};
  const promises = new Promises();
  const pod = await started(startPod(primary, {...stores, postgres: {awaitMigration: true}}));
  const old = await started(startService(stores));
  const clients = new Clients({name: 'load', key, promises, pods: () => [old.client, pod.client]}, NUMBERS);
  await clients.more(20);
  await ended(old);
  let acknowledged: number | undefined;
  await killedAt({statements: ['migrate-done']}, stores, async proxy => {
    ({acknowledged} = clients.counts);
    await standby.stop();
    proxy.proceed();
    const all = async () => (await primary.waiting()).length === CONNECTIONS + 1;
    await until('the migration and all connections of the pod wait for the standby', all);
    clients.refusals.clear();
    await until('a client was refused', () => clients.refusals.has('unavailable'), {intervalMs: 10});
  });
  await expect(startService(stores)).rejects.toThrow(FENCED);
  expect(isNoted(stores.folder), 'SQLite does not know yet').toBe(false);
  expect(clients.counts.acknowledged, 'neither store served').toBe(acknowledged);
  await standby.start();
  await clients.more(20);
  await expect(run(stores)).resolves.toMatchObject({code: 0, out: expect.stringContaining('Nothing to do')});
  expect(isNoted(stores.folder)).toBe(true);
  await clients.stop();
  await expectAll(pod, promises);
  await ended(pod);
  await primary.remove();
});

function isNoted(folder: string): boolean | undefined {
  using source = openSource(databasePath(folder));
  return source?.isMigrated;
}
