/**
 * Adds hosts to the edge of the cluster that it runs in, up to each count, using the objects that the operator would
 * write:
 *
 *     node test/cluster/cli.ts exec -- node bench/edge/hosts.ts HOSTS,HOSTS...
 *
 * Each host has a Secret with its own certificate, which exists before the measurement, as with the operator. Each time
 * runs from the first write of the host's route until the edge has answered correctly over HTTPS (the host's
 * certificate, and 200 from the project's pods) and over HTTP (the redirect). The edge has accepted a host once the
 * route's status says so.
 *
 * For each count, it prints the times of 50 hosts of the burst and of 20 hosts that are added and removed one by one;
 * the CPU and memory of the edge's processes; the API writes per host; and the cost of a probe.
 */
import {mkdtemp, rm} from 'node:fs/promises';
import {request} from 'node:http';
import {type AddressInfo, connect as connectTcp, createServer} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {setTimeout as delay} from 'node:timers/promises';
import type {RoutingConfig} from '../../src/operator/config/config.ts';
import {gateway} from '../../src/operator/edge/gateway.ts';
import {GATEWAY, GATEWAY_CLASS} from '../../src/operator/edge/gateway-kinds.ts';
import {traefik} from '../../src/operator/edge/traefik.ts';
import {backendName, routeName} from '../../src/operator/kinds/derived-names.ts';
import {
  type HostRoute,
  type PlatformReader,
  PROBE_PATH,
  type RouteObject,
} from '../../src/operator/kinds/edge-provider.ts';
import {NAMESPACE, SECRET, SERVICE} from '../../src/operator/kinds/kinds.ts';
import {visit} from '../../src/probe/visit.ts';
import type {KubeObject, ResourceType} from '../../src/runtime/kube/object.ts';
import {connect} from '../../test/cluster/cluster.ts';
import {until} from '../../test/cluster/wait.ts';
import {createTestClient} from '../../test/support/kube.ts';
import {tenantNamespace} from '../../test/support/objects.ts';
import {scale} from '../../test/support/pods.ts';
import {selfSigned} from '../../test/support/self-signed.ts';
import {DEPLOYMENT, deployment} from '../../test/support/workload.ts';
import {quantile} from '../statistics.ts';
import {cpuMs, untilCalm, usageByProgram} from './processes.ts';
import {perHost, writes} from './writes.ts';

const COUNTS = (process.argv[2] ?? '300,1000').split(',').map(Number);
const SAMPLES = 50;
const ALONE = 20;
const TENANTS = 10;
/** Hosts written at the same time. */
const WORKERS = 8;
const PATIENCE_MS = 900_000 * Math.max(1, Math.max(...COUNTS) / 1000);
const IDLE_MS = 20_000;
const PROBES = 500;
/**
 * Beyond this many hosts, Traefik no longer writes its addresses into the status of Ingresses. If it did, a burst of
 * 2,000 hosts takes 13 minutes (docs/edges.md).
 */
const MAX_REPORTED = 300;
/** Beyond this many hosts, the bench does not repeat the measurement with Traefik's default throttle. */
const MAX_THROTTLED = 1000;

const routing: RoutingConfig = {
  provider: 'gateway',
  movingFrom: 'none',
  apexAddresses: [],
  edgeAddresses: [],
  formerAddresses: [],
  ingressClassName: 'traefik',
  traefik: {httpEntryPoint: 'web', httpsEntryPoint: 'websecure', version: ''},
  gateway: {
    namespace: 'gateway',
    name: 'platform',
    httpListener: 'http',
    httpsListener: 'https',
    supportedFeatures: [],
    clientTrafficPolicy: '',
    version: '',
  },
};

const cluster = await connect();
const client = createTestClient(cluster.info.kubeconfig);
const edge = cluster.info.edge === 'gateway' ? gateway(routing, 'challenges.edge.nameplate.test') : traefik(routing);
const {address} = cluster.info.ingress;
const folder = await mkdtemp(join(tmpdir(), 'bench-edge-'));
/** The differences from the configuration of the test cluster. */
let reports = '';
const owners = new Map<string, HostRoute['owner']>();

const platform = await readPlatform();

try {
  for (let tenant = 0; tenant < TENANTS; tenant++) await makeTenant(`bench-${tenant}`);
  let hosts = 0;
  const curve: object[] = [];
  for (const count of COUNTS) {
    if (edge.name === 'traefik' && count > MAX_REPORTED && !reports) {
      await restartTraefik('--providers.kubernetesingress.ingressendpoint.ip', hosts);
      reports = ', without addresses in the status of Ingresses';
    }
    const bursts = await burst(hosts, count);
    hosts = count;
    curve.push({hosts, ...(await alone(count)), ...bursts, ...(await idle(count))});
  }
  await probes(hosts);
  if (edge.name === 'traefik' && hosts <= MAX_THROTTLED) {
    await restartTraefik('--providers.providersthrottleduration', hosts);
    await alone(hosts, ", with Traefik's default throttle");
  }
  printTable(curve);
} finally {
  await client.close();
  await rm(folder, {recursive: true});
}

/** The Gateway and its class, which the provider needs to interpret a status. */
async function readPlatform(): Promise<PlatformReader> {
  if (edge.name !== 'gateway') return {get: () => undefined, list: () => []};
  const {namespace, name} = routing.gateway;
  const found = new Map<string, KubeObject | undefined>();
  const own = await client.get(GATEWAY, {namespace, name});
  found.set(GATEWAY.kind, own);
  found.set(GATEWAY_CLASS.kind, await client.get(GATEWAY_CLASS, {name: own?.spec.gatewayClassName ?? ''}));
  return {get: ({kind}: ResourceType) => found.get(kind) as never, list: () => []};
}

async function makeTenant(namespace: string): Promise<void> {
  const {uid = ''} = (await client.apply(NAMESPACE, tenantNamespace(namespace))).metadata;
  owners.set(namespace, {apiVersion: 'v1', kind: 'Namespace', name: namespace, uid});
  await client.apply(DEPLOYMENT, deployment(namespace, 'shop'));
  await scale(client, {namespace, name: 'shop'}, 1);
}

function routeOf(label: string, index: number): HostRoute {
  const namespace = `bench-${index % TENANTS}`;
  const host = `${label}-${index}.example.com`;
  const name = routeName(namespace, host);
  const owner = owners.get(namespace);
  if (!owner) throw new Error(`no namespace ${namespace}`);
  const port = {name: 'http', port: 80, targetPort: 8080};
  const backend = {name: backendName(namespace, 'shop', {port: 80}), project: 'shop', selector: {app: 'shop'}, port};
  return {namespace, name, host, tlsSecret: name, backend, owner, proof: 'a'.repeat(32)};
}

async function createSecret({namespace, name, host}: HostRoute): Promise<void> {
  const {cert, key} = await selfSigned(folder, name, `DNS:${host}`);
  const data = {'tls.crt': cert.toString('base64'), 'tls.key': key.toString('base64')};
  const metadata = {namespace, name};
  await client.create(SECRET, {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'kubernetes.io/tls',
    metadata,
    data,
  } as KubeObject);
}

/** All hosts of a project share its Service. */
async function write(route: HostRoute): Promise<void> {
  for (const {resource, intent} of edge.build(route)) {
    if (resource === SERVICE) await client.apply(resource, intent);
    else await client.create(resource, intent as KubeObject);
  }
}

async function remove(route: HostRoute): Promise<void> {
  const own = edge.build(route).filter(({resource}) => resource !== SERVICE);
  const objects: RouteObject[] = [...own.toReversed(), {resource: SECRET, intent: secretOf(route)}];
  for (const {resource, intent} of objects) {
    await client.delete(resource, {namespace: route.namespace, name: intent.metadata.name});
  }
}

function secretOf({namespace, name}: HostRoute) {
  return {apiVersion: 'v1', kind: 'Secret', metadata: {namespace, name}};
}

/** Milliseconds from `startMs` until both answers are right. */
async function answers({host}: HostRoute, startMs: number, intervalMs: number): Promise<number> {
  const wait = {timeoutMs: PATIENCE_MS, intervalMs};
  await until(`https://${host} answers`, () => answersHttps(host), wait);
  await until(`http://${host} redirects`, async () => (await httpStatus(host)) === 301, wait);
  return performance.now() - startMs;
}

/** Whether the edge has reported that it accepts the route. Until it does, the host does not become Live. */
async function isAccepted(route: HostRoute): Promise<boolean> {
  const {namespace} = route;
  const own = edge.build(route).filter(({resource}) => resource !== SERVICE);
  const stored = own.map(({resource, intent}) => client.get(resource, {namespace, name: intent.metadata.name}));
  const found = (await Promise.all(stored)).filter(object => object !== undefined);
  return found.length === own.length && edge.verdict(found, platform).kind === 'accepted';
}

async function accepted(route: HostRoute, startMs: number, intervalMs: number): Promise<number> {
  await until(`${route.host} is accepted`, () => isAccepted(route), {timeoutMs: PATIENCE_MS, intervalMs});
  return performance.now() - startMs;
}

async function answersHttps(host: string): Promise<boolean> {
  const answer = await visit({host: address, port: 443}, {host, path: '/'}, 5000, new AbortController().signal);
  return answer.kind === 'answered' && answer.certificate.names[0] === host && answer.response?.status === 200;
}

function httpStatus(host: string): Promise<number> {
  const {promise, resolve, reject} = Promise.withResolvers<number>();
  const asked = request({host: address, headers: {host}, agent: false, timeout: 5000}, response => {
    response.destroy();
    resolve(response.statusCode ?? 0);
  });
  asked.on('timeout', () => asked.destroy(new Error('no answer')));
  asked.on('error', reject).end();
  return promise;
}

async function burst(from: number, to: number) {
  const routes = Array.from({length: to - from}, (_, index) => routeOf('shop', from + index));
  await inParallel(routes, createSecret);
  await untilCalm();
  const [writesBefore, cpuBefore] = [await writes(cluster), cpuMs()];
  const every = Math.max(1, Math.floor(routes.length / SAMPLES));
  const sampled: Promise<number>[] = [];
  const startedMs = performance.now();
  let last: Promise<number> | undefined;
  await inParallel(routes, async (route, index) => {
    const startMs = performance.now();
    await write(route);
    if (index === routes.length - 1) last = answers(route, startMs, 20);
    else if (index % every === 0) sampled.push(answers(route, startMs, 200));
  });
  const writtenMs = performance.now() - startedMs;
  const lastMs = (await last) ?? Number.NaN;
  const times = await Promise.all(sampled);
  const allMs = performance.now() - startedMs;
  for (const route of routes.toReversed()) await accepted(route, startedMs, 500);
  const acceptedMs = performance.now() - startedMs;
  await untilCalm();
  const written = perHost(await writes(cluster), writesBefore, routes.length);
  console.log(
    `${edge.name}, a burst from ${from} to ${to} hosts${reports}: written in ${seconds(writtenMs)}, all answer after ${seconds(allMs)}, all are accepted after ${seconds(acceptedMs)}; until a host answers, p50 ${seconds(quantile(times, 0.5))}, p99 ${seconds(quantile(times, 0.99))}, the last ${seconds(lastMs)}; the edge's CPU ${seconds(cpuMs() - cpuBefore)}`,
  );
  console.log(`  API writes for each host: ${written}`);
  return {
    burst: `${seconds(quantile(times, 0.5))} (${seconds(quantile(times, 0.99))}), ${seconds(lastMs)}`,
    accepted: seconds(acceptedMs),
    writes: written,
  };
}

async function alone(count: number, what = '') {
  const times: number[] = [];
  const reported: number[] = [];
  let spentMs = 0;
  for (let index = 0; index < ALONE; index++) {
    const route = routeOf(`more${what ? '-slow' : ''}-${count}`, index);
    await createSecret(route);
    await untilCalm();
    const cpuBefore = cpuMs();
    const startMs = performance.now();
    await write(route);
    times.push(await answers(route, startMs, 20));
    reported.push(await accepted(route, startMs, 20));
    await untilCalm();
    spentMs += cpuMs() - cpuBefore;
    await remove(route);
    await until('the host is gone', async () => (await httpStatus(route.host)) === 404, {timeoutMs: PATIENCE_MS});
  }
  const max = Math.max(...times);
  console.log(
    `${edge.name}, one more on ${count} hosts${what}: p50 ${seconds(quantile(times, 0.5))}, p99 of ${ALONE} ${seconds(quantile(times, 0.99))} (longest ${seconds(max)}); accepted p50 ${seconds(quantile(reported, 0.5))}, p99 ${seconds(quantile(reported, 0.99))}; the edge's CPU ${seconds(spentMs / ALONE)} each`,
  );
  return {
    oneMore: `${seconds(quantile(times, 0.5))} (${seconds(quantile(times, 0.99))})`,
    cpu: seconds(spentMs / ALONE),
  };
}

async function idle(count: number) {
  await untilCalm();
  const before = cpuMs();
  await delay(IDLE_MS);
  const used = [...usageByProgram()].map(([program, {rssMiB}]) => `${program} ${rssMiB.toFixed(0)} MiB`).join(', ');
  const idleCpu = `${(((cpuMs() - before) / IDLE_MS) * 100).toFixed(1)}%`;
  console.log(`${edge.name}, idle with ${count} hosts: ${used}; CPU ${idleCpu} of a core`);
  return {memory: used, idleCpu};
}

/**
 * One after another, as the operator sends them: with a request only on a Gateway, and only if the host does not
 * redirect.
 */
async function probes(count: number): Promise<void> {
  const probe = (index: number, at = {host: address, port: 443}) => {
    const {host} = routeOf('shop', index % count);
    const asked = {host, ...(edge.name === 'gateway' && {path: PROBE_PATH})};
    return visit(at, asked, 5000, new AbortController().signal);
  };
  const bytes = await transferred(at => probe(0, at));
  await untilCalm();
  const [edgeBefore, before] = [cpuMs(), process.cpuUsage()];
  for (let index = 0; index < PROBES; index++) {
    const {kind} = await probe(index);
    if (kind !== 'answered') throw new Error(`the probe of host ${index} was ${kind}`);
  }
  const {user, system} = process.cpuUsage(before);
  const [own, theirs] = [(user + system) / 1000, cpuMs() - edgeBefore].map(ms => (ms / PROBES).toFixed(2));
  console.log(`${edge.name}, a probe: ${own} ms of CPU for the prober, ${theirs} ms for the edge, ${bytes} bytes`);
}

/** Bytes in both directions, without TCP headers. */
async function transferred(act: (at: {host: string; port: number}) => Promise<unknown>): Promise<number> {
  let bytes = 0;
  const proxy = createServer(client => {
    const upstream = connectTcp(443, address);
    for (const socket of [client, upstream]) {
      socket.on('data', ({length}) => {
        bytes += length;
      });
      socket.on('error', () => undefined);
    }
    client.pipe(upstream).pipe(client);
  });
  await new Promise<void>(resolve => proxy.listen(0, '127.0.0.1', resolve));
  await act({host: '127.0.0.1', port: (proxy.address() as AddressInfo).port});
  proxy.close();
  return bytes;
}

async function restartTraefik(argument: string, hosts: number): Promise<void> {
  const name = {namespace: 'traefik', name: 'traefik'};
  const found = JSON.parse(await cluster.kubectl('-n', 'traefik', 'get', 'deployment', 'traefik', '-o', 'json'));
  const [container] = found.spec.template.spec.containers;
  const args = container.args.filter((arg: string) => !arg.startsWith(`${argument}=`));
  if (args.length === container.args.length) throw new Error(`Traefik runs without ${argument}`);
  await scale(client, name, 0);
  await client.patch(DEPLOYMENT, name, {spec: {template: {spec: {containers: [{...container, args}]}}}});
  await scale(client, name, 1);
  await until('Traefik serves again', () => answersHttps(routeOf('shop', hosts - 1).host), {timeoutMs: PATIENCE_MS});
}

async function inParallel(routes: readonly HostRoute[], act: (route: HostRoute, index: number) => Promise<void>) {
  const queue = [...routes.entries()];
  const work = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) await act(next[1], next[0]);
  };
  await Promise.all(Array.from({length: WORKERS}, work));
}

/** One row per count; docs/benchmarks.md shows some of them. */
function printTable(rows: readonly object[]): void {
  const line = (cells: readonly unknown[]) => `| ${cells.join(' | ')} |`;
  const [first = {}] = rows;
  const heads = ['hosts', 'one more: p50 (p99)', 'its CPU', 'burst: p50 (p99), the last', 'all accepted'];
  const all = [...heads, 'API writes for each host', 'memory', 'idle CPU'];
  const body = rows.map(row => line(Object.values(row)));
  console.log([edge.name, '', line(all), line(Object.keys(first).map(() => '---')), ...body].join('\n'));
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}
