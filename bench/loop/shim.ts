/**
 * How long Domains that are applied at once, with correct DNS, take until each has its Certificate, compared with as
 * many annotated Ingresses through cert-manager's ingress-shim. Only the Domains are verified first. Meanwhile, a
 * neighbor applies one Domain, and its time is printed, too. Each turn has a cluster of its own.
 *
 *     node bench/loop/shim.ts [OBJECTS] [ROUNDS]      default 1000 and 5
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
} from '../../src/operator/kinds/kinds.ts';
import {until} from '../../test/cluster/wait.ts';
import {CLUSTER_ISSUER_NAME} from '../../test/integration/operator/cert-manager.ts';
import {
  INGRESS_CLASS_NAME,
  installIngressClass,
  type OperatorWorld,
  startOperatorWorld,
} from '../../test/integration/operator/operator-world.ts';
import * as objects from '../../test/support/objects.ts';
import {median, ratios} from '../statistics.ts';
import {shippedOperator} from './live.ts';

const OBJECTS = Number(process.argv[2] ?? 1_000);
const ROUNDS = Number(process.argv[3] ?? 5);
/** Half of the chart's memory limit. */
const HEAP_MIB = 256;
/** Concurrent requests while applying. */
const WRITERS = 16;
const TIMEOUT = {timeoutMs: 60_000 + 1_500 * OBJECTS, intervalMs: 100};

interface Times {
  /** Until each has its Certificate object, and until each Certificate is ready; seconds. */
  readonly made: number;
  readonly ready: number;
}

const program = await shippedOperator(HEAP_MIB);
const times: Record<'domains' | 'ingresses', Times[]> = {domains: [], ingresses: []};
for (let round = 0; round < ROUNDS; round++) {
  const turns = [
    async () => times.domains.push(await inNewCluster(world => byDomains(world))),
    async () => times.ingresses.push(await inNewCluster(world => byIngresses(world))),
  ];
  for (const turn of round % 2 === 0 ? turns : turns.toReversed()) await turn();
}
console.log(`${OBJECTS} hosts at once, ${ROUNDS} rounds, medians in seconds`);
for (const what of ['made', 'ready'] as const) {
  const [ours, theirs] = [times.domains.map(each => each[what]), times.ingresses.map(each => each[what])];
  const figures = `Domains ${median(ours).toFixed(1)}, ingress-shim ${median(theirs).toFixed(1)}`;
  console.log(`all Certificates ${what}: ${figures}, ratio ${ratios(ours, theirs)}`);
}

/**
 * For each event of a Secret, cert-manager looks at all CertificateRequests of the cluster. Those of earlier turns would
 * slow down later ones.
 */
async function inNewCluster(turn: (world: OperatorWorld) => Promise<Times>): Promise<Times> {
  const world = await startOperatorWorld({program});
  try {
    await world.certManager.install();
    await installIngressClass(world.client);
    const plans = {pro: {customDomains: true, maxDomains: OBJECTS}};
    await world.startOperator('bench', {
      plans,
      defaultPlan: 'pro',
      dns: {...(world.config.dns as object), checks: defaultDnsConfig.checks}, // the tests' own: every two seconds
      log: {level: 'info'},
    });
    return await turn(world);
  } finally {
    await world.stop();
  }
}

async function byDomains(world: OperatorWorld): Promise<Times> {
  const [namespace, neighbor] = ['domains', 'neighbor'];
  const [zone, theirZone] = [await deploy(world, namespace), await deploy(world, neighbor)];
  const apply = (where: string, host: string) => world.client.apply(DOMAIN, objects.domain(where, host, 'shop'));
  const hosts = Array.from({length: OBJECTS}, (_, index) => `host-${index}.${zone}`);
  const amid = async () => {
    const isTenth = () => world.history.list(CERTIFICATE, namespace).length >= OBJECTS / 10;
    await until('a tenth has its Certificate', isTenth, TIMEOUT);
    await timed(world, neighbor, [`shop.${theirZone}`], host => apply(neighbor, host));
  };
  const [times] = await Promise.all([timed(world, namespace, hosts, host => apply(namespace, host)), amid()]);
  return times;
}

/** Creates a namespace with a deployed Project and a wildcard record. Returns its zone. */
async function deploy({client, dns, history}: OperatorWorld, namespace: string): Promise<string> {
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
  await until('the probe is gone', () => history.list(CERTIFICATE, namespace).length === 0);
  return zone;
}

async function byIngresses(world: OperatorWorld): Promise<Times> {
  const namespace = 'ingresses';
  await world.client.apply(NAMESPACE, objects.tenantNamespace(namespace, {plan: 'pro'}));
  const hosts = Array.from({length: OBJECTS}, (_, index) => `host-${index}.${namespace}.test`);
  return await timed(world, namespace, hosts, host => world.client.apply(INGRESS, ingress(namespace, host)));
}

async function timed(
  {history}: OperatorWorld,
  namespace: string,
  hosts: readonly string[],
  apply: (host: string) => Promise<unknown>,
): Promise<Times> {
  const certificates = () => history.list(CERTIFICATE, namespace);
  const startedAt = performance.now();
  const seconds = () => (performance.now() - startedAt) / 1000;
  const waiting = [...hosts];
  const writer = async (): Promise<void> => {
    for (let host = waiting.shift(); host; host = waiting.shift()) await apply(host);
  };
  await Promise.all(Array.from({length: WRITERS}, writer));
  await until('all have their Certificates', () => certificates().length >= hosts.length, TIMEOUT);
  const made = seconds();
  const isReady = ({status}: ReturnType<typeof certificates>[number]) =>
    status?.conditions?.some(({type, status: state}) => type === 'Ready' && state === 'True');
  await until('all Certificates are ready', () => certificates().every(isReady), TIMEOUT);
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
