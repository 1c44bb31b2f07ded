/**
 * What each way of writing costs an API server: 500 creates and updates of Ingresses and writes of Domain statuses,
 * with server-side apply, a merge patch at the resourceVersion, and POST or PUT.
 *
 *     node bench/loop/variants.ts [COUNT] [ROUNDS]      default 500 and 5
 *
 * Prints the API server's CPU time per write and the time until the response, as medians of the rounds, and the bytes
 * of managedFields that the write leaves on the object. In the second table, the status is one atomic field.
 */
import {writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {pino} from 'pino';
import {Registry} from 'prom-client';
import {API_VERSION, FIELD_MANAGER, LABEL} from '../../src/api/names.ts';
import {DOMAIN, type Domain, INGRESS, type Ingress} from '../../src/operator/kinds/kinds.ts';
import {createKubeClient} from '../../src/runtime/kube/http-client.ts';
import type {Intent, KubeObject, ResourceType} from '../../src/runtime/kube/object.ts';
import {startApiServer} from '../../test/cluster/apiserver.ts';
import {until} from '../../test/cluster/wait.ts';

const COUNT = Number(process.argv[2] ?? 500);
const ROUNDS = Number(process.argv[3] ?? 5);
/** Concurrent requests: as many as a controller has workers by default. */
const WORKERS = 4;
const NAMESPACE = 'default';
const CRDS = join(import.meta.dirname, '../../crds');

interface Cost {
  readonly cpuMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly managedBytes: number;
}

type Managed = KubeObject & {metadata: {managedFields?: unknown}};
type Write = (index: number) => Promise<unknown>;

const api = await startApiServer({crds: [CRDS]});
const client = createKubeClient({
  kubeconfig: api.kubeconfig,
  userAgent: 'nameplate-bench',
  fieldManager: FIELD_MANAGER,
  logger: pino({level: 'silent'}),
  registry: new Registry(),
});
try {
  for (const type of ['granular', 'atomic'] as const) {
    if (type === 'atomic') await makeAtomic();
    const costs = new Map<string, Cost[]>();
    for (let round = 0; round < ROUNDS; round++) {
      for (const [name, cost] of await measureAll(`${type}-${round}`))
        costs.set(name, [...(costs.get(name) ?? []), cost]);
    }
    console.log(`${type} status, ${COUNT} of each, ${ROUNDS} rounds\n  CPU ms  p50 ms  p99 ms   bytes`);
    for (const [name, rounds] of costs) console.log(`${shown(rounds)}  ${name}`);
  }
} finally {
  await client.close();
  await api.stop();
}

async function measureAll(stem: string): Promise<Map<string, Cost>> {
  const costs = new Map<string, Cost>();
  const names = (how: string) => Array.from({length: COUNT}, (_, index) => nameOf(stem, how, index));
  for (const how of ['apply', 'write']) {
    const objects = names(how).map(name => ingress(name, 'a.example'));
    const create: Write = index =>
      how === 'apply' ? client.apply(INGRESS, at(objects, index)) : client.create(INGRESS, at(objects, index));
    costs.set(
      how === 'apply' ? 'create: server-side apply' : 'create: POST',
      await measure(INGRESS, names(how), create),
    );
  }
  const changed = (index: number, how: string) => ingress(nameOf(stem, how, index), 'b.example');
  costs.set(
    'update: server-side apply',
    await measure(INGRESS, names('apply'), index => client.apply(INGRESS, changed(index, 'apply'))),
  );
  const stored = await read(INGRESS, names('write'));
  costs.set(
    'update: PUT',
    await measure(INGRESS, names('write'), index =>
      client.replace(INGRESS, {...at(stored, index), spec: changed(index, 'write').spec}),
    ),
  );
  const again = await read(INGRESS, names('write'));
  costs.set(
    'update: merge patch at the resourceVersion',
    await measure(INGRESS, names('write'), index => {
      const {name, resourceVersion} = at(again, index).metadata;
      const {spec} = ingress(name, 'c.example');
      return client.patch(INGRESS, {namespace: NAMESPACE, name}, {metadata: {resourceVersion}, spec});
    }),
  );
  for (const how of ['apply', 'patch']) {
    const domains = await Promise.all(names(how).map(name => client.create(DOMAIN, domain(name))));
    const isApply = how === 'apply';
    const title = isApply ? 'server-side apply' : 'merge patch at the resourceVersion';
    for (const what of ['first', 'next']) {
      const last = what === 'first' ? domains : await read(DOMAIN, names(how));
      const write: Write = index => {
        const {name, resourceVersion} = at(last, index).metadata;
        const status = statusOf(name, what === 'first' ? 'Checking' : 'Issuing');
        if (!isApply) {
          const patch = {metadata: {resourceVersion}, status};
          return client.patch(DOMAIN, {namespace: NAMESPACE, name}, patch, {subresource: 'status'});
        }
        const metadata = {name, namespace: NAMESPACE, resourceVersion};
        return client.applyStatus(DOMAIN, {
          apiVersion: API_VERSION,
          kind: 'Domain',
          metadata,
          status,
        } as Intent<Domain>);
      };
      costs.set(`${what} status: ${title}`, await measure(DOMAIN, names(how), write));
    }
  }
  return costs;
}

/** The name is also a valid host, as that of a Domain must be. */
function nameOf(stem: string, how: string, index: number): string {
  return `${how}-${index}.${stem}.example`;
}

async function measure<T extends KubeObject>(
  resource: ResourceType<T>,
  names: readonly string[],
  write: Write,
): Promise<Cost> {
  const times: number[] = [];
  const waiting = names.map((_, index) => index);
  const before = await apiServerCpuMs();
  const worker = async (): Promise<void> => {
    for (let index = waiting.shift(); index !== undefined; index = waiting.shift()) {
      const startedAt = performance.now();
      await write(index);
      times.push(performance.now() - startedAt);
    }
  };
  await Promise.all(Array.from({length: WORKERS}, worker));
  const cpuMs = ((await apiServerCpuMs()) - before) / names.length;
  times.sort((a, b) => a - b);
  const at = (q: number) => times[Math.floor(q * times.length)] ?? Number.NaN;
  const [first = ''] = names;
  const object: Managed | undefined = await client.get(resource, {namespace: NAMESPACE, name: first});
  const managedBytes = JSON.stringify(object?.metadata.managedFields ?? []).length;
  return {cpuMs, p50Ms: at(0.5), p99Ms: at(0.99), managedBytes};
}

async function apiServerCpuMs(): Promise<number> {
  const metrics = await api.kubectl('get', '--raw', '/metrics');
  return 1000 * Number(/^process_cpu_seconds_total (\S+)$/m.exec(metrics)?.[1] ?? Number.NaN);
}

async function read<T extends KubeObject>(resource: ResourceType<T>, names: readonly string[]): Promise<T[]> {
  const found = new Map<string, T>();
  for await (const {items} of client.list(resource, {namespace: NAMESPACE})) {
    for (const item of items) found.set(item.metadata.name, item);
  }
  return names.map(name => at([found.get(name) as T], 0));
}

/** Makes the status a single field for field managers. */
async function makeAtomic(): Promise<void> {
  const [domains = ''] = (await api.kubectl('get', 'crd', '-o', 'name'))
    .split('\n')
    .filter(name => name.includes('/domains.'));
  const crd = JSON.parse(await api.kubectl('get', domains, '-o', 'json'));
  crd.spec.versions[0].schema.openAPIV3Schema.properties.status['x-kubernetes-map-type'] = 'atomic';
  const file = join(api.kubeconfig, '../atomic.json');
  await writeFile(file, JSON.stringify(crd));
  await api.kubectl('replace', '-f', file);
  let attempt = 0;
  await until('the API server uses the new schema', async () => {
    const name = `probe-${attempt++}.example`;
    await client.create(DOMAIN, domain(name));
    const metadata = {name, namespace: NAMESPACE};
    const status = statusOf(name, 'Checking');
    await client.applyStatus(DOMAIN, {apiVersion: API_VERSION, kind: 'Domain', metadata, status} as Intent<Domain>);
    const probe: Managed | undefined = await client.get(DOMAIN, metadata);
    return !JSON.stringify(probe?.metadata.managedFields).includes('f:conditions');
  });
}

function at<T>(list: readonly T[], index: number): T {
  const found = list[index];
  if (found === undefined) throw new Error(`nothing at ${index}`);
  return found;
}

function shown(rounds: readonly Cost[]): string {
  const median = (of: (cost: Cost) => number) =>
    rounds.map(of).sort((a, b) => a - b)[Math.floor(rounds.length / 2)] ?? 0;
  const figures = [({cpuMs}: Cost) => cpuMs, ({p50Ms}: Cost) => p50Ms, ({p99Ms}: Cost) => p99Ms].map(median);
  return [...figures.map(figure => figure.toFixed(2)), median(({managedBytes}) => managedBytes)]
    .map(text => String(text).padStart(8))
    .join('');
}

function ingress(name: string, host: string): Ingress {
  const backend = {service: {name: 'shop', port: {number: 80}}};
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: {
      name,
      namespace: NAMESPACE,
      labels: {[LABEL.managedBy]: 'nameplate', [LABEL.host]: host},
      annotations: {'nameplate.dev/host': host, 'traefik.ingress.kubernetes.io/router.tls': 'true'},
    },
    spec: {
      ingressClassName: 'traefik',
      tls: [{hosts: [host], secretName: name}],
      rules: [{host, http: {paths: [{path: '/', pathType: 'Prefix', backend}]}}],
    },
  };
}

function domain(name: string): Domain {
  return {
    apiVersion: API_VERSION,
    kind: 'Domain',
    metadata: {name, namespace: NAMESPACE},
    spec: {host: name, projectRef: {name: 'shop'}},
  };
}

function statusOf(host: string, reason: string): NonNullable<Domain['status']> {
  const types = [
    'Accepted',
    'DNSVerified',
    'Claimed',
    'CAAAllowed',
    'CertificateReady',
    'Routed',
    'Ready',
    'Reconciling',
  ];
  return {
    observedGeneration: 1,
    state: 'Unverified',
    dns: {required: [{type: 'CNAME', name: host, label: 'www', value: 'abcdefghijklmnopqrst.edge.example', ttl: 3600}]},
    conditions: types.map(type => ({
      type,
      status: 'Unknown',
      reason,
      message: `The message of ${host} for ${type} says who must do what next, in about a hundred characters: ${reason}.`,
      observedGeneration: 1,
      lastTransitionTime: '2026-01-01T00:00:00Z',
    })),
  };
}
