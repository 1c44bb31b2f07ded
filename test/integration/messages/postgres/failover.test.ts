/**
 * Three servers with a promoter, three pods, and clients that retry. No matter what is killed, no acknowledged message
 * is lost, duplicated, or changed, no answered ack is lost, and nothing that anybody saw disappears. SOAK=1: 100
 * rounds. As root, each server and each pod has its own network namespace.
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
import {createNetwork, type Machine, type Network} from './network.ts';
import {failOver} from './promoter.ts';
import {type Postgres, startPostgres} from './server.ts';
import {startPod} from './service.ts';

const ROUNDS = process.env.SOAK ? 100 : 3;
const NUMBERS = {writers: 6, readers: 3, workers: 2};
const SERVERS = ['first', 'second', 'third'] as const;
const PODS = ['one', 'two', 'three'] as const;
const {key} = accountOf(0);

interface Pod {
  readonly name: (typeof PODS)[number];
  readonly service: Service;
  readonly client: Client;
}

let network: Network<(typeof SERVERS | typeof PODS)[number]> | undefined;
/** The machine of each server. */
const machines = new Map<Postgres, Machine | undefined>();
let root: Postgres;
let primary: Postgres;
let standbys: Postgres[] = [];
let database: string;
/** Like the primary's Service: each connection reads the address again. */
let address: string;
let load: Clients;
const pods: Pod[] = [];
const promises = new Promises();

beforeAll(async () => {
  if (process.getuid?.() === 0) network = await createNetwork([...SERVERS, ...PODS]);
  const machineOf = (name: (typeof SERVERS)[number]) => network?.machines[name];
  root = await startPostgres({wal_receiver_timeout: '3s', wal_sender_timeout: '3s'}, machineOf('first'));
  machines.set(root, machineOf('first'));
  primary = root;
  standbys = [await newStandby('second', machineOf('second')), await newStandby('third', machineOf('third'))];
  for (const each of [root, ...standbys]) await each.configure({synchronous_standby_names: `'ANY 1 (*)'`});
  database = await root.createDatabase();
  address = join(await temporaryFolder(), 'uri');
  await writeFile(address, root.uri(database));
  for (const name of PODS) pods.push(await startOne(name));
});
afterAll(async () => {
  for (const {service, client} of pods) {
    client.close();
    await service.stop();
  }
  await Promise.all([primary, ...standbys].map(each => each?.stop()));
  await root?.remove();
  await network?.remove();
  await removeFolders();
});

async function newStandby(name: string, machine: Machine | undefined): Promise<Postgres> {
  const standby = await primary.standby(name, machine);
  machines.set(standby, machine);
  return standby;
}

async function startOne(name: (typeof PODS)[number]): Promise<Pod> {
  const {wrapper = [], fromTest = '127.0.0.1'} = network?.machines[name] ?? {};
  const service = await startPod(root, {database, postgres: {uriFile: address, writers: 2}, wrapper});
  const client = await createClient(`http://${fromTest}:${service.port}`);
  await until('it serves', async () => (await client.get(key, '/messages?limit=1')).status === 200, {intervalMs: 20});
  return {name, service, client};
}

const any = <T>(all: readonly T[]): T => all[randomInt(all.length)] as T;

/**
 * One of the standbys lags behind, so that only the other one has the last acknowledged messages. Returns how long the
 * pods then took, without the promotion, which is the platform's work.
 */
async function killPrimary(round: number): Promise<number> {
  const [, behind] = standbys;
  await behind?.follow(undefined);
  await load.more(50);
  const dead = primary;
  await dead.kill();
  const before = load.counts.acknowledged;
  primary = await failOver(standbys);
  const promotedAt = performance.now();
  await writeFile(address, primary.uri(database));
  await until('it serves', () => load.counts.acknowledged > before + NUMBERS.writers, {intervalMs: 10});
  const took = performance.now() - promotedAt;
  // The former primary may have more WAL than the new one, so it restarts from a copy.
  await dead.discard();
  standbys = [...standbys.filter(each => each !== primary), await newStandby(`again-${round}`, machines.get(dead))];
  return took;
}

async function killStandby(): Promise<void> {
  const standby = any(standbys);
  await standby.kill();
  await load.more(50); // the other one confirms
  await expect(failOver(standbys), 'the one that answers may lack what was acknowledged').rejects.toThrow('no quorum');
  await standby.start();
}

async function killPod(): Promise<void> {
  const index = randomInt(pods.length);
  const {name, service, client} = pods[index] as Pod;
  await service.kill();
  client.close();
  await load.more(20);
  pods[index] = await startOne(name);
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
    console.info(`Served after a promotion: ${took.map(ms => `${(ms / 1000).toFixed(1)} s`).join(', ')}`);
  },
  120_000 + ROUNDS * 60_000,
);
