/**
 * Three servers under a promoter, three pods, and clients that retry: whatever is killed, no acknowledged message is
 * lost, twice, or changed, no answered ack is lost, and what anybody saw stays. SOAK=1: 100 rounds.
 */
import {randomInt} from 'node:crypto';
import {writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {until} from '../../../cluster/wait.ts';
import {type Client, createClient} from '../client.ts';
import {listAllMessages} from '../load.ts';
import {accountOf, removeFolders, type Service, temporaryFolder} from '../service.ts';
import {Clients, Promises} from './clients.ts';
import {failOver} from './promoter.ts';
import {type Postgres, startPostgres} from './server.ts';
import {startReadyPod} from './service.ts';

const ROUNDS = process.env.SOAK ? 100 : 3;
const NUMBERS = {writers: 6, readers: 3, workers: 2};
const SERVES_WITHIN_MS = 10_000;
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
let load: Clients;
const pods: Pod[] = [];
const promises = new Promises();

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

/** One of the standbys lags behind, so that only the other one has what was acknowledged last. */
async function killPrimary(round: number): Promise<number> {
  const [, behind] = standbys;
  await behind?.follow(undefined);
  await load.more(50);
  const began = performance.now();
  const dead = primary;
  await dead.kill();
  const before = load.counts.acknowledged;
  primary = await failOver(standbys);
  await writeFile(address, primary.uri(database));
  await until('it serves', () => load.counts.acknowledged > before + NUMBERS.writers, {intervalMs: 10});
  const took = performance.now() - began;
  // The former primary may have more WAL than the new one, so it starts from a copy.
  await dead.discard();
  standbys = [...standbys.filter(each => each !== primary), await primary.standby(`again-${round}`)];
  return took;
}

async function killStandby(): Promise<void> {
  const standby = any(standbys);
  await standby.kill();
  await load.more(50); // The other one confirms.
  await expect(failOver(standbys), 'the one that answers may lack what was acknowledged').rejects.toThrow('no quorum');
  await standby.start();
}

async function killPod(): Promise<void> {
  const index = randomInt(pods.length);
  const pod = pods[index];
  await pod?.service.kill();
  pod?.client.close();
  await load.more(20);
  pods[index] = await startOne();
}

test(
  `${ROUNDS} times, the primary, a standby, and a pod are killed: none lost, none twice, none changed, and no read is stale`,
  async () => {
    load = new Clients({name: 'load', key, promises, pods: () => pods.map(({client}) => client)}, NUMBERS);
    const took: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      await load.more(randomInt(50, 200));
      took.push(await killPrimary(round));
      await load.more(50);
      await killStandby();
      await killPod();
    }
    await load.more(50);
    await load.stop();
    const {history, ids, done} = promises;
    expect(history.violations().slice(0, 10)).toEqual([]);
    const listed = await listAllMessages(any(pods).client, key);
    const found = new Map(listed.map(({message, id}) => [message, id]));
    for (const [message, id] of ids) expect(found.get(message), message).toBe(id);
    expect(listed).toHaveLength(found.size);
    expect(ids.size).toBeGreaterThan(ROUNDS * 100);
    expect(done.size, 'acknowledged by workers').toBeGreaterThan(ROUNDS * 10);
    expect(listed.filter(({id, status}) => done.has(id) && status !== 'done')).toEqual([]);
    expect(Math.max(...took)).toBeLessThan(SERVES_WITHIN_MS);
  },
  120_000 + ROUNDS * 60_000,
);
