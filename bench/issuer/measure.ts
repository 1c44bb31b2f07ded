/**
 * Takes hosts to Live, one after the other, on the cluster of a checkout, and removes them. Runs inside that cluster and
 * prints one line of JSON (`Figures`). `bench.ts` starts it, for this checkout and for another.
 *
 *     node test/cluster/cli.ts exec --name NAME -- node bench/issuer/measure.ts CHECKOUT HOSTS
 */
import {join} from 'node:path';
import {setTimeout as sleep} from 'node:timers/promises';
import {routeName} from '../../src/operator/kinds/derived-names.ts';
import {CERTIFICATE, NAMESPACE, SECRET} from '../../src/operator/kinds/kinds.ts';
import type {KubeClient} from '../../src/runtime/kube/client.ts';
import type {Cluster} from '../../test/cluster/cluster.ts';
import type {ClusterTenant} from '../../test/support/cluster-tenant.ts';

/** Seconds, for each host; writes of all programs, without Leases and Events, for one host. */
export interface Figures {
  readonly secret: readonly number[];
  readonly live: readonly number[];
  readonly writes: number;
  /** Until as many hosts are Live that are applied at once. */
  readonly burst: number;
}

/** How exact the times are. */
const LOOK_MS = 20;
/** Until the programs have removed what they needed only for a certificate. */
const CLEANUP_MS = 5_000;

const [checkout = '', count = '10'] = process.argv.slice(2);
/** Of both checkouts. */
interface World {
  readonly cluster: Cluster;
  readonly admin: KubeClient;
  /** Before the own issuer, a tenant had an Issuer of cert-manager. */
  newClusterTenant(name: string, options: {readonly issuer: 'acme'}): Promise<ClusterTenant>;
}

const {setup} = await import(join(checkout, 'test/e2e/setup.ts'));
const {cluster, admin, newClusterTenant} = (await import(join(checkout, 'test/e2e/world.ts'))) as World;

await setup();
const tenant = await newClusterTenant('bench', {issuer: 'acme'});
const named = (prefix: string) => Array.from({length: Number(count)}, (_, n) => tenant.host(`${prefix}-${n}`));
const [hosts, together] = [named('host'), named('together')];
await tenant.applyProject({primary: tenant.host('first')});
await tenant.createRecords(tenant.host('first'));
await tenant.sees(tenant.host('first'), {state: 'Live'});
// All hosts of an account have the same target.
const [record] = await tenant.records(tenant.host('first'));
for (const host of [...hosts, ...together]) await cluster.zones.set(host, 'CNAME', record?.value ?? '');

const secret: number[] = [];
const live: number[] = [];
const before = await writes();
for (const host of hosts) {
  await tenant.applyDomain(host);
  const startMs = performance.now();
  const key = {namespace: tenant.namespace, name: routeName(tenant.namespace, host)};
  const certificateMs = await seen(async () => (await admin.get(CERTIFICATE, key)) !== undefined);
  const secretMs = await seen(async () => (await admin.get(SECRET, key)) !== undefined);
  const liveMs = await seen(() => isLive(host));
  secret.push((secretMs - certificateMs) / 1000);
  live.push((liveMs - startMs) / 1000);
}
await sleep(CLEANUP_MS);
const written = ((await writes()) - before) / hosts.length;
const startMs = performance.now();
await Promise.all(together.map(host => tenant.applyDomain(host)));
for (const host of together) await seen(() => isLive(host));
const burst = (performance.now() - startMs) / 1000;
const figures: Figures = {secret, live, writes: written, burst};
await admin.delete(NAMESPACE, {name: tenant.namespace});
console.log(JSON.stringify(figures));
process.exit(0);

async function isLive(host: string): Promise<boolean> {
  return (await tenant.domain(host))?.status?.state === 'Live';
}

async function seen(is: () => Promise<boolean>): Promise<number> {
  while (!(await is())) await sleep(LOOK_MS);
  return performance.now();
}

/** By all programs since the API server started, without those that only report or review. */
async function writes(): Promise<number> {
  const metrics = await cluster.kubectl('get', '--raw', '/metrics');
  let sum = 0;
  for (const [, labels = '', value] of metrics.matchAll(/^apiserver_request_total\{(.+)\} (\S+)$/gm)) {
    const label = (name: string) => new RegExp(`\\b${name}="([^"]*)"`).exec(labels)?.[1] ?? '';
    const isWrite =
      ['POST', 'PUT', 'PATCH', 'APPLY', 'DELETE'].includes(label('verb')) && label('code').startsWith('2');
    if (isWrite && !/^(leases|events|.*reviews|)$/.test(label('resource'))) sum += Number(value);
  }
  return sum;
}
