/**
 * Three servers under a promoter, three pods, and clients that retry: whatever is killed, no acknowledged message is
 * lost, twice, or changed, and what anybody saw stays. SOAK=1: 100 rounds.
 */
import {randomInt} from 'node:crypto';
import {writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {setTimeout as delay} from 'node:timers/promises';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {until} from '../../../cluster/wait.ts';
import {type Client, createClient} from '../client.ts';
import {History} from '../history.ts';
import {listAllMessages} from '../load.ts';
import {accountOf, removeFolders, type Service, temporaryFolder} from '../service.ts';
import {failOver} from './promoter.ts';
import {type Postgres, startPostgres} from './server.ts';
import {startReadyPod} from './service.ts';

const ROUNDS = process.env.SOAK ? 100 : 3;
const WRITERS = 6;
const READERS = 3;
const SERVES_WITHIN_MS = 10_000;
/** How long clients back off. */
const RETRY_MS = 50;
const BEFORE_ALL = 'msg_0';
const {key} = accountOf(0);

interface Pod {
  readonly service: Service;
  readonly client: Client;
}

let root: Postgres;
let primary: Postgres;
let standbys: Postgres[];
let database: string;
/** As the Service of the primary: connections read the address anew. */
let address: string;
const pods: Pod[] = [];
const history = new History();
const ids = new Map<string, string>();
let stored = 0;
let running = true;

beforeAll(async () => {
  root = await startPostgres({wal_receiver_timeout: '3s', wal_sender_timeout: '3s'});
  primary = root;
  standbys = [await root.standby('second'), await root.standby('third')];
  for (const each of [root, ...standbys]) await each.configure({synchronous_standby_names: `'ANY 1 (*)'`});
  database = await root.createDatabase();
  address = join(await temporaryFolder(), 'uri');
  await writeFile(address, root.uri(database));
  for (let n = 0; n < 3; n++) pods.push(await startOne());
});
afterAll(async () => {
  for (const {service, client} of pods) {
    client.close();
    await service.stop();
  }
  await Promise.all([primary, ...standbys].map(each => each.stop()));
  await root.remove();
  await removeFolders();
});

async function startOne(): Promise<Pod> {
  const service = await startReadyPod(root, {database, postgres: {uriFile: address, writers: 2}});
  return {service, client: await createClient(service.url)};
}

const any = <T>(all: readonly T[]): T => all[randomInt(all.length)] as T;

/** Each message until it is acknowledged, by whichever pod. */
async function writing(writer: number): Promise<void> {
  for (let n = 0; running; n++) {
    const message = `${writer}-${n}`;
    for (let acknowledged = false; !acknowledged; ) {
      const began = performance.now();
      history.submitted(message, began);
      const answer = await any(pods)
        .client.submit(key, message, {'idempotency-key': message})
        .catch(() => undefined);
      if (answer?.status !== 202) {
        if (answer) expect(answer.status, answer.text).toBe(503);
        await delay(RETRY_MS);
        continue;
      }
      acknowledged = true;
      stored += 1;
      ids.set(message, answer.body.id);
      history.shown(message, answer.body.id, {began, ended: performance.now()});
    }
  }
}

/** Alternately one message, and the newest of the list. */
async function reading(): Promise<void> {
  while (running) {
    const {client} = any(pods);
    const known = [...ids].slice(-50);
    const [message, id] = known.length === 0 ? [] : any(known);
    const began = performance.now();
    if (message !== undefined) {
      const one = await client.get(key, `/messages/${id}`).catch(() => undefined);
      const span = {began, ended: performance.now()};
      if (one?.status === 200) history.shown(one.body.message, one.body.id, span);
      if (one?.status === 404) history.missed(message, span);
    }
    const after = id ?? BEFORE_ALL;
    const query = id === undefined ? '' : `&cursor=${id}`;
    const list = {
      began: performance.now(),
      answer: await client.get(key, `/messages?limit=100${query}`).catch(() => undefined),
    };
    if (list.answer?.status !== 200) {
      await delay(RETRY_MS);
      continue;
    }
    const span = {began: list.began, ended: performance.now()};
    const {messages, nextCursor} = list.answer.body as {
      messages: {id: string; message: string}[];
      nextCursor: string | null;
    };
    for (const each of messages) history.shown(each.message, each.id, span);
    history.page({...span, after, upTo: nextCursor ?? undefined, ids: new Set(messages.map(each => each.id))});
  }
}

const more = (count: number, from = stored) => until('more messages are acknowledged', () => stored >= from + count);

async function killPrimary(round: number): Promise<number> {
  const began = performance.now();
  await primary.kill();
  const before = stored;
  primary = await failOver(standbys);
  await writeFile(address, primary.uri(database));
  await until('it serves', () => stored > before + WRITERS, {intervalMs: 10});
  const took = performance.now() - began;
  // The former primary may have more WAL than the new one, so it starts from a copy.
  standbys = [...standbys.filter(each => each !== primary), await primary.standby(`again-${round}`)];
  return took;
}

async function killStandby(): Promise<void> {
  const standby = any(standbys);
  await standby.kill();
  await more(50); // The other one confirms.
  await standby.start();
}

async function killPod(): Promise<void> {
  const index = randomInt(pods.length);
  const pod = pods[index];
  await pod?.service.kill();
  pod?.client.close();
  await more(20);
  pods[index] = await startOne();
}

test(
  `${ROUNDS} times, the primary, a standby, and a pod are killed: none lost, none twice, none changed, and no read is stale`,
  async () => {
    const clients = [
      ...Array.from({length: WRITERS}, (_, writer) => writing(writer)),
      ...Array.from({length: READERS}, () => reading()),
    ];
    const took: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      await more(randomInt(50, 200));
      took.push(await killPrimary(round));
      await more(50);
      await killStandby();
      await killPod();
    }
    await more(50);
    running = false;
    await Promise.all(clients);
    expect(history.violations().slice(0, 10)).toEqual([]);
    const {client} = any(pods);
    const listed = await listAllMessages(client, key);
    expect(new Map(listed.map(({message, id}) => [message, id]))).toEqual(ids);
    expect(listed).toHaveLength(ids.size);
    expect(ids.size).toBeGreaterThan(ROUNDS * 100);
    expect(Math.max(...took)).toBeLessThan(SERVES_WITHIN_MS);
  },
  120_000 + ROUNDS * 60_000,
);
