/**
 * Compares the runtime with its peers on one real API server, each in its own process:
 *
 *     node bench/loop/compare.ts [OBJECTS] [ROUNDS]      default 10000 and 7
 *
 * The rounds are interleaved, and every other round has the opposite order. Prints medians over the rounds, and in
 * brackets our ratio to each peer within a round: median (lowest to highest).
 */

import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {setTimeout as delay} from 'node:timers/promises';
import {pino} from 'pino';
import {Registry} from 'prom-client';
import {build} from 'rolldown';
import {NAMESPACE} from '../../src/operator/model/kinds.ts';
import {createKubeClient} from '../../src/runtime/kube/http-client.ts';
import {startApiServer} from '../../test/cluster/apiserver.ts';
import {run} from '../../test/cluster/children.ts';
import {goBuild} from '../../test/cluster/go.ts';
import {until} from '../../test/cluster/wait.ts';
import {CONFIG_MAP, configMap} from '../../test/integration/runtime/runtime-world.ts';
import {ONE_FILE} from '../../tools/bundle.config.ts';
import {median, quantile, ratios} from '../statistics.ts';
import {Peer} from './peer.ts';
import {nowMs, type Report} from './peers/samples.ts';
import {shippedFlags} from './shipped-flags.ts';

const OBJECTS = Number(process.argv[2] ?? 10_000);
const ROUNDS = Number(process.argv[3] ?? 7);
/** Writes of single objects, one after another, to measure the delay between a write and its reconcile. */
const SINGLE_WRITES = 2_000;
/** Objects changed at once, as fast as the API server accepts it. */
const BURST = Math.min(10_000, OBJECTS - 1);
/** Concurrent writers of the burst. */
const WRITERS = 16;

const TENANT = 'bench';
const METRICS = ['syncMs', 'rssMiB', 'cpuMs', 'connections', 'p50Ms', 'p99Ms', 'burstPerSecond', 'burstLagMs'] as const;
type Figures = Record<(typeof METRICS)[number], number>;

const folder = await mkdtemp(join(tmpdir(), 'nameplate-bench-'));
const api = await startApiServer();
const client = createKubeClient({
  kubeconfig: api.kubeconfig,
  userAgent: 'bench',
  fieldManager: 'bench',
  logger: pino({level: 'silent'}),
  registry: new Registry(),
});
try {
  const peers = await preparePeers();
  await client.create(NAMESPACE, {apiVersion: 'v1', kind: 'Namespace', metadata: {name: TENANT}});
  // Kubernetes adds one ConfigMap to each namespace.
  await until('the namespace is ready', () => client.get(CONFIG_MAP, {namespace: TENANT, name: 'kube-root-ca.crt'}));
  await inParallel(OBJECTS - 1, index =>
    client.create(CONFIG_MAP, configMap(TENANT, `object-${index}`, {payload: 'x'.repeat(500), sent: ''})),
  );
  const figures = new Map<string, Figures[]>([...peers.keys()].map(name => [name, []]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, argv] of round % 2 === 0 ? [...peers] : [...peers].reverse()) {
      figures.get(name)?.push(await measure(argv));
    }
  }
  print(figures);
} finally {
  await client.close();
  await api.stop();
  await rm(folder, {recursive: true, force: true});
}

/**
 * Builds and installs the peers. Those in Node are bundled, as our programs are when shipped. Returns the command of
 * each.
 */
async function preparePeers(): Promise<Map<string, string[]>> {
  const reference = join(folder, 'reference');
  const module = join(import.meta.dirname, 'go');
  const cache = (await run(['go', 'env', 'GOCACHE'])).trim();
  await goBuild({module, package: '.', output: reference, ldflags: '', cache});
  const peers = join(import.meta.dirname, 'peers');
  await run(['npm', 'ci', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'], {cwd: peers});
  const flags = await shippedFlags();
  const node = async (name: string, input: string) => {
    const file = join(folder, name, 'main.mjs');
    const output = {file, format: 'esm', codeSplitting: false} as const;
    await build({...ONE_FILE, input: join(peers, input), output});
    return [process.execPath, '--no-warnings', ...flags, file];
  };
  return new Map([
    ['ours', await node('ours', 'ours.ts')],
    ['controller-runtime (Go)', [reference]],
    ['client-node informer', await node('client-node', 'client-node.ts')],
    ['kubernetes-fluent-client', await node('fluent-client', 'fluent-client.js')],
  ]);
}

async function measure(argv: readonly string[]): Promise<Figures> {
  const peer = new Peer([...argv, api.kubeconfig, TENANT, String(OBJECTS)]);
  try {
    const {syncedMs: syncMs} = await peer.synced();
    await delay(1_000);
    const [rssMiB, cpuMs] = [await peer.rssMiB(), await peer.cpuMs()];
    await inParallel(SINGLE_WRITES, index => touch(index % (OBJECTS - 1)), 1);
    const single = await reported(peer, SINGLE_WRITES);
    const startedAt = nowMs();
    await inParallel(BURST, touch);
    const writtenAt = nowMs();
    const burst = await reported(peer, BURST);
    return {
      syncMs,
      rssMiB,
      cpuMs,
      connections: await peer.connections(Number(new URL(api.url).port)),
      p50Ms: quantile(single.delays, 0.5),
      p99Ms: quantile(single.delays, 0.99),
      burstPerSecond: (BURST * 1000) / (burst.lastAt - startedAt),
      burstLagMs: burst.lastAt - writtenAt,
    };
  } finally {
    await peer.stop();
  }
}

async function touch(index: number): Promise<void> {
  const key = {namespace: TENANT, name: `object-${index}`};
  await client.patch(CONFIG_MAP, key, {data: {sent: String(nowMs())}});
}

/** The peer's samples, once it has noticed all writes. */
async function reported(peer: Peer, writes: number): Promise<Report> {
  const delays: number[] = [];
  let lastAt = 0;
  await until(
    `${writes} writes are noticed`,
    async () => {
      const report = await peer.report();
      delays.push(...report.delays);
      if (report.delays.length > 0) lastAt = report.lastAt;
      return delays.length >= writes;
    },
    {timeoutMs: 120_000},
  );
  return {delays, lastAt};
}

async function inParallel(count: number, work: (index: number) => Promise<unknown>, width = WRITERS): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) await work(index);
  };
  await Promise.all(Array.from({length: width}, worker));
}

function print(figures: ReadonlyMap<string, readonly Figures[]>): void {
  console.log(`${OBJECTS} objects, ${ROUNDS} rounds, ${SINGLE_WRITES} single writes, ${BURST} objects changed at once`);
  const [ours = []] = figures.values();
  const oursOf = (metric: (typeof METRICS)[number]) => ours.map(round => round[metric]);
  for (const metric of METRICS) {
    const cells = [...figures].map(([name, rounds]) => {
      const values = rounds.map(round => round[metric]);
      const figure = `${name} ${median(values).toFixed(1)}`;
      if (rounds === ours || metric === 'burstLagMs') return figure; // the lag is about 0
      return `${figure} [${ratios(oursOf(metric), values)}]`;
    });
    console.log(`${metric.padEnd(16)} ${cells.join('  |  ')}`);
  }
}
