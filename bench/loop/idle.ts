/**
 * What a steady state costs: 100 live domains on a real API server (the integration tests' world: CA issuer, CoreDNS, no
 * kubelet), then idle minutes in which nothing should be written.
 *
 *     node bench/loop/idle.ts [MINUTES]      default 5
 *
 * Prints the API writes that made the domains live, and those of the idle time, by resource, from the audit log.
 */
import {setTimeout as delay} from 'node:timers/promises';
import {DOMAIN, ENDPOINT_SLICE, NAMESPACE, PROJECT, SERVICE} from '../../src/operator/resources.ts';
import {until} from '../../test/cluster/wait.ts';
import type {AuditEvent} from '../../test/integration/operator/audit.ts';
import {installIngressClass, startWorld, type World} from '../../test/integration/operator/world.ts';
import * as objects from '../../test/support/objects.ts';

const DOMAINS = 100;
const PROJECTS = 5;
const TENANT = 'idle';
const ZONE = 'idle.test';

const minutes = Number(process.argv[2] ?? 5);
const world = await startWorld();
try {
  await world.certManager.install();
  await installIngressClass(world.client);
  await world.startOperator('bench', {plans: {pro: {customDomains: true, maxDomains: DOMAINS}}, defaultPlan: 'pro'});
  await makeTenant(world);
  const live = await world.audit.writes();
  console.log(`${DOMAINS} domains live: ${live.length} writes, ${(live.length / DOMAINS).toFixed(1)} a domain`);
  console.log(summarize(live));
  await delay(minutes * 60_000);
  const idle = (await world.audit.writes()).slice(live.length);
  console.log(
    `${minutes} idle minutes: ${idle.length} writes (goal 0)${idle.length > 0 ? `\n${summarize(idle)}` : ''}`,
  );
} finally {
  await world.stop();
}

async function makeTenant({client, dns, history}: World): Promise<void> {
  const hosts: string[] = [];
  await dns.addZone(ZONE);
  await client.apply(NAMESPACE, objects.namespace(TENANT, {plan: 'pro'}));
  for (let index = 0; index < PROJECTS; index++) {
    const name = `shop-${index}`;
    await client.apply(
      SERVICE,
      objects.service(
        TENANT,
        name,
        [objects.PORT].map(({name, number}) => ({name, port: number})),
      ),
    );
    await client.apply(ENDPOINT_SLICE, objects.endpointSlice(TENANT, name, true));
    const aliases = Array.from({length: DOMAINS / PROJECTS}, (_, alias) => `host-${alias}.${name}.${ZONE}`);
    await client.apply(PROJECT, objects.project(TENANT, name, {aliases}));
    hosts.push(...aliases);
  }
  const first = `${TENANT}/host-0.shop-0.${ZONE}`;
  const target = await until(
    'the records are shown',
    () => history.get(DOMAIN, first)?.status?.dns?.required?.[0]?.value,
  );
  for (let index = 0; index < PROJECTS; index++) await dns.set(`*.shop-${index}.${ZONE}`, 'CNAME', [target ?? '']);
  const isLive = (host: string) => history.get(DOMAIN, `${TENANT}/${host}`)?.status?.state === 'Live';
  await until('all are live', () => hosts.every(isLive), {timeoutMs: 300_000});
}

function summarize(writes: readonly AuditEvent[]): string {
  const counts = new Map<string, number>();
  for (const {verb, objectRef} of writes) {
    const {resource = '?', subresource} = objectRef ?? {};
    const what = `${verb} ${subresource ? `${resource}/${subresource}` : resource}`;
    counts.set(what, (counts.get(what) ?? 0) + 1);
  }
  const rows = [...counts]
    .sort(([, a], [, b]) => b - a)
    .map(([what, count]) => `  ${String(count).padStart(6)}  ${what}`);
  return rows.join('\n');
}
