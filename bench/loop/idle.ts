/**
 * What a steady state costs: live domains on a real API server (the integration tests' world: CA issuer, CoreDNS, no
 * kubelet), then idle minutes, and a restart, in which nothing should be written.
 *
 *     node bench/loop/idle.ts [MINUTES] [DOMAINS]      default 5 and 100
 *
 * Prints the API writes that made the domains live and how long that took, those of the idle time and of the restart,
 * by resource, from the audit log; and the operator's CPU time and memory.
 */
import {setTimeout as delay} from 'node:timers/promises';
import {DOMAIN, ENDPOINT_SLICE, NAMESPACE, PROJECT, SERVICE} from '../../src/operator/resources.ts';
import {until} from '../../test/cluster/wait.ts';
import type {AuditEvent} from '../../test/integration/operator/audit.ts';
import {installIngressClass, startWorld, type World} from '../../test/integration/operator/world.ts';
import * as objects from '../../test/support/objects.ts';

const MINUTES = Number(process.argv[2] ?? 5);
const DOMAINS = Number(process.argv[3] ?? 100);
/** Hosts that one Project lists. */
const HOSTS = 20;
const PROJECTS = Math.ceil(DOMAINS / HOSTS);
const TENANT = 'idle';
const ZONE = 'idle.test';
/** Each name is asked for once in each idle minute, sixty times as often as by default: what DNS answers writes nothing. */
const STEADY_SECONDS = 60;

const world = await startWorld();
try {
  await world.certManager.install();
  await installIngressClass(world.client);
  const dns = world.config.dns as {checks: object};
  const config = {
    plans: {pro: {customDomains: true, maxDomains: DOMAINS}},
    defaultPlan: 'pro',
    dns: {...dns, checks: {...dns.checks, steadySeconds: STEADY_SECONDS}},
    log: {level: 'info'},
  };
  await world.startOperator('bench', config);
  await becomeLive(world);
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
} finally {
  await world.stop();
}

async function becomeLive(world: World): Promise<void> {
  const startedAt = performance.now();
  const hosts = await makeTenant(world);
  const isLive = (host: string) => world.history.get(DOMAIN, `${TENANT}/${host}`)?.status?.state === 'Live';
  let shownAt = startedAt;
  const allLive = () => {
    if (performance.now() - shownAt > 30_000) {
      shownAt = performance.now();
      console.log(`${Math.round((shownAt - startedAt) / 1000)} s: ${hosts.filter(isLive).length} live`);
    }
    return hosts.every(isLive);
  };
  await until('all are live', allLive, {timeoutMs: 300_000 + DOMAINS * 1_000});
  const writes = await world.audit.writes();
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  console.log(`${hosts.length} domains live after ${seconds} s`);
  report('becoming live', writes);
  console.log(`  ${(writes.length / hosts.length).toFixed(1)} a domain`);
}

/** Projects that list the hosts, and then the records, all at once. */
async function makeTenant({client, dns, history}: World): Promise<string[]> {
  const hosts: string[] = [];
  await dns.addZone(ZONE);
  await client.apply(NAMESPACE, objects.namespace(TENANT, {plan: 'pro'}));
  for (let index = 0; index < PROJECTS; index++) {
    const name = `shop-${index}`;
    const {name: port, number} = objects.PORT;
    await client.apply(SERVICE, objects.service(TENANT, name, [{name: port, port: number}]));
    await client.apply(ENDPOINT_SLICE, objects.endpointSlice(TENANT, name, true));
    const aliases = Array.from({length: HOSTS}, (_, alias) => `host-${alias}.${name}.${ZONE}`);
    await client.apply(PROJECT, objects.project(TENANT, name, {aliases}));
    hosts.push(...aliases);
  }
  const first = `${TENANT}/host-0.shop-0.${ZONE}`;
  const target = await until(
    'the records are shown',
    () => history.get(DOMAIN, first)?.status?.dns?.required?.[0]?.value,
  );
  for (let index = 0; index < PROJECTS; index++) await dns.set(`*.shop-${index}.${ZONE}`, 'CNAME', [target]);
  return hosts;
}

async function idle(world: World, when: string): Promise<void> {
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

function report(what: string, writes: readonly AuditEvent[]): void {
  const counts = new Map<string, number>();
  for (const {verb, objectRef} of writes) {
    const {resource = '?', subresource} = objectRef ?? {};
    const target = `${verb} ${subresource ? `${resource}/${subresource}` : resource}`;
    counts.set(target, (counts.get(target) ?? 0) + 1);
  }
  console.log(`${what}: ${writes.length} writes`);
  for (const [target, count] of [...counts].sort(([, a], [, b]) => b - a)) {
    console.log(`  ${String(count).padStart(6)}  ${target}`);
  }
}
