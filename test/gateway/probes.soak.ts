/**
 * 100 hosts with the default pauses between probes: no false alarm in an hour (SOAK_MINUTES), then each fault is
 * reported.
 */
import {setTimeout as delay} from 'node:timers/promises';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {findCondition} from '../../src/api/conditions.ts';
import {DOMAIN, type Domain} from '../../src/operator/kinds/kinds.ts';
import {settings} from '../e2e/setup.ts';
import {admin, cluster, newClusterTenant} from '../e2e/world.ts';
import type {ClusterTenant} from '../support/cluster-tenant.ts';
import {installOperator, leaderPod, RELEASE} from '../support/install.ts';
import {follow} from '../support/kube.ts';
import {probeFaults} from './probes.suite.ts';

const MINUTES = Number(process.env.SOAK_MINUTES ?? 60);
const TENANTS = 5;
const HOSTS_OF_A_TENANT = 20;
/** The default: with 100 hosts, `config.probes.perSecond` allows more. */
const PAUSE_SECONDS = 15;

const alarms: string[] = [];
const namespaces = new Set<string>();
let stopFollowing: (() => Promise<void>) | undefined;

beforeAll(async () => {
  // This test is not about certificates, and ACME would take minutes.
  const {fast} = cluster.info.issuers;
  await installOperator(cluster, [
    ...settings(cluster),
    `config.certificates.issuerRef.name=${fast}`,
    'config.certificates.issuerRef.kind=ClusterIssuer',
    'config.certificates.issuerRef.group=cert-manager.io',
  ]);
  for (let index = 0; index < TENANTS; index++) {
    const tenant = await newClusterTenant(`soak-${index}`);
    const aliases = Array.from({length: HOSTS_OF_A_TENANT}, (_, host) => tenant.host(`h${host}`));
    await tenant.goLive({aliases});
    await seesAllProbed(tenant, aliases);
    namespaces.add(tenant.namespace);
  }
  stopFollowing = follow(admin, DOMAIN, {}, noteAlarm);
}, 900_000);
afterAll(() => stopFollowing?.());

async function seesAllProbed(tenant: ClusterTenant, hosts: readonly string[]): Promise<void> {
  await Promise.all(hosts.map(host => tenant.sees(host, {state: 'Live', Probed: 'Answering'})));
}

function noteAlarm({metadata: {namespace = '', name}, status}: Domain): void {
  if (!namespaces.has(namespace)) return;
  const probed = findCondition(status?.conditions, 'Probed');
  if (status?.state === 'Live' && probed?.status === 'True') return;
  alarms.push(`${new Date().toISOString()} ${name}: ${status?.state}, ${probed?.reason}: ${probed?.message}`);
}

test(
  `${MINUTES} minutes without a false alarm`,
  async () => {
    const before = await probes();
    await delay(MINUTES * 60_000); // the test shows the absence of something
    const after = await probes();
    expect(alarms).toEqual([]);
    expect(others(after)).toEqual(others(before));
    const seen = (after.get('Answering') ?? 0) - (before.get('Answering') ?? 0);
    const expected = (MINUTES * 60 * TENANTS * HOSTS_OF_A_TENANT) / PAUSE_SECONDS;
    expect(seen).toBeGreaterThan(0.8 * expected);
    console.log(`${seen} probes in ${MINUTES} minutes`);
  },
  (MINUTES + 5) * 60_000,
);

probeFaults();

test('the other hosts stayed live during these faults', () => expect(alarms).toEqual([]));

/** The leader's probes since it started, by result. */
async function probes(): Promise<Map<string, number>> {
  const pod = await leaderPod(cluster);
  const metrics = await cluster.kubectl(
    'get',
    '--raw',
    `/api/v1/namespaces/${RELEASE.namespace}/pods/${pod}:8080/proxy/metrics`,
  );
  const found = metrics.matchAll(/^nameplate_probes_total\{reason="(\w+)"\} (\d+)$/gm);
  return new Map([...found].map(([, reason = '', count]) => [reason, Number(count)]));
}

function others(counts: ReadonlyMap<string, number>): [string, number][] {
  return [...counts].filter(([reason]) => reason !== 'Answering');
}
