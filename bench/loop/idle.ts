/**
 * What a steady state costs: live domains on a real API server (the integration tests' world: CA issuer, CoreDNS, no
 * kubelet), then idle minutes and a restart, during which nothing should be written.
 *
 *     node bench/loop/idle.ts [MINUTES] [DOMAINS]      default 5 and 100
 *
 * Prints how long it took until the domains were live, with correct records from the start; the API writes per domain
 * by the operator and by cert-manager, with the share of each in the API server's time; and the writes of the idle time
 * and of the restart; all by resource, from the audit log. Then it prints the operator's CPU time and memory, and how
 * soon it restores a deleted route. With 0 minutes, it prints only the first part.
 */

import {setTimeout as delay} from 'node:timers/promises';
import {ANNOTATION} from '../../src/api/names.ts';
import {INGRESS} from '../../src/operator/kinds/kinds.ts';
import {keyOf, objectKey} from '../../src/runtime/kube/object.ts';
import {until} from '../../test/cluster/wait.ts';
import type {AuditEvent} from '../../test/integration/operator/audit.ts';
import {CERT_MANAGER_USER, type OperatorWorld} from '../../test/integration/operator/operator-world.ts';
import {ApiTime} from './api-time.ts';
import {becomeLive, idle, quiet, report, startLiveWorld, ZONE} from './live.ts';

const MINUTES = Number(process.argv[2] ?? 5);
const DOMAINS = Number(process.argv[3] ?? 100);
/** Half of the chart's memory limit. */
const HEAP_MIB = 256;
/** Kinds that several domains share. */
const SHARED = ['projects', 'services'];
/** Routes deleted, one after another. */
const SAMPLES = 50;

const {world, config, stop} = await startLiveWorld({domains: DOMAINS, heapMiB: HEAP_MIB});
try {
  const time = await ApiTime.start(world.api);
  await becomeLive(world, DOMAINS);
  await time.print();
  reportEach(await quiet(world));
  report('cert-manager, for each domain', await world.audit.writes(CERT_MANAGER_USER), DOMAINS);
  if (MINUTES > 0) await rest();
} finally {
  await stop();
}

async function rest(): Promise<void> {
  await idle(world, world.operator(), MINUTES, 'after they became live');
  const before = (await world.audit.writes()).length;
  await world.operator().stop();
  const startedAt = performance.now();
  await world.startOperator('again', config);
  console.log(`restart to synced: ${Math.round(performance.now() - startedAt)} ms, with the start of Node`);
  await until('the queues are empty', async () => (await world.operator().metric('workqueue_depth')) === 0);
  await delay(10_000);
  report('the restart', (await world.audit.writes()).slice(before));
  await idle(world, world.operator(), MINUTES, 'after the restart');
  await notice(world);
}

function reportEach(writes: readonly AuditEvent[]): void {
  const isShared = ({objectRef}: AuditEvent) => SHARED.includes(objectRef?.resource ?? '');
  const isTenants = ({objectRef}: AuditEvent) => objectRef?.namespace?.startsWith('tenant-') ?? true;
  const counted = writes.filter(isTenants);
  report(
    'ours, for each domain',
    counted.filter(event => !isShared(event)),
    DOMAINS,
  );
  report('ours, for several domains together', counted.filter(isShared), DOMAINS);
}

/** The time from the API server's answer to the deletion of an owned route until the new route is seen. */
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
    await until('the route is restored', () => isBack() !== uid, {intervalMs: 1});
    times.push(performance.now() - deletedAt);
  }
  times.sort((a, b) => a - b);
  const [p50, p90] = [0.5, 0.9].map(q => (times[Math.floor(q * SAMPLES)] ?? Number.NaN).toFixed(1));
  console.log(`a deleted route is back after ${p50} ms (p90 ${p90} ms, ${SAMPLES} samples)`);
}
