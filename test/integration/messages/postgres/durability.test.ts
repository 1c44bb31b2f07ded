/** What an answer promises, with a primary and one synchronous standby: it is on both, or it is not promised. */
import {randomUUID} from 'node:crypto';
import {afterAll, afterEach, beforeAll, beforeEach, expect, test} from 'vitest';
import {until} from '../../../cluster/wait.ts';
import {type Client, createClient, type MessagesAnswer} from '../client.ts';
import {accountOf, removeFolders, type Service} from '../service.ts';
import {type Postgres, startPostgres} from './server.ts';
import {startPod, startReadyPod} from './service.ts';

const {key} = accountOf(0);
const NAMES = `'ANY 1 (standby)'`;
let primary: Postgres;
let standby: Postgres;
let database: string;
const pods: {readonly service: Service; readonly client: Client}[] = [];

beforeAll(async () => {
  primary = await startPostgres();
  standby = await primary.standby('standby');
  await primary.configure({synchronous_standby_names: NAMES});
});
beforeEach(async () => {
  database = await primary.createDatabase();
});
afterEach(async () => {
  await primary.configure({synchronous_standby_names: NAMES});
  await standby.start();
  for (const {client, service} of pods.splice(0)) {
    client.close();
    await service.stop();
  }
});
afterAll(async () => {
  await primary.remove();
  await removeFolders();
});

async function pod(): Promise<Client> {
  const service = await startReadyPod(primary, {database, postgres: {writers: 1}});
  const client = await createClient(service.url);
  pods.push({service, client});
  await submit(client, 'first', 'first'); // An account's first message has a commit more.
  return client;
}

const readyz = async () => (await pods[0]?.service.operations('/readyz'))?.body;
const submit = (client: Client, message: string, idempotencyKey: string) =>
  client.submit(key, message, {'idempotency-key': idempotencyKey});

interface Pending {
  readonly answer: Promise<MessagesAnswer>;
  readonly answered: () => MessagesAnswer | undefined;
}

function pending(answer: Promise<MessagesAnswer>): Pending {
  let got: MessagesAnswer | undefined;
  void answer.then(each => {
    got = each;
  });
  return {answer, answered: () => got};
}

/** A message whose COMMIT waits for the standby, which is away. */
async function submitWithoutStandby(client: Client, idempotencyKey: string = randomUUID()): Promise<Pending> {
  await standby.stop();
  const submitted = pending(submit(client, 'hello', idempotencyKey));
  await until('its commit waits', async () => (await primary.waiting()).length > 0);
  return submitted;
}

const unknown = {status: 503, body: {code: 'outcome_unknown'}, headers: {'retry-after': '1'}};
const unavailable = {status: 503, body: {code: 'unavailable'}};

test('an acknowledged message is on the standby', async () => {
  const client = await pod();
  const {status, body} = await submit(client, 'hello', 'a');
  expect(status).toBe(202);
  await until('the standby has replayed it', async () => {
    const rows = await standby.query(`SELECT 1 FROM nameplate.messages WHERE 'msg_' || id = '${body.id}'`, database);
    return rows.length === 1;
  });
});

test('without a standby, nothing is acknowledged until it is back', async () => {
  const client = await pod();
  const submitted = await submitWithoutStandby(client);
  const read = await client.get(key, '/messages');
  expect(read, 'reading continues, and shows no message that nobody has promised').toMatchObject({
    status: 200,
    body: {messages: [{message: 'first'}]},
  });
  expect(submitted.answered()).toBeUndefined();
  await standby.start();
  await expect(submitted.answer).resolves.toMatchObject({status: 202});
});

test('a commit that no standby confirms in time has an unknown outcome, and can be repeated', async () => {
  const client = await pod();
  const submitted = await submitWithoutStandby(client, 'same');
  await expect(submitted.answer).resolves.toMatchObject(unknown);
  await expect(submit(client, 'hello', 'same')).resolves.toMatchObject(unavailable);
  await until('a new connection waits, too', async () => (await primary.waiting()).length === 2);
  await standby.start();
  const repeated = await until('it is stored', async () => {
    const answer = await submit(client, 'hello', 'same');
    return answer.status === 202 ? answer : undefined;
  });
  expect(repeated.headers['idempotency-replayed']).toBe('true');
});

test.each(['pg_cancel_backend', 'pg_terminate_backend'])('a wait ended by %s is no success', async how => {
  await primary.query('ALTER ROLE app SET client_min_messages = error');
  const client = await pod();
  await primary.query('ALTER ROLE app RESET client_min_messages');
  const submitted = await submitWithoutStandby(client);
  const [waiting] = await primary.waiting();
  await primary.query(`SELECT ${how}(${waiting})`);
  await expect(submitted.answer).resolves.toMatchObject(unknown);
});

test('a repeated request is answered only once its message is on the standby', async () => {
  const [first, second] = [await pod(), await pod()];
  const submitted = await submitWithoutStandby(first, 'same');
  const [waiting] = await primary.waiting();
  await primary.query(`SELECT pg_cancel_backend(${waiting})`);
  await expect(submitted.answer).resolves.toMatchObject(unknown);
  const repeated = pending(submit(second, 'hello', 'same'));
  await until('both pods wait', async () => (await primary.waiting()).length === 2);
  expect(repeated.answered()).toBeUndefined();
  await standby.start();
  await expect(repeated.answer).resolves.toMatchObject({status: 202, headers: {'idempotency-replayed': 'true'}});
});

test('a repeated ack is answered only once the first one is on the standby', async () => {
  const [first, second] = [await pod(), await pod()];
  const [{id, lease}] = (await first.post(key, '/messages/claim')).body.messages;
  const ack = (client: Client) => client.post(key, `/messages/${id}/ack`, {lease});
  await standby.stop();
  const acknowledged = ack(first);
  const [waiting] = await until('its commit waits', async () => {
    const found = await primary.waiting();
    return found.length > 0 ? found : undefined;
  });
  await primary.query(`SELECT pg_cancel_backend(${waiting})`);
  await expect(acknowledged).resolves.toMatchObject(unknown);
  const repeated = pending(ack(second));
  await until('both pods wait', async () => (await primary.waiting()).length === 2);
  expect(repeated.answered()).toBeUndefined();
  await standby.start();
  await expect(repeated.answer).resolves.toMatchObject({status: 200, body: {status: 'done'}});
});

test('after the primary restarted alone, nothing is read until the standby has what it shows', async () => {
  const client = await pod();
  const submitted = await submitWithoutStandby(client, 'a');
  await primary.kill();
  await expect(submitted.answer, 'the connection was lost after COMMIT').resolves.toMatchObject(unknown);
  await primary.start();
  await until('every connection waits', async () => (await primary.waiting()).length === 4);
  const shown = await primary.query('SELECT count(*)::int AS count FROM nameplate.messages', database);
  expect(shown, 'the primary itself shows it').toEqual([{count: 2}]);
  await expect(client.get(key, '/messages')).resolves.toMatchObject(unavailable);
  expect(await readyz()).toContain('no standby has confirmed it yet');
  await standby.start();
  await until('it can be read', async () => (await client.get(key, '/messages')).status === 200);
  await expect(submit(client, 'hello', 'a')).resolves.toMatchObject({headers: {'idempotency-replayed': 'true'}});
  const {body} = await client.get(key, '/messages');
  expect(body.messages).toHaveLength(2);
});

test('emptying synchronous_standby_names ends the waits, but acknowledges nothing', async () => {
  const client = await pod();
  const submitted = await submitWithoutStandby(client);
  await primary.configure({synchronous_standby_names: `''`});
  await expect(submitted.answer).resolves.toMatchObject(unknown);
  await expect(submit(client, 'hello', 'b')).resolves.toMatchObject(unavailable);
  await expect(client.get(key, '/messages'), 'it is on no standby').resolves.toMatchObject(unavailable);
  await until('it is not ready', async () => (await readyz())?.includes('synchronous_standby_names is empty'));
  await primary.configure({synchronous_standby_names: NAMES});
  await standby.start();
  await until('it takes messages again', async () => (await submit(client, 'hello', 'b')).status === 202);
});

test('a configuration that was loaded during the wait does not matter, if the names are still there', async () => {
  const client = await pod();
  const submitted = await submitWithoutStandby(client);
  await primary.configure({work_mem: `'8MB'`});
  await standby.start();
  await expect(submitted.answer).resolves.toMatchObject({status: 202});
});

test('a pod whose URI names the standby is not ready', async () => {
  const service = await startPod(standby, {database, postgres: {writers: 1}});
  const client = await createClient(service.url);
  pods.push({service, client});
  await until('it says why', async () => (await readyz())?.includes('the server is a standby'));
  await expect(client.get(key, '/messages')).resolves.toMatchObject(unavailable);
});

test('a connection lost before COMMIT: nothing was stored, and the answer says so', async () => {
  const client = await pod();
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
  await until('it is connected again', async () => (await readyz())?.includes('[+]store ok'));
  const {body} = await client.get(key, '/messages');
  expect(body.messages.map(({message}: {message: string}) => message)).toEqual(['first']);
});
