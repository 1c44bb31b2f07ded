/**
 * Live domains on a real API server, for the benches: the integration tests' world (CA issuer, CoreDNS, no kubelet) and
 * the operator as it is shipped. The records of each tenant exist before its Domains.
 */
import {join} from 'node:path';
import {setTimeout as delay} from 'node:timers/promises';
import {defaultDnsConfig} from '../../src/dns/config.ts';
import {accountId} from '../../src/operator/kinds/account.ts';
import {DerivedNames} from '../../src/operator/kinds/derived-names.ts';
import {DOMAIN, ENDPOINT_SLICE, NAMESPACE, PROJECT, SERVICE} from '../../src/operator/kinds/kinds.ts';
import {run} from '../../test/cluster/children.ts';
import {BASE_DOMAIN, TARGET_DOMAIN} from '../../test/cluster/state.ts';
import {until} from '../../test/cluster/wait.ts';
import {startWebhook} from '../../test/integration/approval/webhook.ts';
import type {AuditEvent} from '../../test/integration/operator/audit.ts';
import {
  installIngressClass,
  type OperatorWorld,
  startOperatorWorld,
} from '../../test/integration/operator/operator-world.ts';
import {RELEASE} from '../../test/support/install.ts';
import * as objects from '../../test/support/objects.ts';
import type {OperatorProcess} from '../../test/support/operator-process.ts';
import {shippedFlags} from './shipped-flags.ts';

/** Hosts of one tenant: an account, with a namespace and a Project. */
export const HOSTS = 20;
export const ZONE = 'idle.test';

const ROOT = join(import.meta.dirname, '../..');

export interface LiveWorld {
  readonly world: OperatorWorld;
  /** Node's flags and the operator's file. */
  readonly program: readonly string[];
  /** The operator's configuration. */
  readonly config: Readonly<Record<string, unknown>>;
  stop(): Promise<void>;
}

/** Node's flags and the operator's file, which is bundled because the source needs more memory. */
export async function shippedOperator(heapMiB: number): Promise<string[]> {
  await run([join(ROOT, 'node_modules/.bin/rolldown'), '--config', join(ROOT, 'tools/bundle.config.ts')]);
  return [...(await shippedFlags()), `--max-old-space-size=${heapMiB}`, join(ROOT, 'dist/operator.mjs')];
}

/** `heapMiB`: half of a container's memory, as V8 would choose by default. */
export async function startLiveWorld({domains, heapMiB}: {domains: number; heapMiB: number}): Promise<LiveWorld> {
  const program = await shippedOperator(heapMiB);
  const world = await startOperatorWorld({operatorApproves: true, atScale: true, program});
  const programs: {kill(): Promise<void>}[] = [];
  const stop = async () => {
    for (const {kill} of programs) await kill();
    await world.stop();
  };
  try {
    await world.certManager.installCrds();
    programs.push(await startWebhook(world.api, world.folder)); // records who created a request
    await world.certManager.start();
    await installIngressClass(world.client);
    const config = configFor(world, domains);
    await world.startOperator('bench', config);
    await world.certManager.installIssuer(); // its own certificate waits for the operator's approval
    return {world, program, config, stop};
  } catch (error) {
    await stop();
    throw error;
  }
}

function configFor(world: OperatorWorld, domains: number): Readonly<Record<string, unknown>> {
  // Up to 10,000 domains, 3 checks per second. With more, the default. What DNS answers causes no writes.
  const steadySeconds = Math.min(3600, Math.ceil(Math.max(60, domains * 0.36)));
  const checks = {...defaultDnsConfig.checks, steadySeconds};
  return {
    ...world.config,
    plans: {pro: {customDomains: true, maxDomains: HOSTS}},
    defaultPlan: 'pro',
    dns: {...(world.config.dns as object), checks},
    controller: {leaderElection: {leaseName: RELEASE.name, namespace: RELEASE.namespace}}, // with the default length
    log: {level: 'info'},
  };
}

/** The platform key of the operator that is running. */
export async function namesOf({api}: OperatorWorld): Promise<DerivedNames> {
  const secret = ['get', 'secret', 'nameplate-platform-key', '-n', RELEASE.namespace];
  const key = await api.kubectl(...secret, '-o', 'jsonpath={.data.platform\\.key}');
  return new DerivedNames(Buffer.from(key, 'base64'), {baseDomain: BASE_DOMAIN, targetDomain: TARGET_DOMAIN});
}

/** Resolves once all are live. */
export async function becomeLive(world: OperatorWorld, count: number): Promise<void> {
  const startedAt = performance.now();
  const domains = await makeTenants(world, count);
  const isLive = (key: string) => world.history.get(DOMAIN, key)?.status?.state === 'Live';
  let shownAt = startedAt;
  const allLive = () => {
    if (performance.now() - shownAt > 30_000) {
      shownAt = performance.now();
      console.log(`${Math.round((shownAt - startedAt) / 1000)} s: ${domains.filter(isLive).length} live`);
    }
    return domains.every(isLive);
  };
  await until('all are live', allLive, {timeoutMs: 300_000 + count * 1_000});
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  console.log(`${domains.length} domains live after ${seconds} s`);
}

/** Creates the records of each tenant before its Domains. Returns the keys of the Domains. */
async function makeTenants(world: OperatorWorld, count: number): Promise<string[]> {
  const {client, dns} = world;
  const domains: string[] = [];
  const names = await namesOf(world);
  await dns.addZone(ZONE);
  for (let index = 0; domains.length < count; index++) {
    const [namespace, zone] = [`tenant-${index}`, `tenant-${index}.${ZONE}`];
    const hosts = Array.from({length: Math.min(HOSTS, count - domains.length)}, (_, host) => `host-${host}.${zone}`);
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

/** Whether each Domain was reconciled at least once since the operator started. */
export async function hasReconciled(operator: OperatorProcess, domains: number): Promise<boolean> {
  const reconciled = await operator.metric('controller_runtime_reconcile_total', {controller: 'domain'});
  return reconciled >= domains && (await operator.metric('workqueue_depth')) === 0;
}

/** The writes so far, once there are no more. Events lag behind, because they are sent one after another. */
export async function quiet(world: OperatorWorld): Promise<AuditEvent[]> {
  let before = -1;
  return until(
    'nothing is written anymore',
    async () => {
      const writes = await world.audit.writes();
      const isQuiet = writes.length === before;
      before = writes.length;
      return isQuiet ? writes : undefined;
    },
    {timeoutMs: 120_000, intervalMs: 3_000},
  );
}

/** Prints the writes during idle minutes, and what these minutes cost the operator. */
export async function idle(
  {audit}: OperatorWorld,
  operator: OperatorProcess,
  minutes: number,
  when: string,
): Promise<void> {
  const before = (await audit.writes()).length;
  const cpu = await operator.metric('process_cpu_seconds_total');
  const startedAt = performance.now();
  await delay(minutes * 60_000);
  const used = (await operator.metric('process_cpu_seconds_total')) - cpu;
  const percent = (100_000 * used) / (performance.now() - startedAt);
  const rss = Math.round((await operator.metric('process_resident_memory_bytes')) / 2 ** 20);
  report(`${minutes} idle minutes ${when}`, (await audit.writes()).slice(before));
  console.log(`  CPU ${percent.toFixed(2)} % of a core, RSS ${rss} MiB`);
}

export function report(what: string, writes: readonly AuditEvent[], each = 1): void {
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
