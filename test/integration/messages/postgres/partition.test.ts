/**
 * The primary is cut off together with a pod and its clients, and the others continue with another primary. On the side
 * that was cut off, nothing is acknowledged, and no read misses what the other side has acknowledged.
 */
import {writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {until} from '../../../cluster/wait.ts';
import {type Client, createClient} from '../client.ts';
import {listAllMessages} from '../load.ts';
import {accountOf, removeFolders, type Service, temporaryFolder} from '../service.ts';
import {Clients, Promises} from './clients.ts';
import {createNetwork, type Network} from './network.ts';
import {failOver} from './promoter.ts';
import {type Postgres, startPostgres} from './server.ts';
import {startPod} from './service.ts';

const MACHINES = ['first', 'second', 'third', 'near', 'far'] as const;
const NUMBERS = {writers: 3, readers: 3, workers: 1};
const isRoot = process.getuid?.() === 0;
const {key} = accountOf(0);

interface Pod {
  readonly service: Service;
  readonly client: Client;
  /** The file with the address of its primary. */
  readonly address: string;
}

let network: Network<(typeof MACHINES)[number]>;
let primary: Postgres;
let standbys: Postgres[];
let database: string;
let near: Pod;
let far: Pod;

beforeAll(async () => {
  if (!isRoot) return;
  network = await createNetwork(MACHINES);
  const {first, second, third} = network.machines;
  primary = await startPostgres({wal_receiver_timeout: '3s', wal_sender_timeout: '3s'}, first);
  standbys = [await primary.standby('second', second), await primary.standby('third', third)];
  for (const each of [primary, ...standbys]) await each.configure({synchronous_standby_names: `'ANY 1 (*)'`});
  database = await primary.createDatabase();
  [near, far] = [await startOn('near'), await startOn('far')];
});
afterAll(async () => {
  if (!isRoot) return;
  for (const pod of [near, far]) {
    pod?.client.close();
    await pod?.service.stop();
  }
  await primary?.remove();
  await network?.remove();
  await removeFolders();
});

async function startOn(name: 'near' | 'far'): Promise<Pod> {
  const {wrapper, fromTest} = network.machines[name];
  const address = join(await temporaryFolder(), 'uri');
  await writeFile(address, primary.uri(database));
  const service = await startPod(primary, {database, postgres: {uriFile: address}, wrapper});
  const client = await createClient(`http://${fromTest}:${service.port}`);
  await until('it serves', async () => (await client.get(key, '/messages')).status === 200);
  return {service, client, address};
}

test.runIf(isRoot)(
  'the primary is cut off with its clients: nothing is acknowledged or shown there until they reach the new one',
  async () => {
    const promises = new Promises();
    const clientsOf = (name: string, {client}: Pod) =>
      new Clients({name, key, promises, pods: () => [client]}, NUMBERS);
    const [left, others] = [clientsOf('near', near), clientsOf('far', far)];
    await Promise.all([left.more(50), others.more(50)]);

    await network.partition(['first', 'near']);
    const cutOffAt = performance.now();
    const {acknowledged} = others.counts;
    await until('a write waits there', async () => (await primary.waiting()).length > 0);
    const successor = await failOver(standbys);
    await writeFile(far.address, successor.uri(database));
    // The pods learn from no closed connection.
    await until('it serves', () => others.counts.acknowledged > acknowledged + NUMBERS.writers, {intervalMs: 10});
    console.info(`served again ${((performance.now() - cutOffAt) / 1000).toFixed(1)} s after the partition`);
    await others.more(100);
    await others.more(50, 'read');
    // As outcome_unknown, or as unavailable if they waited for the account that a COMMIT from the other side holds.
    await until('writes there have ended', () => left.refusedWrites >= NUMBERS.writers);
    await until('reads there have ended', async () => (await near.client.get(key, '/messages')).status === 503);
    // What a standby had confirmed before may be answered after it: TCP repeats segments that the move has lost.
    expect(left.latest).toBeLessThan(cutOffAt);

    await network.heal();
    await until('the former primary reaches nobody', async () => {
      const [row] = await primary.query('SELECT count(*) AS count FROM pg_stat_replication');
      return row?.count === '0';
    });
    await others.more(50);
    expect(left.latest, 'after the partition, too').toBeLessThan(cutOffAt);
    await primary.kill();
    await writeFile(near.address, successor.uri(database));
    await left.more(50);
    await left.more(20, 'read');
    await Promise.all([left.stop(), others.stop()]);
    expect(promises.history.violations().slice(0, 10)).toEqual([]);
    const found = new Map((await listAllMessages(near.client, key)).map(({message, id}) => [message, id]));
    for (const [message, id] of promises.ids) expect(found.get(message), message).toBe(id);
  },
);
