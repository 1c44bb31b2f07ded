/** From SQLite to PostgreSQL: nothing is lost, changed, or served by both. See migration-kills.test.ts, too. */
import {cp, readFile} from 'node:fs/promises';
import {DatabaseSync} from 'node:sqlite';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {databasePath} from '../../../../src/messages/service.ts';
import {until} from '../../../cluster/wait.ts';
import {type Client, createClient} from '../client.ts';
import {listAllMessages} from '../load.ts';
import {accountOf, removeFolders, type Service, startService, temporaryFolder} from '../service.ts';
import {migrate} from './migration-command.ts';
import {type Postgres, startPostgres} from './server.ts';
import {startPod, startReadyPod} from './service.ts';

const [mine, theirs] = [accountOf(0), accountOf(1)];
const STORAGE = {durability: 'storage', writers: 1};
let server: Postgres;

beforeAll(async () => {
  server = await startPostgres();
});
afterAll(async () => {
  await server.remove();
  await removeFolders();
});

interface Filled {
  readonly folder: string;
  /** Of a message that is leased. */
  readonly leased: {readonly id: string; readonly lease: string};
}

/** A store of SQLite with messages in every state, keys, and what only JSON can represent. */
async function filled(service: Service): Promise<Filled['leased']> {
  const client = await createClient(service.url);
  for (let n = 0; n < 40; n++) await client.submit(mine.key, `message ${n} \0\ud800`, {'idempotency-key': `key-${n}`});
  await client.submit(theirs.key, 'theirs', {'idempotency-key': 'key-1'});
  const {messages} = (await client.post(mine.key, '/messages/claim', {limit: 4, leaseSeconds: 3600})).body;
  const [done, delayed, dead, leased] = messages;
  await client.post(mine.key, `/messages/${done.id}/ack`, {lease: done.lease});
  await client.post(mine.key, `/messages/${delayed.id}/nack`, {
    lease: delayed.lease,
    delaySeconds: 3600,
    reason: 'later\0',
  });
  await client.post(mine.key, `/messages/${dead.id}/nack`, {lease: dead.lease, reason: 'now'});
  client.close();
  return leased;
}

async function filledFolder(): Promise<Filled> {
  const folder = await temporaryFolder();
  const service = await startService({folder});
  const leased = await filled(service);
  await service.stop();
  return {folder, leased};
}

const run = async (folder: string, database: string, ...args: readonly string[]) =>
  (await migrate(server.uri(database), folder, ...args)).done;

async function contents(client: Client): Promise<object> {
  const [ours, others] = [await listAllMessages(client, mine.key), await listAllMessages(client, theirs.key)];
  return {ours, others};
}

async function contentsOf(folder: string): Promise<object> {
  const copy = await temporaryFolder();
  await cp(folder, copy, {recursive: true});
  const service = await startService({folder: copy});
  const client = await createClient(service.url);
  const found = await contents(client);
  client.close();
  await service.stop();
  return found;
}

async function withPod<T>(database: string, use: (client: Client) => Promise<T>): Promise<T> {
  const pod = await startReadyPod(server, {database, postgres: STORAGE});
  const client = await createClient(pod.url);
  try {
    return await use(client);
  } finally {
    client.close();
    await pod.stop();
  }
}

const CHARGES = `
  SELECT a.bytes - (SELECT sum(512 + 4 * octet_length(m.account) + m.bytes + coalesce(octet_length(m.reason), 0))
      FROM nameplate.messages m WHERE m.account = a.account)
    - (SELECT sum(256 + 2 * (octet_length(k.account) + octet_length(k.key)))
      FROM nameplate.idempotency k WHERE k.account = a.account) AS difference
  FROM nameplate.accounts a`;

test('ids, states, leases, keys, and charges are carried over, and new ids are above the old ones', async () => {
  const {folder, leased} = await filledFolder();
  const before = await contentsOf(folder);
  const database = await server.createDatabase();
  await expect(run(folder, database)).resolves.toEqual({
    code: 0,
    out: expect.stringContaining('Migrated 41 messages of 2 accounts.\n'),
  });
  await expect(run(folder, database), 'again').resolves.toMatchObject({code: 0});
  await withPod(database, async client => {
    expect(await contents(client)).toEqual(before);
    expect(await server.query(CHARGES, database)).toEqual([{difference: '0'}, {difference: '0'}]);
    const repeated = await client.submit(mine.key, 'message 7 \0\ud800', {'idempotency-key': 'key-7'});
    expect(repeated).toMatchObject({status: 202, headers: {'idempotency-replayed': 'true'}});
    await expect(client.submit(mine.key, 'other', {'idempotency-key': 'key-7'})).resolves.toMatchObject({status: 422});
    const ack = await client.post(mine.key, `/messages/${leased.id}/ack`, {lease: leased.lease});
    expect(ack).toMatchObject({status: 200, body: {status: 'done'}});
    const {id} = (await client.submit(mine.key, 'new')).body;
    expect((await listAllMessages(client, mine.key)).at(-1)?.id).toBe(id);
  });
});

test('of two at once, as while an upgrade replaces the Job, one moves everything, and then both succeed', async () => {
  const {folder} = await filledFolder();
  const database = await server.createDatabase();
  const ended = await Promise.all([run(folder, database), run(folder, database)]);
  expect(ended.map(({code}) => code)).toEqual([0, 0]);
  expect(ended.filter(({out}) => out.includes('Migrated 41 messages of 2 accounts.'))).toHaveLength(1);
  expect(ended.filter(({out}) => out.includes('Nothing to do.'))).toHaveLength(1);
});

test('it waits for the old pod, whose messages are all there, and no pod serves SQLite afterwards', async () => {
  const folder = await temporaryFolder();
  const old = await startService({folder});
  await filled(old);
  const database = await server.createDatabase();
  const migrating = await migrate(server.uri(database), folder);
  await until('it waits', () => migrating.said().includes('no other process'));
  const client = await createClient(old.url);
  const last = await client.submit(mine.key, 'the last one');
  expect(last.status, 'the old pod still serves').toBe(202);
  client.close();
  await old.kill();
  await expect(migrating.done).resolves.toMatchObject({code: 0});
  await withPod(database, async reader => {
    await expect(reader.get(mine.key, `/messages/${last.body.id}`)).resolves.toMatchObject({status: 200});
  });
  await expect(startService({folder})).rejects.toThrow('were migrated to PostgreSQL');
});

test('a pod that awaits the migration serves only afterwards', async () => {
  const {folder} = await filledFolder();
  const database = await server.createDatabase();
  const pod = await startPod(server, {database, postgres: {...STORAGE, awaitMigration: true}});
  const readyz = async () => (await pod.operations('/readyz')).body;
  await until('it waits', async () => (await readyz()).includes('waiting for `messages migrate`'));
  const client = await createClient(pod.url);
  await expect(client.submit(mine.key, 'x')).resolves.toMatchObject({status: 503, body: {code: 'unavailable'}});
  await expect(run(folder, database)).resolves.toMatchObject({code: 0});
  await until('it is ready', async () => (await pod.operations('/readyz')).status === 200);
  await expect(client.get(mine.key, '/messages?limit=1')).resolves.toMatchObject({status: 200});
  client.close();
  await pod.stop();
});

test('until the first write, it can be undone; the pods of PostgreSQL then serve no more', async () => {
  const {folder} = await filledFolder();
  const before = await contentsOf(folder);
  const database = await server.createDatabase();
  await expect(run(folder, database)).resolves.toMatchObject({code: 0});
  const pod = await startReadyPod(server, {database, postgres: STORAGE});
  await expect(run(folder, database, '--undo')).resolves.toMatchObject({code: 0});
  const client = await createClient(pod.url);
  await expect(client.submit(mine.key, 'x')).resolves.toMatchObject({status: 503});
  await until('it says why', async () => (await pod.operations('/readyz')).body.includes('was undone'));
  client.close();
  await pod.stop();
  expect(await contentsOf(folder)).toEqual(before);
  const old = await startService({folder});
  const again = await run(folder, database, '--undo');
  expect(again, 'while SQLite is served').toMatchObject({code: 0, out: expect.stringContaining('Nothing to undo')});
  await old.stop();
  await expect(run(folder, database)).resolves.toMatchObject({code: 0});
  await withPod(database, async writer => {
    expect(await contents(writer)).toEqual(before);
    await expect(writer.submit(mine.key, 'new')).resolves.toMatchObject({status: 202});
  });
  const refused = await run(folder, database, '--undo');
  expect(refused).toMatchObject({code: 1, out: expect.stringContaining('PostgreSQL differs from SQLite')});
});

test('leases that end, and messages and keys that are deleted when they are old, do not keep it from being undone', async () => {
  const folder = await temporaryFolder();
  const old = await startService({folder});
  const client = await createClient(old.url);
  for (const name of ['done', 'dead', 'back', 'waiting'])
    await client.submit(mine.key, name, {'idempotency-key': name});
  const {messages} = (await client.post(mine.key, '/messages/claim', {limit: 3, leaseSeconds: 3600})).body;
  await client.post(mine.key, `/messages/${messages[0].id}/ack`, {lease: messages[0].lease});
  client.close();
  await old.stop();
  const sqlite = new DatabaseSync(databasePath(folder));
  sqlite.exec(`
    UPDATE messages SET finished_at = 1 WHERE status = 'done';
    UPDATE messages SET available_at = 1 WHERE status = 'leased';
    UPDATE messages SET attempts = 5 WHERE seq = 2; -- "dead"
    UPDATE idempotency SET created_at = 1`);
  const rows = () => [
    ...sqlite.prepare('SELECT * FROM messages').all(),
    ...sqlite.prepare('SELECT * FROM idempotency').all(),
  ];
  const before = rows();
  sqlite.close();
  const database = await server.createDatabase();
  await expect(run(folder, database)).resolves.toMatchObject({code: 0});
  const pod = await startReadyPod(server, {database, postgres: STORAGE});
  const left = `
    SELECT string_agg(status, ' ' ORDER BY id) AS messages, (SELECT count(*)::int FROM nameplate.idempotency) AS keys
    FROM nameplate.messages`;
  const swept = JSON.stringify([{messages: 'dead waiting waiting', keys: 0}]);
  await until('all was swept', async () => JSON.stringify(await server.query(left, database)) === swept);
  await pod.stop();
  await expect(run(folder, database, '--undo')).resolves.toMatchObject({code: 0});
  sqlite.open();
  expect(rows()).toEqual(before);
  sqlite.close();
});

test('after a migration, another database neither gets the messages nor lets SQLite serve', async () => {
  const {folder} = await filledFolder();
  const [database, other] = [await server.createDatabase(), await server.createDatabase()];
  await expect(run(folder, database)).resolves.toMatchObject({code: 0});
  const refused = {code: 1, out: expect.stringContaining('migrated to another PostgreSQL database')};
  await expect(run(folder, other)).resolves.toMatchObject(refused);
  await expect(run(folder, other, '--undo')).resolves.toMatchObject(refused);
  await expect(startService({folder})).rejects.toThrow('were migrated to PostgreSQL');
  await expect(run(folder, database, '--undo')).resolves.toMatchObject({code: 0});
});

test('a database to which an earlier migration was undone does not let SQLite serve after a later one', async () => {
  const {folder} = await filledFolder();
  const [first, second] = [await server.createDatabase(), await server.createDatabase()];
  await expect(run(folder, first)).resolves.toMatchObject({code: 0});
  await expect(run(folder, first, '--undo')).resolves.toMatchObject({code: 0});
  await expect(run(folder, second)).resolves.toMatchObject({code: 0});
  const refused = {code: 1, out: expect.stringContaining('migrated to another PostgreSQL database')};
  await expect(run(folder, first, '--undo')).resolves.toMatchObject(refused);
  await expect(run(folder, first)).resolves.toMatchObject(refused);
  await expect(startService({folder})).rejects.toThrow('were migrated to PostgreSQL');
  const {folder: next} = await filledFolder();
  await expect(run(next, first), 'another SQLite database').resolves.toMatchObject({code: 0});
});

test('a database that has the messages of another SQLite database is left alone, and so is SQLite', async () => {
  const [{folder}, {folder: other}] = [await filledFolder(), await filledFolder()];
  const database = await server.createDatabase();
  await expect(run(other, database)).resolves.toMatchObject({code: 0});
  const refused = {code: 1, out: expect.stringContaining('the messages of another SQLite database were migrated')};
  await expect(run(folder, database)).resolves.toMatchObject(refused);
  await expect(run(folder, database, '--undo')).resolves.toMatchObject(refused);
  const service = await startService({folder});
  await service.stop();
});

test('an undo ends the sessions of pods, whatever role they act as, or changes nothing', async () => {
  const {folder} = await filledFolder();
  const database = await server.createDatabase();
  await server.query(`
    CREATE ROLE mapped LOGIN PASSWORD 'mapped' IN ROLE app;
    ALTER ROLE mapped SET role = 'app';
    CREATE ROLE stranger LOGIN PASSWORD 'stranger' IN ROLE app`);
  const uriOf = (role: string) => server.uri(database).replace(/\/\/[^@]+@/, `//${role}:${role}@`);
  const migrateAs = async (role: string, ...args: readonly string[]) =>
    (await migrate(uriOf(role), folder, ...args)).done;
  const waitsFor = (pod: Service) =>
    until('it says why', async () => (await pod.operations('/readyz')).body.includes('was undone'));

  await expect(migrateAs('mapped')).resolves.toMatchObject({code: 0});
  const mapped = await startReadyPod(server, {database, uri: uriOf('mapped'), postgres: STORAGE});
  await expect(migrateAs('mapped', '--undo')).resolves.toMatchObject({code: 0});
  await waitsFor(mapped);
  await mapped.stop();

  await expect(migrateAs('mapped')).resolves.toMatchObject({code: 0});
  const pod = await startReadyPod(server, {database, uri: uriOf('stranger'), postgres: STORAGE});
  const refused = {code: 1, out: expect.stringContaining('Scale the Deployment to 0')};
  await expect(run(folder, database, '--undo')).resolves.toMatchObject(refused);
  expect((await pod.operations('/readyz')).status).toBe(200);
  await expect(migrateAs('stranger', '--undo'), 'with the role of the pods').resolves.toMatchObject({code: 0});
  await waitsFor(pod);
  await pod.stop();
});

test('a database that has served other messages is left alone, and so is SQLite', async () => {
  const {folder} = await filledFolder();
  const database = await server.createDatabase();
  await withPod(database, client => client.submit(theirs.key, 'x'));
  const refused = await run(folder, database);
  expect(refused).toMatchObject({code: 1, out: expect.stringContaining('the PostgreSQL database is in use')});
  const service = await startService({folder});
  await service.stop();
  expect(await readFile(service.logFile, 'utf8')).toContain('Ready.');
});

test('a check finds what would stop a migration, without the database of SQLite', async () => {
  const nowhere = await temporaryFolder();
  const [fresh, used] = [await server.createDatabase(), await server.createDatabase()];
  const taken = await server.createDatabase();
  await expect(run((await filledFolder()).folder, taken)).resolves.toMatchObject({code: 0});
  await withPod(used, client => client.submit(mine.key, 'x'));
  await expect(run(nowhere, fresh, '--check')).resolves.toMatchObject({code: 0});
  const check = async (uri: string) => (await migrate(uri, nowhere, '--check')).done;
  const wrong = server.uri(fresh).replace(/:[^:@]+@/, ':wrong@');
  for (const [uri, problem] of [
    [wrong, 'password authentication failed'],
    [server.uri(taken), 'messages were migrated to this database before'],
    [server.uri(used), 'the PostgreSQL database is in use'],
    [server.uri('absent'), 'database "absent" does not exist'],
  ] as const) {
    const refused = await check(uri);
    expect(refused).toMatchObject({code: 1, out: expect.stringContaining(problem)});
    expect(refused.out).toContain('the API serves as before');
  }
});
