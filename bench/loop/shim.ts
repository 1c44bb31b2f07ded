/**
 * How long it takes until many hosts, applied at once with correct DNS, all have their certificates: Domains with our
 * own issuer, compared with annotated Ingresses with cert-manager's ingress-shim and ACME issuer. Both run on the full
 * cluster with Traefik, and use the same CA, which validates. Only Domains are verified first, and their time ends when
 * they are Live.
 *
 *     node bench/loop/shim.ts [HOSTS] [ROUNDS]      default 50 and 5
 */
import {join} from 'node:path';
import {CERTIFICATE, DOMAIN, INGRESS, type Ingress, NAMESPACE} from '../../src/operator/kinds/kinds.ts';
import {run} from '../../test/cluster/children.ts';
import {until} from '../../test/cluster/wait.ts';
import {settings, setup} from '../../test/e2e/setup.ts';
import {installOperator} from '../../test/support/install.ts';
import {applyPlatformIssuer} from '../../test/support/issuers.ts';
import {listAll} from '../../test/support/kube.ts';
import {median, ratios} from '../statistics.ts';

const [hosts = '50', rounds = '5', inside] = process.argv.slice(2);
const HOSTS = Number(hosts);
/** Tenants may not use cert-manager's ACME. */
const PLATFORM = 'ingresses';
/** That apply at the same time: with 1,000 of them, the API server lets some time out. */
const CLIENTS = 50;
const WAIT = {timeoutMs: 120_000 + 6_000 * HOSTS, intervalMs: 200};

if (inside) await measure();
else await withCluster();

async function withCluster(): Promise<void> {
  const cli = (...args: readonly string[]) =>
    run([process.execPath, join(import.meta.dirname, '../../test/cluster/cli.ts'), '--name', 'bench-shim', ...args]);
  try {
    await cli('up', '--load-operator');
    console.log(await cli('exec', '--', process.execPath, import.meta.filename, hosts, rounds, 'inside'));
  } finally {
    await cli('down');
  }
}

/** Runs inside the cluster, as `world.ts` requires. */
async function measure(): Promise<void> {
  const {cluster, admin, newClusterTenant} = await import('../../test/e2e/world.ts');
  await setup();
  const exempt = `config.certificates.approval.exemptNamespaces={cert-manager,pebble,traefik,${PLATFORM}}`;
  await installOperator(cluster, [...settings(cluster), `config.plans.pro.maxDomains=${HOSTS + 1}`, exempt]);
  await applyPlatformIssuer(admin, cluster.info, {orders: 10_000, newHostsPerDomain: 10_000});

  const seconds: Record<'domains' | 'ingresses', number[]> = {domains: [], ingresses: []};
  for (let round = 0; round < Number(rounds); round++) {
    await byIngresses(await byDomains());
  }
  const [ours, theirs] = [seconds.domains, seconds.ingresses];
  console.log(`${HOSTS} hosts at once, ${rounds} rounds, medians in seconds`);
  const figures = `Domains Live ${median(ours).toFixed(1)}, Ingresses with certificates ${median(theirs).toFixed(1)}`;
  console.log(`${figures}, ratio ${ratios(ours, theirs)}`);
  process.exit(0);

  /** Returns the host to which records point. */
  async function byDomains(): Promise<string> {
    const tenant = await newClusterTenant('domains');
    await tenant.applyProject({primary: tenant.host('first')});
    await tenant.createRecords(tenant.host('first'));
    await tenant.sees(tenant.host('first'), {state: 'Live'});
    const target = (await tenant.records(tenant.host('first')))[0]?.value ?? '';
    const {namespace, zone} = tenant;
    await cluster.zones.set(`*.${zone}`, 'CNAME', target);
    const isLive = async () => {
      const domains = await listAll(admin, DOMAIN, {namespace});
      return domains.filter(({status}) => status?.state === 'Live').length === HOSTS + 1;
    };
    await timed('domains', namespace, zone, host => tenant.applyDomain(host), isLive);
    return target;
  }

  async function byIngresses(target: string): Promise<void> {
    const namespace = PLATFORM;
    await admin.apply(NAMESPACE, {apiVersion: 'v1', kind: 'Namespace', metadata: {name: namespace}});
    const zone = `${namespace}.test`;
    await cluster.zones.addZone(zone);
    await cluster.zones.set(`*.${zone}`, 'CNAME', target);
    const apply = (host: string) => admin.apply(INGRESS, ingress(namespace, host, cluster.info.issuers.acme));
    const isReady = async () => {
      const conditions = (await listAll(admin, CERTIFICATE, {namespace})).map(({status}) => status?.conditions ?? []);
      const has = conditions.filter(all => all.some(({type, status}) => type === 'Ready' && status === 'True'));
      return has.length === HOSTS;
    };
    await timed('ingresses', namespace, zone, apply, isReady);
  }

  /** Removes the namespace afterwards: cert-manager looks at all CertificateRequests for each event of a Secret. */
  async function timed(
    who: keyof typeof seconds,
    namespace: string,
    zone: string,
    apply: (host: string) => Promise<unknown>,
    isDone: () => Promise<boolean>,
  ): Promise<void> {
    const startMs = performance.now();
    const hosts = Array.from({length: HOSTS}, (_, n) => `host-${n}.${zone}`).values();
    const applyNext = async () => {
      for (const host of hosts) await apply(host);
    };
    await Promise.all(Array.from({length: CLIENTS}, applyNext));
    await until(`${namespace}: all have their certificates`, isDone, WAIT);
    const took = (performance.now() - startMs) / 1000;
    seconds[who].push(took);
    console.error(`${namespace}: ${took.toFixed(1)} s`);
    await admin.delete(NAMESPACE, {name: namespace});
    const isGone = async () => (await admin.get(NAMESPACE, {name: namespace})) === undefined;
    await until(`${namespace} is gone`, isGone, WAIT);
  }
}

function ingress(namespace: string, host: string, issuer: string): Ingress {
  const service = {name: 'web', port: {number: 80}};
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: {name: host, namespace, annotations: {'cert-manager.io/cluster-issuer': issuer}},
    spec: {
      ingressClassName: 'traefik',
      tls: [{hosts: [host], secretName: host}],
      rules: [{host, http: {paths: [{path: '/', pathType: 'Prefix', backend: {service}}]}}],
    },
  };
}
