/** Starting: many pods at once, TLS, a restored backup, and what makes a pod unready, with the reason. */
import {readFile, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {afterAll, afterEach, beforeAll, expect, test} from 'vitest';
import {MIGRATIONS, migrate} from '../../../../src/messages/store/postgres/session/schema.ts';
import {Session} from '../../../../src/messages/store/postgres/session/session.ts';
import {run} from '../../../cluster/children.ts';
import {until} from '../../../cluster/wait.ts';
import {readJsonLines} from '../../../support/json-lines.ts';
import {type Client, createClient, type MessagesAnswer} from '../client.ts';
import {accountOf, removeFolders, type Service, startService, temporaryFolder} from '../service.ts';
import {ensurePostgres} from './programs.ts';
import {type Postgres, startPostgres, uriFile} from './server.ts';
import {startPod, startReadyPod} from './service.ts';

const {key} = accountOf(0);
let server: Postgres;
let authority: string;
const running: Service[] = [];

beforeAll(async () => {
  const folder = await temporaryFolder();
  const at = (name: string) => join(folder, name);
  const subject = ['-subj', '/CN=PostgreSQL', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const options = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '1'];
  await run(['openssl', 'req', '-x509', ...options, ...subject, '-keyout', at('key'), '-out', at('certificate')]);
  authority = at('certificate');
  const tls = {ssl: 'on', ssl_cert_file: `'${authority}'`, ssl_key_file: `'${at('key')}'`};
  server = await startPostgres(tls);
});
afterEach(async () => {
  await Promise.all(running.splice(0).map(service => service.stop()));
  await server.configure({fsync: 'on', synchronous_standby_names: `''`});
  await server.query('GRANT pg_read_all_stats TO app');
});
afterAll(async () => {
  await server.remove();
  await removeFolders();
});

/** Each statement that the pods prepare for clients, at least once. */
async function use(client: Client, run: string): Promise<void> {
  const succeeded = async (answer: Promise<MessagesAnswer>) => {
    const {status, body} = await answer;
    expect(status, JSON.stringify(body)).toBeLessThan(300);
    return body;
  };
  const submit = () => succeeded(client.submit(key, 'x', {'idempotency-key': run}));
  const {id} = await submit();
  await submit();
  await succeeded(client.submit(key, 'y'));
  for (const query of ['', '?status=queued', '?status=done', `/${id}`])
    await succeeded(client.get(key, `/messages${query}`));
  const {messages} = await succeeded(client.post(key, '/messages/claim', {limit: 2}));
  const [first, second] = messages;
  await succeeded(client.post(key, `/messages/${first.id}/ack`, {lease: first.lease}));
  await succeeded(client.post(key, `/messages/${second.id}/nack`, {lease: second.lease}));
}

/** Adds a column to every table; fails if it runs twice. */
const LATER = `
  DO $$ DECLARE each text; BEGIN
    FOR each IN SELECT tablename FROM pg_tables WHERE schemaname = 'nameplate' LOOP
      EXECUTE format('ALTER TABLE %I ADD COLUMN later integer', each);
    END LOOP;
  END $$`;

test('pods of a later version migrate the tables once, while a pod of this version serves', async () => {
  const database = await server.createDatabase();
  const pod = await startReadyPod(server, {database, postgres: {durability: 'accepted-loss'}});
  running.push(pod);
  const client = await createClient(pod.url);
  await use(client, 'before');
  const connection = {
    uriFile: await uriFile(await temporaryFolder(), server.uri(database)),
    tls: 'disable',
    durability: 'accepted-loss',
    migration: 'none',
  } as const;
  const {signal} = new AbortController();
  const open = () => Session.open(connection, signal, () => {});
  const sessions = await Promise.all([open(), open(), open()]);
  const later = [...MIGRATIONS, LATER];
  await Promise.all(sessions.map(session => migrate(session, later)));
  for (const session of sessions) session[Symbol.dispose]();
  const [{version} = {}] = await server.query('SELECT version FROM nameplate.schema_version', database);
  expect(version).toBe(MIGRATIONS.length + 1);
  await use(client, 'after');
  await server.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database}'`);
  const readyz = async () => (await pod.operations('/readyz')).body;
  await until('its new connections are refused', async () => (await readyz()).includes('upgrade it'));
  client.close();
});

test('three pods that start at once over an empty database: one creates the tables, and none complains', async () => {
  const database = await server.createDatabase();
  const postgres = {durability: 'accepted-loss', writers: 4};
  const start = () => startReadyPod(server, {database, postgres});
  const pods = await Promise.all([start(), start(), start()]);
  running.push(...pods);
  for (const {logFile} of pods) {
    const lines = await readJsonLines(logFile);
    expect(lines.filter(({level}) => level === 'error' || Number(level) >= 50)).toEqual([]);
  }
});

test('by default, the certificate is verified', async () => {
  const database = await server.createDatabase();
  const postgres = {durability: 'accepted-loss', writers: 1, tls: 'verify-full'};
  const trusting = await startReadyPod(server, {database, postgres: {...postgres, caFile: authority}});
  running.push(trusting);
  const sessions = await server.query(
    `SELECT DISTINCT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE datname = '${database}'`,
  );
  expect(sessions).toEqual([{ssl: true}]);
  const file = join(await temporaryFolder(), 'uri');
  await writeFile(file, server.uri(database));
  const doubting = await startService({config: {store: {kind: 'postgres', postgres: {uriFile: file}}}});
  running.push(doubting);
  await until('it says why', async () =>
    (await doubting.operations('/readyz')).body.includes('self-signed certificate'),
  );
});

test('a dump that is restored, as docs/running-messages.md has it, serves what the database had', async () => {
  const page = await readFile(join(import.meta.dirname, '../../../../docs/running-messages.md'), 'utf8');
  const commands = ['pg_dump', 'pg_restore'].map(name => new RegExp(`^ {4}(${name} --.*)$`, 'm').exec(page)?.[1] ?? '');
  const {bin, env} = await ensurePostgres();
  const cwd = await temporaryFolder();
  const execute = async (command: string | undefined, of: string) => {
    const [program = '', ...args] = command?.replace(/[A-Z]+_URI/, server.uri(of)).split(' ') ?? [];
    await run([join(bin, program), ...args], {env, cwd});
  };
  const open = async (database: string) => {
    const pod = await startReadyPod(server, {database, postgres: {durability: 'accepted-loss'}});
    running.push(pod);
    return createClient(pod.url);
  };
  const lists = (client: Client) =>
    Promise.all(
      ['', '?status=done', '?status=leased'].map(async query => (await client.get(key, `/messages${query}`)).body),
    );

  const [before, after] = [await server.createDatabase(), await server.createDatabase()];
  const client = await open(before);
  const first = await client.submit(key, 'first', {'idempotency-key': 'a'});
  await client.submit(key, 'second \u0000\ud800');
  await client.submit(key, 'third');
  const {messages} = (await client.post(key, '/messages/claim', {limit: 2, leaseSeconds: 3600})).body;
  const ack = (to: Client, {id, lease}: {id: string; lease: string}) => to.post(key, `/messages/${id}/ack`, {lease});
  await ack(client, messages[0]);
  const had = await lists(client);
  await execute(commands[0], before);
  await client.submit(key, 'later');
  client.close();

  await execute(commands[1], after);
  const restored = await open(after);
  expect(await lists(restored)).toEqual(had);
  const repeated = await restored.submit(key, 'first', {'idempotency-key': 'a'});
  expect(repeated).toMatchObject({headers: {'idempotency-replayed': 'true'}, body: {id: first.body.id}});
  await expect(ack(restored, messages[1])).resolves.toMatchObject({status: 200, body: {status: 'done'}});
  restored.close();
});

interface Row {
  readonly case: string;
  readonly postgres?: Readonly<Record<string, unknown>>;
  readonly prepare?: (database: string) => Promise<unknown>;
  readonly uri?: (uri: string) => string;
  readonly says: string;
}

const rows: readonly Row[] = [
  {case: 'no synchronous standby, by default', postgres: {}, says: 'synchronous_standby_names is empty'},
  {
    case: 'a role that cannot see what standbys have',
    postgres: {},
    prepare: async () => {
      await server.configure({synchronous_standby_names: 'missing'});
      await server.query('SET synchronous_commit = local; REVOKE pg_read_all_stats FROM app');
    },
    says: 'GRANT pg_read_all_stats',
  },
  {
    case: 'storage without fsync',
    postgres: {durability: 'storage'},
    prepare: () => server.configure({fsync: 'off'}),
    says: 'fsync is off: a power failure would lose',
  },
  {case: 'a wrong password', uri: uri => uri.replace(/:[^:@]+@/, ':wrong@'), says: 'password authentication failed'},
  {case: 'a URI that decides about TLS', uri: uri => `${uri}?sslmode=disable`, says: 'has the parameter sslmode'},
  {case: 'no URI', uri: () => 'host=localhost', says: 'has no postgresql:// URI'},
  {
    case: 'a database of a later version',
    prepare: async database => {
      await (await startReadyPod(server, {database, postgres: {durability: 'accepted-loss'}})).stop();
      await server.query('UPDATE nameplate.schema_version SET version = 99', database);
    },
    says: 'schema version 99, this program knows up to 1',
  },
  {
    case: 'tables of another program',
    prepare: database =>
      server.query('CREATE SCHEMA nameplate; CREATE TABLE nameplate.schema_version (a int)', database),
    says: 'permission denied',
  },
];

test.each(rows)('$case: it is not ready, says why, stores nothing, and lives', async row => {
  const {postgres = {durability: 'accepted-loss'}, prepare, uri = same => same, says} = row;
  const database = await server.createDatabase();
  await prepare?.(database);
  const file = join(await temporaryFolder(), 'uri');
  await writeFile(file, uri(server.uri(database)));
  const pod = await startPod(server, {database, postgres: {writers: 1, ...postgres, uriFile: file}});
  running.push(pod);
  await until('it says why', async () => (await pod.operations('/readyz')).body.includes(says));
  await expect(pod.operations('/readyz')).resolves.toMatchObject({status: 503});
  await expect(pod.operations('/healthz')).resolves.toMatchObject({status: 200});
  const client = await createClient(pod.url);
  await expect(client.submit(key, 'x')).resolves.toMatchObject({status: 503, body: {code: 'unavailable'}});
  client.close();
});
