/**
 * What a steady state costs: live domains on a real API server (the integration tests' world: CA issuer, CoreDNS, no
 * kubelet), then idle minutes, and a restart, in which nothing should be written.
 *
 *     node bench/loop/idle.ts [MINUTES] [DOMAINS]      default 5 and 100
 *
 * Prints how long it took until the domains were live, with their records right from the start, and the API writes for
 * each, the operator's and cert-manager's; the writes of the idle time and of the restart; all by resource, from the audit
 * log. Then the operator's CPU time and memory, and how soon it puts back a route that was deleted. With 0 minutes, only
 * the first part.
 */

import {join} from 'node:path';
import {setTimeout as delay} from 'node:timers/promises';
import {ANNOTATION} from '../../src/api/names.ts';
import {accountId} from '../../src/operator/model/account.ts';
import {DerivedNames} from '../../src/operator/model/derived-names.ts';
import {DOMAIN, ENDPOINT_SLICE, INGRESS, NAMESPACE, PROJECT, SERVICE} from '../../src/operator/model/kinds.ts';
import {keyOf, objectKey} from '../../src/runtime/kube/object.ts';
import {run} from '../../test/cluster/children.ts';
import {BASE_DOMAIN, TARGET_DOMAIN} from '../../test/cluster/state.ts';
import {until} from '../../test/cluster/wait.ts';
import {startWebhook} from '../../test/integration/approval/webhook.ts';
import type {AuditEvent} from '../../test/integration/operator/audit.ts';
import {
  CERT_MANAGER_USER,
  installIngressClass,
  type OperatorWorld,
  startOperatorWorld,
} from '../../test/integration/operator/operator-world.ts';
import {RELEASE} from '../../test/support/install.ts';
import * as objects from '../../test/support/objects.ts';
import {shippedFlags} from './shipped-flags.ts';

const MINUTES = Number(process.argv[2] ?? 5);
const DOMAINS = Number(process.argv[3] ?? 100);
/** Hosts of one tenant: an account, with a namespace and a Project. */
const HOSTS = 20;
const TENANTS = Math.ceil(DOMAINS / HOSTS);
const ZONE = 'idle.test';
/** Up to 10,000 domains, where it is the default: 3 checks a second. What DNS answers writes nothing. */
const STEADY_SECONDS = Math.ceil(Math.max(60, DOMAINS * 0.36));
/** What several domains share. */
const SHARED = ['projects', 'heldhosts', 'services'];
/** Routes deleted, one after another. */
const SAMPLES = 50;

const ROOT = join(import.meta.dirname, '../..');
// As it is shipped: from the source it needs more memory.
await run([join(ROOT, 'node_modules/.bin/rolldown'), '--config', join(ROOT, 'tools/bundle.config.ts')]);
// With the heap that V8 allows itself in a container of 512 MiB, the chart's limit: half of it.
const program = [...(await shippedFlags()), '--max-old-space-size=256', join(ROOT, 'dist/operator.mjs')];
const world = await startOperatorWorld({operatorApproves: true, atScale: true, program});
const programs: {kill(): Promise<void>}[] = [];
try {
  await world.certManager.installCrds();
  programs.push(await startWebhook(world.api, world.folder)); // records who created a request
  await world.certManager.start();
  await installIngressClass(world.client);
  const dns = world.config.dns as {checks: object};
  const config = {
    plans: {pro: {customDomains: true, maxDomains: HOSTS}},
    defaultPlan: 'pro',
    certificates: {
      ...(world.config.certificates as object),
      orderBudget: {orders: 2 * DOMAINS, renewalReserve: 0, newHostsPerDomain: 2 * DOMAINS},
    },
    dns: {...dns, checks: {...dns.checks, steadySeconds: STEADY_SECONDS}},
    controller: {leaderElection: {leaseName: RELEASE.name, namespace: RELEASE.namespace}}, // of the default length
    log: {level: 'info'},
  };
  await world.startOperator('bench', config);
  await world.certManager.installIssuer(); // its own certificate waits for the operator's approval
  await becomeLive(world);
  if (MINUTES > 0) await rest(config);
} finally {
  for (const {kill} of programs) await kill();
  await world.stop();
}

async function rest(config: Readonly<Record<string, unknown>>): Promise<void> {
  await idle(world, 'after they became live');
  const before = (await world.audit.writes()).length;
  await world.operator().stop();
  const startedAt = performance.now();
  await world.startOperator('again', config);
  console.log(`restart to synced: ${Math.round(performance.now() - startedAt)} ms, with the start of Node`);
  await until('the queues are empty', async () => (await world.operator().metric('workqueue_depth')) === 0);
  await delay(10_000);
  report('the restart', (await world.audit.writes()).slice(before));
  await idle(world, 'after the restart');
  await notice(world);
}

async function becomeLive(world: OperatorWorld): Promise<void> {
  const startedAt = performance.now();
  const domains = await makeTenants(world);
  const isLive = (key: string) => world.history.get(DOMAIN, key)?.status?.state === 'Live';
  let shownAt = startedAt;
  const allLive = () => {
    if (performance.now() - shownAt > 30_000) {
      shownAt = performance.now();
      console.log(`${Math.round((shownAt - startedAt) / 1000)} s: ${domains.filter(isLive).length} live`);
    }
    return domains.every(isLive);
  };
  await until('all are live', allLive, {timeoutMs: 300_000 + DOMAINS * 1_000});
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  console.log(`${domains.length} domains live after ${seconds} s`);
  reportEach(await quiet(world), domains.length);
  reportTargets('cert-manager, for each domain', await world.audit.writes(CERT_MANAGER_USER), domains.length);
}

function reportEach(writes: readonly AuditEvent[], domains: number): void {
  const isShared = ({objectRef}: AuditEvent) => SHARED.includes(objectRef?.resource ?? '');
  const isTenants = ({objectRef}: AuditEvent) => objectRef?.namespace?.startsWith('tenant-') ?? true;
  const counted = writes.filter(isTenants);
  reportTargets(
    'ours, for each domain',
    counted.filter(event => !isShared(event)),
    domains,
  );
  reportTargets('ours, for several domains together', counted.filter(isShared), domains);
}

/** Each with its records before its Domains; the keys of the Domains. */
async function makeTenants({api, client, dns}: OperatorWorld): Promise<string[]> {
  const domains: string[] = [];
  const platform = {baseDomain: BASE_DOMAIN, targetDomain: TARGET_DOMAIN};
  const secret = ['get', 'secret', 'nameplate-platform-key', '-n', RELEASE.namespace];
  const key = await api.kubectl(...secret, '-o', 'jsonpath={.data.platform\\.key}');
  const names = new DerivedNames(Buffer.from(key, 'base64'), platform);
  await dns.addZone(ZONE);
  for (let index = 0; index < TENANTS; index++) {
    const [namespace, zone] = [`tenant-${index}`, `tenant-${index}.${ZONE}`];
    const hosts = Array.from({length: Math.min(HOSTS, DOMAINS - domains.length)}, (_, host) => `host-${host}.${zone}`);
    const tenant = await client.apply(NAMESPACE, objects.tenantNamespace(namespace, {plan: 'pro'}));
    await dns.set(`*.${zone}`, 'CNAME', [names.target(accountId(tenant))]);
    const {name: port, number} = objects.PORT;
    await client.apply(SERVICE, objects.service(namespace, 'shop', [{name: port, port: number}]));
    await client.apply(ENDPOINT_SLICE, objects.endpointSlice(namespace, 'shop', true));
    await client.apply(PROJECT, objects.project(namespace, 'shop', {aliases: hosts}));
    domains.push(...hosts.map(host => `${namespace}/${host}`));
  }
  return domains;
}

/** The writes so far, once there are no more: events are told after the fact, one after another. */
async function quiet(world: OperatorWorld): Promise<AuditEvent[]> {
  let before = -1;
  return until(
    'nothing is written any more',
    async () => {
      const writes = await world.audit.writes();
      const isQuiet = writes.length === before;
      before = writes.length;
      return isQuiet ? writes : undefined;
    },
    {timeoutMs: 120_000, intervalMs: 3_000},
  );
}

async function idle(world: OperatorWorld, when: string): Promise<void> {
  const operator = world.operator();
  const before = (await world.audit.writes()).length;
  const cpu = await operator.metric('process_cpu_seconds_total');
  const startedAt = performance.now();
  await delay(MINUTES * 60_000);
  const used = (await operator.metric('process_cpu_seconds_total')) - cpu;
  const percent = ((100_000 * used) / (performance.now() - startedAt)).toFixed(2);
  const rss = Math.round((await operator.metric('process_resident_memory_bytes')) / 2 ** 20);
  report(`${MINUTES} idle minutes ${when}`, (await world.audit.writes()).slice(before));
  console.log(`  CPU ${percent} % of a core, RSS ${rss} MiB`);
}

/** The time between the deletion of an owned route, as the API server answered it, and the sight of its successor. */
async function notice({client, history}: OperatorWorld): Promise<void> {
  const routes = history.list(INGRESS).filter(({metadata}) => metadata.annotations?.[ANNOTATION.host]?.endsWith(ZONE));
  const times: number[] = [];
  for (let sample = 0; sample < SAMPLES; sample++) {
    const route = routes[Math.floor((sample * routes.length) / SAMPLES)];
    if (!route) throw new Error('no route to delete');
    const {uid} = route.metadata;
    await client.delete(INGRESS, objectKey(route));
    const deletedAt = performance.now();
    const isBack = () => history.get(INGRESS, keyOf(route))?.metadata.uid ?? uid;
    await until('the route is put back', () => isBack() !== uid, {intervalMs: 1});
    times.push(performance.now() - deletedAt);
  }
  times.sort((a, b) => a - b);
  const [p50, p90] = [0.5, 0.9].map(q => (times[Math.floor(q * SAMPLES)] ?? Number.NaN).toFixed(1));
  console.log(`a deleted route is back after ${p50} ms (p90 ${p90} ms, ${SAMPLES} samples)`);
}

function report(what: string, writes: readonly AuditEvent[]): void {
  reportTargets(what, writes, 1);
}

function reportTargets(what: string, writes: readonly AuditEvent[], each: number): void {
  const counts = new Map<string, number>();
  for (const {verb, objectRef, responseStatus} of writes) {
    const {resource = '?', subresource} = objectRef ?? {};
    const failed = (responseStatus?.code ?? 200) >= 400 ? `, ${responseStatus?.code}` : '';
    const target = `${verb} ${subresource ? `${resource}/${subresource}` : resource}${failed}`;
    counts.set(target, (counts.get(target) ?? 0) + 1);
  }
  const shown = (count: number) => (each === 1 ? `${count}` : (count / each).toFixed(2)).padStart(8);
  console.log(`${what}: ${shown(writes.length).trim()} writes`);
  for (const [target, count] of [...counts].sort(([, a], [, b]) => b - a)) console.log(`${shown(count)}  ${target}`);
}
