/** What an answer promises with a primary and one synchronous standby: what is not on both is not promised. */
import {randomUUID} from 'node:crypto';
import {afterAll, afterEach, beforeAll, beforeEach, expect, test} from 'vitest';
import {until} from '../../../cluster/wait.ts';
import {type Client, createClient} from '../client.ts';
import {type Pending, pending} from '../pending.ts';
import {removeFolders, type Service} from '../service.ts';
import {type Postgres, startPostgres} from './server.ts';
import {startPod, startReadyPod} from './service.ts';

const NAMES = `'ANY 1 (standby)'`;
/** A pod waits ten seconds for a standby. Until then, a test must have started it again. */
const FAST = {intervalMs: 20};
let primary: Postgres;
let standby: Postgres;
let database: string;
interface Pod {
  readonly service: Service;
  readonly client: Client;
}
let pod: Pod;
let client: Client;
let other: Client;
/** The key of an account that no other test uses. */
let key: string;
let account: string;
const pods: Pod[] = [];

beforeAll(async () => {
  primary = await startPostgres();
  standby = await primary.standby('standby');
  await primary.configure({synchronous_standby_names: NAMES});
  await primary.query('ALTER ROLE app SET client_min_messages = error');
  await primary.query('ALTER ROLE app SET synchronous_commit = local');
  database = await primary.createDatabase();
  pod = await started(startReadyPod(primary, {database, postgres: {writers: 1}}));
  const second = await started(startReadyPod(primary, {database, postgres: {writers: 1}}));
  [client, other] = [pod.client, second.client];
});
beforeEach(async () => {
  ({key, name: account} = pod.service.account());
  await submit(client, 'first', 'first'); // an account's first message needs an additional commit
});
afterEach(async () => {
  await primary.configure({synchronous_standby_names: NAMES});
  await standby.start();
  for (const {service} of pods) {
    await until('it is ready', async () => (await service.operations('/readyz')).status === 200, {intervalMs: 20});
  }
});
afterAll(async () => {
  for (const each of pods) await stopped(each);
  await primary.remove();
  await removeFolders();
});

async function started(starting: Promise<Service>): Promise<Pod> {
  const service = await starting;
  const made = {service, client: await createClient(service.url)};
  pods.push(made);
  return made;
}

async function stopped({service, client: ofPod}: Pod): Promise<void> {
  ofPod.close();
  await service.stop();
}

const readyz = async ({service}: Pod = pod) => (await service.operations('/readyz')).body;
const submit = (to: Client, message: string, idempotencyKey: string) =>
  to.submit(key, message, {'idempotency-key': idempotencyKey});

/** Submits a message whose COMMIT waits for the missing standby. */
async function submitWithoutStandby(idempotencyKey: string = randomUUID()): Promise<Pending> {
  await standby.stop();
  const submitted = pending(submit(client, 'hello', idempotencyKey));
  await until('its commit waits', async () => (await primary.waiting()).length > 0, FAST);
  return submitted;
}

const unknown = {status: 503, body: {code: 'outcome_unknown'}, headers: {'retry-after': '1'}};
const unavailable = {status: 503, body: {code: 'unavailable'}};

test('an acknowledged message is on the standby', async () => {
  expect(await readyz()).toContain('[+]store ok: a response waits for the disks of the primary and a standby\n');
  const {status, body} = await submit(client, 'hello', 'a');
  expect(status).toBe(202);
  await until('the standby has replayed it', async () => {
    const rows = await standby.query(`SELECT 1 FROM nameplate.messages WHERE 'msg_' || id = '${body.id}'`, database);
    return rows.length === 1;
  });
});

test('without a standby, nothing is acknowledged or shown until it is back', async () => {
  const submitted = await submitWithoutStandby();
  const readers = [client, other].map(each => pending(each.get(key, '/messages')));
  await until('the reads wait, too', async () => (await primary.waiting()).length === 3, FAST);
  expect([submitted, ...readers].map(each => each.answered())).toEqual([undefined, undefined, undefined]);
  await standby.start();
  await expect(submitted.answer).resolves.toMatchObject({status: 202});
  for (const {answer} of readers) {
    await expect(answer).resolves.toMatchObject({
      status: 200,
      body: {messages: [{message: 'first'}, {message: 'hello'}]},
    });
  }
});

// attack: many-pods
test('without a standby, pods still share the limits of what is waiting', async () => {
  const config = {limits: {account: {requestsPerSecond: 1}}}; // so that each request counts for a second
  const strict = await started(startReadyPod(primary, {config, database, postgres: {writers: 1}}));
  try {
    await standby.stop();
    const readers = Array.from({length: 8}, () => pod.service.account()); // enough for both connections that read
    const reads = readers.map(each => pending(strict.client.get(each.key, '/messages')));
    const seen = new Set<unknown>();
    const areShared = async () => {
      const used = await primary.query('SELECT account FROM nameplate.usage', database);
      for (const each of used) seen.add(each.account);
      return readers.every(({name}) => seen.has(name));
    };
    await until('all reads are shared', areShared, FAST);
    expect(reads.map(each => each.answered())).toEqual(reads.map(() => undefined));
    await standby.start();
    for (const {answer} of reads) await expect(answer).resolves.toMatchObject({status: 200});
  } finally {
    await stopped(strict);
    pods.pop();
  }
});

// attack: many-pods
test('a list waits for what it omits, too: an ack that a failover could lose', async () => {
  const [{id, lease}] = (await client.post(key, '/messages/claim')).body.messages;
  await standby.stop();
  const acknowledged = pending(client.post(key, `/messages/${id}/ack`, {lease}));
  await until('its commit waits', async () => (await primary.waiting()).length === 1, FAST);
  const leased = pending(other.get(key, '/messages?status=leased'));
  await until('the list waits, too', async () => (await primary.waiting()).length === 2, FAST);
  expect(leased.answered()).toBeUndefined();
  await standby.start();
  await expect(leased.answer).resolves.toMatchObject({status: 200, body: {messages: []}});
  await expect(acknowledged.answer).resolves.toMatchObject({status: 200});
});

test('one pod’s wait for the standby does not keep another pod from storing messages', async () => {
  const submitted = await submitWithoutStandby();
  const further = pending(submit(other, 'hello', 'other'));
  await until('both wait at the same time', async () => (await primary.waiting()).length === 2, FAST);
  expect([submitted, further].map(each => each.answered())).toEqual([undefined, undefined]);
  await standby.start();
  for (const {answer} of [submitted, further]) await expect(answer).resolves.toMatchObject({status: 202});
});

// attack: many-pods
test('a read is answered only once the standby has what it shows, even if the writer’s wait was canceled', async () => {
  const submitted = await submitWithoutStandby();
  const [waiting] = await primary.waiting();
  await primary.query(`SELECT pg_cancel_backend(${waiting})`);
  await expect(submitted.answer).resolves.toMatchObject(unknown);
  const read = pending(other.get(key, '/messages'));
  await until('the read and the new connection wait', async () => (await primary.waiting()).length === 2, FAST);
  expect(read.answered()).toBeUndefined();
  await standby.start();
  await expect(read.answer).resolves.toMatchObject({body: {messages: [{message: 'first'}, {message: 'hello'}]}});
});

test('a commit that no standby confirms in time has an unknown outcome, and can be repeated', async () => {
  const submitted = await submitWithoutStandby('same');
  await until('it is answered', submitted.answered);
  await expect(submitted.answer).resolves.toMatchObject(unknown);
  await expect(submit(client, 'hello', 'same')).resolves.toMatchObject(unavailable);
  await until('a new connection waits, too', async () => (await primary.waiting()).length === 2, FAST);
  await standby.start();
  const repeated = await until('it is stored', async () => {
    const answer = await submit(client, 'hello', 'same');
    return answer.status === 202 ? answer : undefined;
  });
  expect(repeated.headers['idempotency-replayed']).toBe('true');
});

test.each(['pg_cancel_backend', 'pg_terminate_backend'])('a wait ended by %s is no success', async how => {
  const submitted = await submitWithoutStandby();
  const [waiting] = await primary.waiting();
  await primary.query(`SELECT ${how}(${waiting})`);
  await expect(submitted.answer).resolves.toMatchObject(unknown);
});

test('a repeated request is answered only once its message is on the standby', async () => {
  const submitted = await submitWithoutStandby('same');
  const [waiting] = await primary.waiting();
  await primary.query(`SELECT pg_cancel_backend(${waiting})`);
  await expect(submitted.answer).resolves.toMatchObject(unknown);
  const repeated = pending(submit(other, 'hello', 'same'));
  await until('both pods wait', async () => (await primary.waiting()).length === 2, FAST);
  expect(repeated.answered()).toBeUndefined();
  await standby.start();
  await expect(repeated.answer).resolves.toMatchObject({status: 202, headers: {'idempotency-replayed': 'true'}});
});

test('a repeated ack is answered only once the first one is on the standby', async () => {
  const [{id, lease}] = (await client.post(key, '/messages/claim')).body.messages;
  const ack = (to: Client) => to.post(key, `/messages/${id}/ack`, {lease});
  await standby.stop();
  const acknowledged = ack(client);
  const waitingNow = async () => {
    const found = await primary.waiting();
    return found.length > 0 ? found : undefined;
  };
  const [waiting] = await until('its commit waits', waitingNow, FAST);
  await primary.query(`SELECT pg_cancel_backend(${waiting})`);
  await expect(acknowledged).resolves.toMatchObject(unknown);
  const repeated = pending(ack(other));
  await until('both pods wait', async () => (await primary.waiting()).length === 2, FAST);
  expect(repeated.answered()).toBeUndefined();
  await standby.start();
  await expect(repeated.answer).resolves.toMatchObject({status: 200, body: {status: 'done'}});
});

test('after the primary restarted alone, nothing is read until the standby has what it shows', async () => {
  const submitted = await submitWithoutStandby('a');
  await primary.kill();
  await expect(submitted.answer, 'the connection was lost after COMMIT').resolves.toMatchObject(unknown);
  await primary.start();
  await until('every connection waits', async () => (await primary.waiting()).length === 10);
  const shown = await primary.query(
    `SELECT count(*)::int AS count FROM nameplate.messages WHERE account = '${account}'`,
    database,
  );
  expect(shown, 'the primary itself shows it').toEqual([{count: 2}]);
  for (const each of [client, other]) {
    await expect(each.get(key, '/messages')).resolves.toMatchObject(unavailable);
    await expect(submit(each, 'hello', 'a'), 'a repeated request').resolves.toMatchObject(unavailable);
  }
  expect(await readyz()).toContain('no standby has confirmed it yet');
  await standby.start();
  await until('it can be read', async () => (await client.get(key, '/messages')).status === 200);
  await expect(submit(client, 'hello', 'a')).resolves.toMatchObject({headers: {'idempotency-replayed': 'true'}});
  const {body} = await client.get(key, '/messages');
  expect(body.messages).toHaveLength(2);
});

test('emptying synchronous_standby_names ends the waits, but acknowledges nothing, nor does filling it again', async () => {
  const submitted = await submitWithoutStandby();
  await primary.configure({synchronous_standby_names: `''`});
  await expect(submitted.answer).resolves.toMatchObject(unknown);
  await expect(submit(client, 'hello', 'b')).resolves.toMatchObject(unavailable);
  await expect(client.get(key, '/messages'), 'it is on no standby').resolves.toMatchObject(unavailable);
  await until('it is not ready', async () => (await readyz()).includes('synchronous_standby_names is empty'));
  // It decides for all sessions whether they wait, so they do not wait yet.
  const [row] = await primary.query(`SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'`);
  process.kill(Number(row?.pid), 'SIGSTOP');
  try {
    await primary.configure({synchronous_standby_names: NAMES});
    const judged = /pg_stat_replication shows none that has|\[\+\]store ok/;
    await until('it has judged its first commit', async () => judged.test(await readyz()));
    await expect(client.get(key, '/messages'), 'it is on no standby').resolves.toMatchObject(unavailable);
    await expect(submit(client, 'hello', 'b')).resolves.toMatchObject(unavailable);
  } finally {
    process.kill(Number(row?.pid), 'SIGCONT');
  }
  await standby.start();
  await until('it accepts messages again', async () => (await submit(client, 'hello', 'b')).status === 202);
});

test('emptying synchronous_standby_names and filling it again during one wait starts another', async () => {
  const submitted = await submitWithoutStandby();
  const [pid = 0] = await primary.waiting();
  const waitsSince = async () => {
    const [found] = await primary.query(
      `SELECT query_start::text AS start FROM pg_stat_activity WHERE pid = ${pid} AND wait_event = 'SyncRep'`,
    );
    return found?.start;
  };
  const first = await waitsSince();
  process.kill(pid, 'SIGSTOP');
  try {
    const read = pending(other.get(key, '/messages'));
    await until('a read waits, too', async () => (await primary.waiting()).length === 2, FAST);
    await primary.configure({synchronous_standby_names: `''`});
    await expect(read.answer, 'all waits have ended').resolves.toMatchObject(unavailable);
    await primary.configure({synchronous_standby_names: NAMES});
    await until('new sessions wait', async () => (await primary.waiting()).some(each => each !== pid), FAST);
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  await until('it waits again', async () => ![undefined, first].includes(await waitsSince()), FAST);
  expect(submitted.answered()).toBeUndefined();
  await standby.start();
  await expect(submitted.answer).resolves.toMatchObject({status: 202});
});

test('emptying synchronous_standby_names under load: the standby has all that was acknowledged', async () => {
  const acknowledged: string[] = [];
  let running = true;
  const writing = async (to: Client, name: string) => {
    for (let n = 0; running; n++) {
      const {status, body} = await submit(to, 'hello', `${name}-${n}`);
      if (status === 202) acknowledged.push(body.id);
      else expect(status).toBe(503);
    }
  };
  const writers = Array.from({length: 16}, (_, n) => writing(n % 2 === 0 ? client : other, `${n}`));
  await until('many are acknowledged', () => acknowledged.length > 100);
  await standby.stop();
  await until('both pods wait', async () => (await primary.waiting()).length >= 2);
  await primary.configure({synchronous_standby_names: `''`});
  for (const each of pods) {
    await until('it is not ready', async () => (await readyz(each)).includes('synchronous_standby_names is empty'));
  }
  running = false;
  await Promise.all(writers);
  await primary.kill(); // the standby gets nothing more
  await standby.start();
  await until('the standby shows all that was acknowledged', async () => {
    const found = await standby.query(`SELECT 'msg_' || id AS id FROM nameplate.messages`, database);
    const ids = new Set(found.map(({id}) => id));
    return acknowledged.every(id => ids.has(id));
  });
  await primary.start();
});

test('a pod whose URI names the standby is not ready', async () => {
  const lost = await started(startPod(standby, {database, postgres: {writers: 1}}));
  await until('it says why', async () => (await readyz(lost)).includes('the server is a standby'));
  await expect(lost.client.get(key, '/messages')).resolves.toMatchObject(unavailable);
  await stopped(lost);
  pods.pop();
});

test('a connection lost before COMMIT: nothing was stored, and the answer says so', async () => {
  const locking = primary.query(
    `BEGIN; SELECT * FROM nameplate.accounts FOR UPDATE; SELECT pg_sleep(60); COMMIT`,
    database,
  );
  locking.catch(() => {}); // ended below
  const sessions = (condition: string) =>
    primary.query(`SELECT pid FROM pg_stat_activity WHERE datname = '${database}' AND ${condition}`);
  await until('the row is locked', async () => (await sessions(`wait_event = 'PgSleep'`)).length === 1);
  const submitted = submit(client, 'second', 'b');
  const [{pid} = {}] = await until('the message waits for it', async () => {
    const found = await sessions(`wait_event_type = 'Lock'`);
    return found.length > 0 ? found : undefined;
  });
  await primary.query(`SELECT pg_terminate_backend(${pid})`);
  await expect(submitted).resolves.toMatchObject(unavailable);
  await primary.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'`);
  await until('it is connected again', async () => (await readyz()).includes('[+]store ok'));
  const {body} = await client.get(key, '/messages');
  expect(body.messages.map(({message}: {message: string}) => message)).toEqual(['first']);
});
