/**
 * How long Domains that are applied at once, with correct DNS, take until each has its Certificate, compared with as
 * many annotated Ingresses through cert-manager's ingress-shim on the same API server. Only the Domains are verified
 * first. Meanwhile, a neighbor applies one Domain, and its time is printed, too.
 *
 *     node bench/loop/shim.ts [OBJECTS] [ROUNDS]      default 1000 and 3
 */
import {defaultDnsConfig} from '../../src/dns/dns.ts';
import {
  CERTIFICATE,
  DOMAIN,
  ENDPOINT_SLICE,
  INGRESS,
  type Ingress,
  NAMESPACE,
  PROJECT,
  SERVICE,
} from '../../src/operator/model/kinds.ts';
import {until} from '../../test/cluster/wait.ts';
import {CLUSTER_ISSUER_NAME} from '../../test/integration/operator/cert-manager.ts';
import {
  INGRESS_CLASS_NAME,
  installIngressClass,
  startOperatorWorld,
} from '../../test/integration/operator/operator-world.ts';
import * as objects from '../../test/support/objects.ts';
import {median} from '../statistics.ts';
import {shippedOperator} from './live.ts';

const OBJECTS = Number(process.argv[2] ?? 1_000);
const ROUNDS = Number(process.argv[3] ?? 3);
/** Half of the chart's memory limit. */
const HEAP_MIB = 256;
/** Concurrent requests while applying. */
const WRITERS = 16;
/** The API server is at rest if it uses less than this share of one core for this long. */
const IDLE_PERCENT = 15;
const REST_MS = 3_000;
const TIMEOUT = {timeoutMs: 60_000 + 1_500 * OBJECTS, intervalMs: 100};

interface Times {
  /** Until each has its Certificate object, and until each Certificate is ready; seconds. */
  readonly made: number;
  readonly ready: number;
}

const world = await startOperatorWorld({program: await shippedOperator(HEAP_MIB)});
const {client, dns, history} = world;
try {
  await world.certManager.install();
  await installIngressClass(client);
  const plans = {pro: {customDomains: true, maxDomains: OBJECTS}};
  const dnsConfig = world.config.dns as object;
  await world.startOperator('bench', {
    plans,
    defaultPlan: 'pro',
    dns: {...dnsConfig, checks: defaultDnsConfig.checks}, // the tests' own check each host every two seconds
    log: {level: 'info'},
  });
  const times: {domains: Times[]; ingresses: Times[]} = {domains: [], ingresses: []};
  for (let round = 0; round < ROUNDS; round++) {
    const turns = [
      async () => times.domains.push(await byDomains(`domains-${round}`)),
      async () => times.ingresses.push(await byIngresses(`ingresses-${round}`)),
    ];
    // Existing objects make each run slower than the previous one, so the two alternate in going first.
    for (const turn of round % 2 === 0 ? turns : turns.toReversed()) {
      await atRest();
      await turn();
    }
  }
  console.log(`${OBJECTS} hosts at once, ${ROUNDS} rounds, medians in seconds`);
  for (const what of ['made', 'ready'] as const) {
    const [ours, theirs] = [medianOf(times.domains, what), medianOf(times.ingresses, what)];
    const ratio = (ours / theirs).toFixed(2);
    console.log(
      `all Certificates ${what}: Domains ${ours.toFixed(1)}, ingress-shim ${theirs.toFixed(1)}, ratio ${ratio}`,
    );
  }
} finally {
  await world.stop();
}

/**
 * cert-manager sends events and deletes keys long after its Certificates are ready, which must not slow the next run.
 */
async function atRest(): Promise<void> {
  let beforeMs = 0;
  const isAtRest = () => {
    const spentMs = world.api.cpuMs() - beforeMs;
    beforeMs += spentMs;
    return spentMs < (REST_MS * IDLE_PERCENT) / 100;
  };
  await until('the API server is at rest', isAtRest, {timeoutMs: TIMEOUT.timeoutMs, intervalMs: REST_MS});
}

async function byDomains(namespace: string): Promise<Times> {
  const neighbour = `${namespace}-neighbour`;
  const [zone, theirZone] = [await deploy(namespace), await deploy(neighbour)];
  const apply = (where: string, host: string) => client.apply(DOMAIN, objects.domain(where, host, 'shop'));
  const hosts = Array.from({length: OBJECTS}, (_, index) => `host-${index}.${zone}`);
  const amid = async () => {
    await until('a tenth has its Certificate', () => certificatesOf(namespace).length >= OBJECTS / 10, TIMEOUT);
    await timed(neighbour, [`shop.${theirZone}`], host => apply(neighbour, host));
  };
  const [times] = await Promise.all([timed(namespace, hosts, host => apply(namespace, host)), amid()]);
  return times;
}

/** Creates a namespace with a deployed Project and a wildcard record. Returns its zone. */
async function deploy(namespace: string): Promise<string> {
  const zone = `${namespace}.test`;
  await dns.addZone(zone);
  await client.apply(NAMESPACE, objects.tenantNamespace(namespace, {plan: 'pro'}));
  const {name: port, number} = objects.PORT;
  await client.apply(SERVICE, objects.service(namespace, 'shop', [{name: port, port: number}]));
  await client.apply(ENDPOINT_SLICE, objects.endpointSlice(namespace, 'shop', true));
  await client.apply(PROJECT, objects.project(namespace, 'shop', {aliases: [`probe.${zone}`]}));
  const shown = () => history.get(DOMAIN, `${namespace}/probe.${zone}`)?.status?.dns?.required?.[0]?.value;
  await dns.set(`*.${zone}`, 'CNAME', [await until('the record is shown', shown)]);
  await client.apply(PROJECT, objects.project(namespace, 'shop'));
  await until('the probe is gone', () => certificatesOf(namespace).length === 0);
  return zone;
}

function certificatesOf(namespace: string) {
  return history.list(CERTIFICATE, namespace);
}

async function byIngresses(namespace: string): Promise<Times> {
  await client.apply(NAMESPACE, objects.tenantNamespace(namespace, {plan: 'pro'}));
  const hosts = Array.from({length: OBJECTS}, (_, index) => `host-${index}.${namespace}.test`);
  return await timed(namespace, hosts, host => client.apply(INGRESS, ingress(namespace, host)));
}

async function timed(namespace: string, hosts: readonly string[], apply: (host: string) => Promise<unknown>) {
  const startedAt = performance.now();
  const seconds = () => (performance.now() - startedAt) / 1000;
  const waiting = [...hosts];
  const writer = async (): Promise<void> => {
    for (let host = waiting.shift(); host; host = waiting.shift()) await apply(host);
  };
  await Promise.all(Array.from({length: WRITERS}, writer));
  await until('all have their Certificates', () => certificatesOf(namespace).length >= hosts.length, TIMEOUT);
  const made = seconds();
  const isReady = ({status}: ReturnType<typeof certificatesOf>[number]) =>
    status?.conditions?.some(({type, status: state}) => type === 'Ready' && state === 'True');
  await until('all Certificates are ready', () => certificatesOf(namespace).every(isReady), TIMEOUT);
  const ready = seconds();
  console.log(`${namespace}: created after ${made.toFixed(1)} s, ready after ${ready.toFixed(1)} s`);
  return {made, ready};
}

function ingress(namespace: string, host: string): Ingress {
  const annotations = {'cert-manager.io/cluster-issuer': CLUSTER_ISSUER_NAME};
  const backend = {service: {name: 'shop', port: {number: objects.PORT.number}}};
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: {name: host, namespace, annotations},
    spec: {
      ingressClassName: INGRESS_CLASS_NAME,
      tls: [{hosts: [host], secretName: host}],
      rules: [{host, http: {paths: [{path: '/', pathType: 'Prefix', backend}]}}],
    },
  };
}

function medianOf(times: readonly Times[], what: keyof Times): number {
  return median(times.map(each => each[what]));
}
