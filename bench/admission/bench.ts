/**
 * What the chart's admission policies cost a tenant: creates of an Ingress and of a Service on a real API server, with
 * the bindings and without them, in ten rounds; and what is written while the cluster is idle.
 *
 *     node bench/admission/bench.ts [CREATES]      of each kind, with and without; default 400
 *
 * Prints medians in milliseconds, their ratio, and the range of the ratios within each round; the API server's CPU time
 * per create, which depends less on what else runs on the machine; its own measurement of policies that refuse (it
 * records no other); and the revisions of etcd in an idle minute with the bindings and in one without.
 */
import {join} from 'node:path';
import {setTimeout as delay} from 'node:timers/promises';
import {INGRESS, SERVICE} from '../../src/operator/kinds/kinds.ts';
import type {KubeClient} from '../../src/runtime/kube/client.ts';
import type {KubeObject, ResourceType} from '../../src/runtime/kube/object.ts';
import {type ApiServer, startApiServer} from '../../test/cluster/apiserver.ts';
import {ensurePrograms, HELM} from '../../test/cluster/programs.ts';
import {until} from '../../test/cluster/wait.ts';
import {renderTemplates} from '../../test/support/helm-template.ts';
import {createTestClient} from '../../test/support/kube.ts';
import {median, quantile} from '../statistics.ts';

const CREATES = Number(process.argv[2] ?? 400);
const ROUNDS = 10;
const TURN = Math.ceil(CREATES / ROUNDS);
const IDLE_MS = 60_000;
/** The API server uses less CPU than this in a second once it has compiled the policies. */
const CALM_MS = 100;
const ROOT = join(import.meta.dirname, '../..');
const TENANT = 'tenant';
const BINDINGS = 'validatingadmissionpolicybindings';

type Mode = 'with' | 'without';
interface Turn {
  /** Milliseconds per create. */
  readonly times: readonly number[];
  /** Of the API server, for all creates together. */
  readonly cpuMs: number;
}
/** By kind. */
type Round = Record<Mode, Record<string, Turn>>;

let made = 0;
const KINDS: Readonly<Record<string, {readonly resource: ResourceType; readonly spec: object}>> = {
  Ingress: {resource: INGRESS, spec: ingressSpec('internal')},
  Service: {resource: SERVICE, spec: {clusterIP: 'None', selector: {app: 'shop'}, ports: [{port: 80}]}},
};

const programs = await ensurePrograms(['etcd', 'kube', HELM, 'traefik']);
const api = await startApiServer({crds: [join(ROOT, 'crds'), programs.asset('traefik-crds.yml')]});
try {
  await bench(api, await renderChart(programs.path('helm')));
} finally {
  await api.stop();
}

async function bench(server: ApiServer, chart: string): Promise<void> {
  for (const namespace of [TENANT, 'nameplate-system']) await server.kubectl('create', 'namespace', namespace);
  await server.kubectl('create', 'serviceaccount', TENANT, '-n', TENANT);
  const role = ['--clusterrole=admin', `--serviceaccount=${TENANT}:${TENANT}`];
  await server.kubectl('create', 'rolebinding', 'admin', '-n', TENANT, ...role);
  await server.apply(chart);
  const client = createTestClient(await server.kubeconfigFor(TENANT, TENANT), TENANT);
  const rounds: Round[] = [];
  for (let index = 0; index < ROUNDS; index++) {
    // The order alternates, so that a server that slows down puts neither at a disadvantage.
    const modes: Mode[] = index % 2 === 0 ? ['with', 'without'] : ['without', 'with'];
    const round: Round = {with: {}, without: {}};
    for (const mode of modes) {
      await enter(server, client, chart, mode);
      for (const kind of Object.keys(KINDS)) round[mode][kind] = await measure(server, client, kind);
    }
    rounds.push(round);
  }
  for (const kind of Object.keys(KINDS)) report(kind, rounds);
  await reportPolicies(server);
  for (const mode of ['with', 'without'] as const) await reportIdle(server, client, chart, mode);
  await client.close();
}

async function enter(server: ApiServer, client: KubeClient, chart: string, mode: Mode): Promise<void> {
  if (mode === 'with') await server.apply(chart);
  else await server.kubectl('delete', BINDINGS, '--all');
  const steal = () => create(client, INGRESS, ingressSpec('traefik'), true);
  await until(`the API server continues ${mode} the bindings`, async () => (await steal()) === (mode === 'without'));
  await until('the API server has compiled the policies', async () => {
    const before = server.cpuMs();
    await delay(1_000);
    return server.cpuMs() - before < CALM_MS;
  });
}

/** Returns whether the object was admitted. */
async function create(client: KubeClient, resource: ResourceType, spec: object, mayBeRefused = false) {
  const metadata = {namespace: TENANT, name: `made-${made++}`};
  const apiVersion = resource.group ? `${resource.group}/${resource.version}` : resource.version;
  const object = {apiVersion, kind: resource.kind, metadata, spec} as KubeObject;
  try {
    await client.create(resource, object);
    return true;
  } catch (error) {
    if (!mayBeRefused || !String(error).includes('ValidatingAdmissionPolicy')) throw error;
    return false;
  }
}

async function measure(server: ApiServer, client: KubeClient, kind: string): Promise<Turn> {
  const {resource, spec} = KINDS[kind] ?? {resource: SERVICE, spec: {}};
  const times: number[] = [];
  const cpuBefore = server.cpuMs();
  for (let index = 0; index < TURN; index++) {
    const startedAt = performance.now();
    await create(client, resource, spec);
    times.push(performance.now() - startedAt);
  }
  return {times, cpuMs: server.cpuMs() - cpuBefore};
}

function report(kind: string, rounds: readonly Round[]): void {
  const timesOf = (mode: Mode) => rounds.flatMap(round => round[mode][kind]?.times ?? []);
  const [having, lacking] = [timesOf('with'), timesOf('without')];
  const [a, b] = [median(having), median(lacking)];
  const medianOf = (turn: Turn | undefined) => median(turn?.times ?? []);
  const ratios = rounds.map(round => medianOf(round.with[kind]) / medianOf(round.without[kind]));
  const cpuOf = (mode: Mode) => median(rounds.map(round => (round[mode][kind]?.cpuMs ?? 0) / TURN));
  const cpu = [cpuOf('with'), cpuOf('without'), cpuOf('with') - cpuOf('without')].map(ms => ms.toFixed(2));
  const [least, most] = [Math.min(...ratios), Math.max(...ratios)].map(ratio => ratio.toFixed(3));
  const tail = [having, lacking].map(times => quantile(times, 0.95).toFixed(2)).join(' and ');
  console.log(
    `create ${kind}, ${having.length} each in ${rounds.length} rounds: median ${a.toFixed(2)} ms with the policies, ${b.toFixed(2)} ms without, ratio ${(a / b).toFixed(3)} (of single rounds ${least} to ${most}), difference ${(a - b).toFixed(2)} ms; 95th percentile ${tail} ms; the API server's CPU ${cpu[0]} and ${cpu[1]} ms, difference ${cpu[2]} ms`,
  );
}

/**
 * What the API server itself has measured. It counts only refusals: here, of the Ingresses that detect a change of
 * mode.
 */
async function reportPolicies(server: ApiServer): Promise<void> {
  const metrics = await server.kubectl('get', '--raw', '/metrics');
  const sums = new Map<string, {seconds: number; count: number}>();
  const pattern =
    /^apiserver_validating_admission_policy_check_duration_seconds_(sum|count)\{.*?policy="([^"]+)".*?\} (\S+)$/gm;
  for (const [, what, policy = '', value] of metrics.matchAll(pattern)) {
    const sum = sums.get(policy) ?? {seconds: 0, count: 0};
    if (what === 'sum') sum.seconds += Number(value);
    else sum.count += Number(value);
    sums.set(policy, sum);
  }
  for (const [policy, {seconds, count}] of sums) {
    console.log(`  ${policy}: ${count} refusals, ${((seconds / count) * 1e6).toFixed(0)} µs each`);
  }
}

async function reportIdle(server: ApiServer, client: KubeClient, chart: string, mode: Mode): Promise<void> {
  await enter(server, client, chart, mode);
  await delay(10_000); // the API server and its controllers still write about new policies
  const before = await revision(server);
  await delay(IDLE_MS);
  const writes = (await revision(server)) - before;
  console.log(`an idle minute ${mode} the bindings: ${writes} writes`);
}

/** The revision of etcd, which counts every write of the API server. */
async function revision(server: ApiServer): Promise<number> {
  const list = JSON.parse(await server.kubectl('get', '--raw', '/api/v1/namespaces?limit=1')) as {
    metadata: {resourceVersion: string};
  };
  return Number(list.metadata.resourceVersion);
}

function ingressSpec(ingressClassName: string) {
  const backend = {service: {name: 'shop', port: {number: 80}}};
  return {
    ingressClassName,
    rules: [{host: 'shop.example.com', http: {paths: [{path: '/', pathType: 'Prefix', backend}]}}],
  };
}

async function renderChart(helm: string): Promise<string> {
  const values = ['--values', join(ROOT, 'examples/values.yaml')];
  return renderTemplates(helm, ['admission*', 'rbac', 'serviceaccount'], values);
}
