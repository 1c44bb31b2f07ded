/**
 * Compares the runtime with its peers on one real API server, each in its own process:
 *
 *     node bench/loop/compare.ts [OBJECTS] [ROUNDS]      default 10000 and 7
 *
 * In each round, the programs start one after another and then take turns at the single writes, each time in a random
 * order. The bursts follow, one program at a time. Prints medians over the rounds, and in brackets our ratio to each
 * peer within a round: median (lowest to highest). The last line is about the single writes of all rounds together.
 */
import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {setTimeout as delay} from 'node:timers/promises';
import {pino} from 'pino';
import {Registry} from 'prom-client';
import {build} from 'rolldown';
import {NAMESPACE} from '../../src/operator/kinds/kinds.ts';
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
import {textOf} from './text.ts';

const OBJECTS = Number(process.argv[2] ?? 10_000);
const ROUNDS = Number(process.argv[3] ?? 7);
const PAYLOAD_BYTES = 500;
/** Writes of single objects, one after another, to measure the delay between a write and its reconcile. */
const SINGLE_WRITES = 5_000;
/** Objects changed at once, as fast as the API server accepts it. */
const BURST = Math.min(10_000, OBJECTS - 1);
/** Concurrent writers of the burst. */
const WRITERS = 16;

const METRICS = ['syncMs', 'rssMiB', 'cpuMs', 'connections', 'p50Ms', 'p99Ms', 'burstPerSecond', 'burstLagMs'] as const;
type Figures = Record<(typeof METRICS)[number], number>;
type StartFigures = Pick<Figures, 'syncMs' | 'rssMiB' | 'cpuMs'>;

interface Contender {
  readonly name: string;
  readonly command: readonly string[];
  readonly namespace: string;
  /** One entry for each round. */
  readonly figures: Figures[];
  /** From each single write of all rounds to its reconcile, in milliseconds. */
  readonly delays: number[];
}

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
  const contenders = await prepareContenders();
  for (const {namespace} of contenders) await fill(namespace);
  for (let round = 0; round < ROUNDS; round++) await measure(shuffled(contenders));
  print(contenders);
} finally {
  await client.close();
  await api.stop();
  await rm(folder, {recursive: true, force: true});
}

/** Builds and installs the peers. Those in Node are bundled, as our programs are when shipped. */
async function prepareContenders(): Promise<Contender[]> {
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
  const commands = [
    ['ours', await node('ours', 'ours.ts')],
    ['controller-runtime (Go)', [reference]],
    ['client-node informer', await node('client-node', 'client-node.ts')],
    ['kubernetes-fluent-client', await node('fluent-client', 'fluent-client.js')],
  ] as const;
  return commands.map(([name, command], index) => ({
    name,
    command,
    namespace: `bench-${index}`,
    figures: [],
    delays: [],
  }));
}

/** Each contender has a namespace of its own, so a write wakes only one of them. */
async function fill(namespace: string): Promise<void> {
  await client.create(NAMESPACE, {apiVersion: 'v1', kind: 'Namespace', metadata: {name: namespace}});
  // Kubernetes adds one ConfigMap to each namespace.
  await until('the namespace is ready', () => client.get(CONFIG_MAP, {namespace, name: 'kube-root-ca.crt'}));
  await inParallel(OBJECTS - 1, index =>
    client.create(
      CONFIG_MAP,
      configMap(namespace, `object-${index}`, {payload: textOf(index + 1, PAYLOAD_BYTES), sent: ''}),
    ),
  );
}

async function measure(contenders: readonly Contender[]): Promise<void> {
  const running: {readonly contender: Contender; readonly peer: Peer}[] = [];
  const starts = new Map<Contender, StartFigures>();
  try {
    for (const contender of contenders) {
      const peer = new Peer([...contender.command, api.kubeconfig, contender.namespace, String(OBJECTS)]);
      running.push({contender, peer});
      starts.set(contender, await measureStart(peer));
    }
    // Turns, because the API server's own delays change from second to second. A random order, because each program
    // still works on its event while the next one's write is under way.
    for (let index = 0; index < SINGLE_WRITES; index++) {
      for (const {contender} of shuffled(running)) await touch(contender.namespace, index % (OBJECTS - 1));
    }
    for (const {contender, peer} of running) {
      const {delays} = await reported(peer, SINGLE_WRITES);
      contender.delays.push(...delays);
      contender.figures.push({
        ...(starts.get(contender) as StartFigures),
        connections: await peer.connections(Number(new URL(api.url).port)),
        p50Ms: quantile(delays, 0.5),
        p99Ms: quantile(delays, 0.99),
        ...(await measureBurst(peer, contender.namespace)),
      });
    }
  } finally {
    for (const {peer} of running) await peer.stop();
  }
}

function shuffled<T>(values: readonly T[]): T[] {
  const keyed = values.map(value => ({value, key: Math.random()}));
  return keyed.sort((a, b) => a.key - b.key).map(({value}) => value);
}

async function measureStart(peer: Peer): Promise<StartFigures> {
  const {syncedMs: syncMs} = await peer.synced();
  await delay(1_000);
  return {syncMs, rssMiB: await peer.rssMiB(), cpuMs: await peer.cpuMs()};
}

async function measureBurst(peer: Peer, namespace: string) {
  const startedAt = nowMs();
  await inParallel(BURST, index => touch(namespace, index));
  const writtenAt = nowMs();
  const {lastAt} = await reported(peer, BURST);
  return {burstPerSecond: (BURST * 1000) / (lastAt - startedAt), burstLagMs: lastAt - writtenAt};
}

async function touch(namespace: string, index: number): Promise<void> {
  await client.patch(CONFIG_MAP, {namespace, name: `object-${index}`}, {data: {sent: String(nowMs())}});
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

function print(contenders: readonly Contender[]): void {
  console.log(`${OBJECTS} objects, ${ROUNDS} rounds, ${SINGLE_WRITES} single writes, ${BURST} objects changed at once`);
  const [ours, ...peers] = contenders;
  if (!ours) return;
  for (const metric of METRICS) {
    const figures = ({figures}: Contender) => figures.map(round => round[metric]);
    const cells = [ours, ...peers].map(contender => {
      const figure = `${contender.name} ${median(figures(contender)).toFixed(2)}`;
      if (contender === ours || metric === 'burstLagMs') return figure; // the lag is about 0
      return `${figure} [${ratios(figures(ours), figures(contender))}]`;
    });
    console.log(`${metric.padEnd(16)} ${cells.join('  |  ')}`);
  }
  const p99s = contenders.map(({name, delays}) => `${name} ${quantile(delays, 0.99).toFixed(2)}`);
  console.log(`${'p99Ms together'.padEnd(16)} ${p99s.join('  |  ')}`);
}
