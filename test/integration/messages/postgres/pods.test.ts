/** Many pods share one database: they agree, and an account's charge equals what it has stored. */
import {setTimeout as delay} from 'node:timers/promises';
import {afterAll, afterEach, beforeAll, expect, test} from 'vitest';
import {messageCost} from '../../../../src/messages/store/rules.ts';
import {until} from '../../../cluster/wait.ts';
import {type Client, createClient, type MessagesAnswer} from '../client.ts';
import {Ledger, listAllMessages, startLoad, submit} from '../load.ts';
import {metric} from '../raw.ts';
import {accountOf, removeFolders, type Service, type ServiceOptions} from '../service.ts';
import {type Postgres, startPostgres} from './server.ts';
import {startReadyPod} from './service.ts';

const YEAR_MS = 365 * 86_400_000;
const {key, name} = accountOf(0);
let server: Postgres;
const stops: (() => unknown)[] = [];

interface Pod {
  readonly service: Service;
  readonly client: Client;
}

beforeAll(async () => {
  server = await startPostgres();
});
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});
afterAll(async () => {
  await server.remove();
  await removeFolders();
});

async function startOne(database: string, options: Pick<ServiceOptions, 'config' | 'wrapper'>): Promise<Pod> {
  const service = await startReadyPod(server, {...options, database, postgres: {durability: 'storage'}});
  const client = await createClient(service.url);
  stops.push(() => client.close(), service.stop);
  return {service, client};
}

async function twoPods(database: string, config: NonNullable<ServiceOptions['config']> = {}): Promise<[Pod, Pod]> {
  return Promise.all([startOne(database, {config}), startOne(database, {config})]);
}

test('a cursor misses no message, whichever pod commits it', async () => {
  const pods = await twoPods(await server.createDatabase());
  const ledger = new Ledger();
  const loads = pods.map(({client}) => startLoad({client, key, ledger, clients: 16, workers: 0}));
  let stopped = false;
  const read: string[] = [];
  const tail = async () => {
    for (let isLast = false; !isLast; ) {
      isLast = stopped;
      for (const {client} of pods) {
        const {body} = await client.get(key, `/messages?limit=100${read.length > 0 ? `&cursor=${read.at(-1)}` : ''}`);
        read.push(...body.messages.map(({id}: {id: string}) => id));
        if (body.nextCursor !== null) isLast = false;
      }
    }
  };
  const tailing = tail();
  await ledger.more(600);
  await Promise.all(loads.map(load => load.stop()));
  stopped = true;
  await tailing;
  expect(read).toEqual(ledger.submissions.map(({id}) => id).sort());
});

/** The difference between an account's charge and what it has stored. */
const DIFFERENCE = `
  SELECT a.bytes - coalesce((SELECT sum(512 + 4 * octet_length(m.account) + m.bytes + coalesce(octet_length(m.reason), 0))
      FROM nameplate.messages m WHERE m.account = a.account), 0)
    - coalesce((SELECT sum(256 + 2 * (octet_length(k.account) + octet_length(k.key)))
      FROM nameplate.idempotency k WHERE k.account = a.account), 0) AS difference,
    a.bytes, (SELECT count(*) FROM nameplate.messages) AS messages, (SELECT count(*) FROM nameplate.bodies) AS bodies
  FROM nameplate.accounts a`;

// attack: many-pods
test('charges are what is stored at any time, while pods append, return, acknowledge, and delete', async () => {
  const database = await server.createDatabase();
  const pods = await twoPods(database, {retention: {doneSeconds: 0, deadSeconds: 0, idempotencySeconds: 1}});
  const ledger = new Ledger();
  const loads = pods.map(({client}) => startLoad({client, key, ledger, clients: 4, workers: 0}));
  let stopped = false;
  const work = async ({client}: Pod, index: number) => {
    while (!stopped) {
      const {messages} = (await client.post(key, '/messages/claim', {limit: 20, leaseSeconds: 3600})).body;
      for (const {id, lease, attempts} of messages) {
        const verb = index % 3 === 0 ? 'nack' : 'ack';
        const answer = await client.post(key, `/messages/${id}/${verb}`, {
          lease,
          ...(verb === 'nack' && {reason: '\u0000'.repeat(attempts * 10)}),
        });
        expect(answer.status, 'nobody else has claimed it').toBe(200);
      }
    }
  };
  const workers = Array.from({length: 6}, (_, index) => work(pods[index % 2] ?? pods[0], index));
  const isExact = async () => {
    const [row] = await server.query(DIFFERENCE, database);
    expect(row).toMatchObject({difference: '0'});
    return row;
  };
  await ledger.more(10);
  const before = ledger.more(500);
  let checks = 0;
  for (let done = false; !done; checks++) {
    done = await Promise.race([before.then(() => true), isExact().then(() => false)]);
  }
  await Promise.all(loads.map(load => load.stop()));
  await until('all is deleted', async () => (await isExact())?.messages === '0');
  stopped = true;
  await Promise.all(workers);
  expect(checks).toBeGreaterThan(5);
  await until('keys too', async () => (await isExact())?.bytes === '0');
  await expect(isExact()).resolves.toMatchObject({bodies: '0'});
});

// attack: many-pods
test('two pods together accept exactly as many messages of an account as its quota has room for', async () => {
  const storedBytes = 20 * messageCost({account: name, bytes: Buffer.byteLength('"x"'), reasonBytes: 0});
  const pods = await twoPods(await server.createDatabase(), {limits: {account: {storedBytes}}});
  const submitting = pods.flatMap(({client}) => Array.from({length: 32}, () => client.submit(key, 'x')));
  const answers = await Promise.all(submitting);
  expect(answers.filter(({status}) => status === 202)).toHaveLength(20);
  const refused = answers.filter(({status, body}) => status === 429 && body.code === 'quota_exceeded');
  expect(refused).toHaveLength(44);
});

const BODY = JSON.stringify({message: 'x'.repeat(9986)}); // 10,000 bytes
const LONG_ID = '00000000-0000-7000-8000-000000000000';
/** Each by two accounts of its own. `perSecond`: how many of them its limits allow. */
const uses: readonly {
  readonly policy: string;
  readonly perSecond: number;
  readonly use: (client: Client, key: string) => Promise<MessagesAnswer>;
}[] = [
  {policy: '"requests";q=20;w=1', perSecond: 20, use: (client, key) => client.get(key, '/messages?limit=1')},
  {
    policy: '"bytes";q=50000;w=1',
    perSecond: 5,
    use: (client, key) =>
      client.request('/messages', {method: 'POST', key, headers: {'content-type': 'application/json'}, body: BODY}),
  },
  {
    policy: '"bytes";q=50000;w=1',
    perSecond: 5,
    use: (client, key) => client.request('/messages', {method: 'POST', key, chunks: [BODY]}),
  },
  {
    policy: '"answer-bytes";q=2000000;w=1',
    perSecond: 10,
    use: (client, key) => client.get(key, `/messages/msg_${LONG_ID}`),
  },
];
/** For the last of them: its response has about 200,000 bytes. No POST with these limits could create it. */
const LONG = `
  INSERT INTO nameplate.messages (account, id, created_at, bytes)
  SELECT account, '${LONG_ID}', 1, 199802
  FROM (VALUES ('${accountOf(uses.length - 1).name}'), ('${accountOf(2 * uses.length - 1).name}')) AS of (account);
  INSERT INTO nameplate.bodies SELECT account, id, '"' || repeat('x', 199800) || '"' FROM nameplate.messages`;
/** A refused request may count, as a request or with the bytes of its response. So there must be few of them. */
const RETRY_MS = 200;

// attack: many-pods
test('pods share the limits of an account, and the rate is that of one', async () => {
  const account = {requestsPerSecond: 20, bytesPerSecond: 50_000, answerBytesPerSecond: 2_000_000, burstSeconds: 2};
  const database = await server.createDatabase();
  const pods = await twoPods(database, {limits: {bodyBytes: 20_000, account}});
  await server.query(LONG, database);
  /** Of the accounts that use both pods, and of those that use only one, with as many clients. */
  const passed = [...uses, ...uses].map(() => 0);
  const start = performance.now();
  let seconds = 0;
  const ask = async ({client}: Pod, index: number, {policy, use}: (typeof uses)[number]) => {
    for (; seconds < 8; seconds = (performance.now() - start) / 1000) {
      const {status, headers} = await use(client, accountOf(index).key);
      if (status < 300) {
        passed[index] = (passed[index] ?? 0) + 1;
        continue;
      }
      expect(headers['ratelimit-policy']).toBe(policy);
      await delay(RETRY_MS);
    }
  };
  const [first] = pods;
  const asking = pods.flatMap(pod =>
    uses.flatMap((use, index) => [ask(pod, index, use), ask(first, uses.length + index, use)]),
  );
  await Promise.all(asking);
  for (const [index, {perSecond, policy}] of uses.entries()) {
    const [ofBoth = 0, ofOne = 0] = [passed[index], passed[uses.length + index]];
    const allowed = perSecond * (seconds + 2);
    console.info(`${policy}: at both pods ${ofBoth}, at one ${ofOne}, allowed ${allowed.toFixed(0)}`);
    expect(ofBoth, policy).toBeLessThan(1.5 * allowed); // without sharing: twice
    expect(ofBoth, policy).toBeGreaterThan(ofOne / 2);
  }
});

test('a pod whose clock is a year ahead: times are those of the database', async () => {
  const database = await server.createDatabase();
  const preloaded = encodeURIComponent(`const {now} = Date; Date.now = () => now() + ${YEAR_MS};`);
  const wrapper = ['env', `NODE_OPTIONS=--import=data:text/javascript,${preloaded}`];
  const [right, wrong] = await Promise.all([startOne(database, {}), startOne(database, {wrapper})]);
  const submit = ({client}: Pod) => client.submit(key, 'one', {'idempotency-key': 'one'});
  const {body} = await submit(right);
  await expect(submit(wrong), 'the key is new').resolves.toMatchObject({headers: {'idempotency-replayed': 'true'}});
  const claim = ({client}: Pod) => client.post(key, '/messages/claim', {leaseSeconds: 3600});
  const [{lease}] = (await claim(right)).body.messages;
  await expect(claim(wrong), 'it is leased').resolves.toMatchObject({body: {messages: []}});
  const returned = await wrong.client.post(key, `/messages/${body.id}/nack`, {lease});
  expect(returned.status).toBe(200);
  const [again] = (await claim(wrong)).body.messages;
  await expect(claim(right), 'the lease of the other').resolves.toMatchObject({body: {messages: []}});
  await right.client.post(key, `/messages/${body.id}/ack`, {lease: again.lease});
  const ids = [
    body.id,
    (await wrong.client.submit(key, 'two')).body.id,
    (await right.client.submit(key, 'three')).body.id,
  ];
  const {messages} = (await wrong.client.get(key, '/messages')).body;
  expect(messages.map(({id}: {id: string}) => id)).toEqual(ids);
  for (const {createdAt} of messages) expect(Math.abs(Date.parse(createdAt) - Date.now())).toBeLessThan(YEAR_MS / 2);
});

/** A message and a key to delete, and a lease that ends the last attempt. */
const OVERDUE = `
  INSERT INTO nameplate.accounts VALUES ('overdue', 1e6) ON CONFLICT DO NOTHING;
  INSERT INTO nameplate.messages (account, id, created_at, finished_at, bytes, status)
  VALUES ('overdue', gen_random_uuid(), 1, 1, 10, 'done');
  INSERT INTO nameplate.messages (account, id, lease, created_at, lease_until, bytes, attempts, status)
  VALUES ('overdue', gen_random_uuid(), gen_random_uuid(), 1, 1, 10, 5, 'leased');
  INSERT INTO nameplate.idempotency VALUES ('overdue', 'key', '', gen_random_uuid(), 1)`;

test('one pod counts the backlog and sweeps; another does both once that one is gone', async () => {
  const database = await server.createDatabase();
  const pods = await twoPods(database);
  await submit(pods[0].client, key, new Ledger(), {message: 'one'});
  const counting = async () => {
    const texts = await Promise.all(pods.map(async ({service}) => (await service.operations('/metrics')).body));
    return pods.filter((_, index) => texts[index]?.includes('nameplate_messages_backlog{status="queued"} 1'));
  };
  const [keeper] = await until('the backlog is counted', async () => {
    const found = await counting();
    return found.length > 0 ? found : undefined;
  });
  const other = pods.find(pod => pod !== keeper);
  if (!keeper || !other) throw new Error('both count');
  const {body} = await other.service.operations('/metrics');
  expect(body).not.toMatch(/^nameplate_messages_(backlog\{|oldest_age_seconds |store_rows\{)/m);
  const sweptBy = ({service}: Pod) =>
    Promise.all(['deleted', 'leases_lapsed'].map(each => metric(service, `nameplate_messages_${each}_total`)));
  const expectSweepBy = async (pod: Pod) => {
    await server.query(OVERDUE, database);
    await until('the pod has swept', async () => (await sweptBy(pod)).every(count => count === 1));
    await expect(server.query('SELECT FROM nameplate.idempotency', database)).resolves.toHaveLength(1); // of `submit`
  };
  await expectSweepBy(keeper);
  await expect(sweptBy(other)).resolves.toEqual([0, 0]);
  await keeper.service.kill();
  pods.splice(pods.indexOf(keeper), 1);
  await until('the other pod counts', async () => (await counting()).length === 1);
  await expectSweepBy(other);
});

test('a pod killed under load: none lost, none twice, and another pod continues', async () => {
  const [first, second] = await twoPods(await server.createDatabase());
  const ledger = new Ledger();
  const loads = [first, second].map(({client}) => startLoad({client, key, ledger, clients: 12, workers: 2}));
  await ledger.more(200);
  await first.service.kill();
  await ledger.more(200);
  await Promise.all(loads.map(load => load.stop()));
  const before = new Map((await listAllMessages(second.client, key)).map(stored => [stored.id, stored]));
  const acknowledged = ledger.submissions.filter(({id}) => id !== undefined);
  expect(acknowledged.filter(({id = '', message}) => before.get(id)?.message !== message)).toEqual([]);
  for (const id of ledger.done) expect(before.get(id)?.status, 'an answered ack holds').toBe('done');
  for (const submission of ledger.unanswered) await submit(second.client, key, ledger, submission);
  const after = await listAllMessages(second.client, key);
  expect(after.map(({message}) => message).sort()).toEqual(ledger.submissions.map(({message}) => message).sort());
});
