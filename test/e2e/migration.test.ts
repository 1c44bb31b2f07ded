/** `helm upgrade` moves the messages from SQLite to PostgreSQL and, until the first write, back. */
import {afterAll, beforeAll, expect, it} from 'vitest';
import {ADDRESSES} from '../cluster/state.ts';
import {until} from '../cluster/wait.ts';
import {type Postgres, startPostgres} from '../integration/messages/postgres/server.ts';
import type {RequestOptions} from '../support/http.ts';
import {installOperator, RELEASE} from '../support/install.ts';
import {listAll} from '../support/kube.ts';
import {killProcesses} from '../support/pods.ts';
import {POD} from '../support/workload.ts';
import {settings} from './setup.ts';
import {jsonPost, newKey, type TenantKey} from './tenant-key.ts';
import {admin, cluster} from './world.ts';

const {namespace} = RELEASE;
const SECRET = 'messages-db';
const MESSAGES = 'app.kubernetes.io/component=messages';
const MIGRATION = 'app.kubernetes.io/component=messages-migration';

/** Sends one message after another, each until it is acknowledged. */
class Writer {
  /** Ids by message. */
  readonly acknowledged = new Map<string, string>();
  /** Every other answer, and every failure to get one. */
  readonly refusals: string[] = [];
  #running: Promise<void> | undefined;
  #stopping = false;

  start(): void {
    this.#stopping = false;
    this.#running = this.#run();
    this.#running.catch(() => {}); // stop() rejects.
  }

  async more(count: number): Promise<void> {
    const wanted = this.acknowledged.size + count;
    await until(`${count} more are acknowledged`, () => this.acknowledged.size >= wanted);
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stopping) {
      const message = `message ${this.acknowledged.size}`;
      const post = jsonPost({message}); // always with the same idempotency key
      const id = await until(`${message} is acknowledged`, () => this.#send(post));
      this.acknowledged.set(message, id);
    }
  }

  async #send(post: RequestOptions): Promise<string | undefined> {
    const answer = await key.request('', post).catch((error: Error) => ({status: 0, body: error.message}));
    if (answer.status === 202) return JSON.parse(answer.body).id;
    this.refusals.push(`${answer.status} ${answer.body}`);
    return undefined;
  }
}

let server: Postgres;
let database: string;
let key: TenantKey;
const writer = new Writer();

beforeAll(async () => {
  const address = ADDRESSES.node; // reachable from pods
  server = await startPostgres({}, {address, fromTest: address, wrapper: []});
  database = await server.createDatabase();
  key = await newKey('migration');
  writer.start();
  await writer.more(5);
});

afterAll(async () => {
  const [stopped] = await Promise.allSettled([writer.stop()]);
  try {
    await pretendUndone();
    await upgrade('messages.postgres.undoMigration=true');
  } finally {
    await server.remove();
  }
  if (stopped.status === 'rejected') throw stopped.reason;
});

/** As if nothing had been written to PostgreSQL, because the other tests use SQLite, also after a failure here. */
async function pretendUndone(): Promise<void> {
  await server.query(
    `TRUNCATE nameplate.accounts, nameplate.messages, nameplate.bodies, nameplate.idempotency;
    UPDATE nameplate.migrated SET state = 'undone'`,
    database,
  );
}

async function upgrade(...values: readonly string[]): Promise<void> {
  await installOperator(cluster, [
    ...settings(cluster),
    `messages.postgres.secret=${SECRET}`,
    `messages.postgres.networkPolicy.port=${server.port}`,
    'messages.config.store.postgres.tls=disable',
    'messages.config.store.postgres.durability=storage',
    ...values,
  ]);
}

const stayInPostgres = (...values: readonly string[]) =>
  upgrade('messages.config.store.kind=postgres', 'messages.backup.enabled=false', ...values);
const toPostgres = () => stayInPostgres('messages.postgres.migrate=true');
const undo = () => upgrade('messages.postgres.undoMigration=true');

async function setUri(uri: string): Promise<void> {
  const metadata = {name: SECRET, namespace};
  await cluster.apply(JSON.stringify({apiVersion: 'v1', kind: 'Secret', metadata, stringData: {uri}}));
}

/** The serving store has every acknowledged message exactly once, and nothing else. */
async function expectAll(): Promise<void> {
  const listed: [message: string, id: string][] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const {body} = await key.until(`?limit=100${cursor && `&cursor=${cursor}`}`, {status: 200});
    const page = JSON.parse(body) as {messages: {id: string; message: string}[]; nextCursor: string | null};
    listed.push(...page.messages.map(({message, id}): [string, string] => [message, id]));
    cursor = page.nextCursor;
  }
  expect(listed).toEqual([...writer.acknowledged]);
}

/** Kills the migration when it has copied everything and is about to record that it is done. */
async function killMigration(): Promise<void> {
  const table = 'nameplate.migrated';
  const holding = server.query(`LOCK TABLE ${table} IN SHARE MODE; SELECT pg_sleep(120)`, database).catch(() => {});
  const stopped = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%INSERT INTO migrated%'`;
  await until('the migration is about to end', async () => (await server.query(stopped)).length > 0);
  // The kubelet reports a container only a moment after it has started. Those of earlier migrations have ended.
  const pod = await until('its pod runs', async () => {
    const pods = await listAll(admin, POD, {namespace, labelSelector: MIGRATION});
    return pods.find(({status}) => status?.phase === 'Running');
  });
  await killProcesses(pod);
  await server.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LOCK TABLE ${table}%'`);
  await holding;
}

it('an upgrade with a wrong password fails with the reason, and SQLite still serves', async () => {
  await setUri(server.uri(database).replace(/:[^:@]+@/, ':wrong@'));
  await expect(toPostgres()).rejects.toThrow(/password authentication failed .* the API serves as before/);
  await writer.more(5);
  await writer.stop();
  await setUri(server.uri(database));
});

it('a migration is undone by an upgrade, and SQLite serves what PostgreSQL served', async () => {
  await toPostgres();
  await expectAll();
  await undo();
  await expectAll();
});

it('a migration under load is killed, continues, and loses nothing', async () => {
  writer.start();
  await writer.more(5);
  writer.refusals.length = 0;
  await Promise.all([toPostgres(), killMigration()]);
  expect(writer.refusals, 'meanwhile, neither store served').not.toEqual([]);
  const restarts = 'jsonpath={.items[*].status.containerStatuses[0].restartCount}';
  expect(await cluster.kubectl('get', 'pods', '-n', namespace, '-l', MIGRATION, '-o', restarts)).toMatch(/^[1-9]/);
  await writer.more(5);
  await writer.stop();
  await expectAll();
});

it('an upgrade replaces all pods under load and refuses no request', async () => {
  const pods = () => listAll(admin, POD, {namespace, labelSelector: MESSAGES});
  const former = (await pods()).map(({metadata}) => metadata.uid);
  expect(former).toHaveLength(2);
  await cluster.kubectl('wait', '-n', namespace, '--for=condition=Complete', 'job', '-l', MESSAGES, '--timeout=60s');
  writer.start();
  await writer.more(5);
  writer.refusals.length = 0;
  await stayInPostgres('podAnnotations.replaced=yes');
  const areGone = async () => !(await pods()).some(({metadata}) => former.includes(metadata.uid));
  await until('the former pods are gone', areGone);
  await writer.more(5);
  await writer.stop();
  expect(writer.refusals).toEqual([]);
  await expectAll();
});

it('after a write, an undo fails with the reason, and PostgreSQL still serves', async () => {
  await expect(undo()).rejects.toThrow(/PostgreSQL differs from SQLite .* Keep PostgreSQL, which still serves/);
  writer.start();
  await writer.more(5);
  await writer.stop();
  await expectAll();
});
