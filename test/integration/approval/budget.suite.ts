/** How orders of the CA account are shared. Each test continues from the previous test's state. */
import {beforeAll, expect, test} from 'vitest';
import {routeName} from '../../../src/operator/model/derived-names.ts';
import {
  CERTIFICATE,
  CERTIFICATE_REQUEST,
  type CertificateRequest,
  DOMAIN,
  DOMAIN_CLAIM,
  HELD_HOSTS,
  PROJECT,
} from '../../../src/operator/model/kinds.ts';
import {until} from '../../cluster/wait.ts';
import {CLUSTER_ISSUER_NAME} from '../operator/cert-manager.ts';
import {quiet} from '../operator/disturbance.suite.ts';
import {type DomainTenant, newDomainTenant} from '../operator/domain-tenant.ts';
import type {OperatorWorld} from '../operator/operator-world.ts';
import {signingRequest} from './signing-request.ts';

const WINDOW_SECONDS = 3600;
/** Orders for new hosts in addition to those of the previous tests. A single tenant gets three of the four. */
const FREE = 4;
const RESERVE = 2;
const WAITS = {state: 'Verified', CertificateReady: 'OrderBudget', Ready: 'OrderBudget'} as const;

export function budgetSuite(world: () => OperatorWorld): void {
  let greedy: DomainTenant;
  let modest: DomainTenant;
  let late: DomainTenant;
  let config: Record<string, unknown>;

  beforeAll(async () => {
    await world().operator().stop();
    const orders = ordersMade(world()).length + FREE + RESERVE;
    config = withBudget(world(), {orders, renewalReserve: RESERVE, windowSeconds: WINDOW_SECONDS});
    await world().startOperator('budget', config);
    greedy = await newDomainTenant(world(), 'greedy');
    modest = await newDomainTenant(world(), 'modest');
    late = await newDomainTenant(world(), 'late');
  });

  test("a tenant with many hosts leaves room for another's first host, and sees when its own continue", async () => {
    const hosts = Array.from({length: 6}, (_, n) => greedy.host(`h${n}`));
    await greedy.deployedProject({aliases: hosts});
    for (const host of hosts) await greedy.createRecords(host);
    const waiting = () => hosts.filter(host => reasonOf(greedy, host) === 'OrderBudget');
    const live = () => hosts.filter(host => greedy.domain(host)?.status?.state === 'Live');
    await greedy.until('each of them is live or waits', () => waiting().length + live().length === hosts.length);
    const leaves = Math.min(...ordersMade(world())) + WINDOW_SECONDS * 1000;
    for (const host of waiting()) {
      const {status} = await greedy.becomes(host, WAITS, [
        'The certificate order is queued: the platform',
        'No action needed; Nameplate will place the order at 2',
      ]);
      expect(Date.parse(status?.certificate?.nextAttemptAt ?? '')).toBeGreaterThanOrEqual(leaves);
    }
    expect(hosts.flatMap(host => timesOf(greedy, host))).toHaveLength(FREE - 1);

    await proved(modest, modest.host('shop'));
    await modest.becomesLive(modest.host('shop'));
  });

  test('a renewal continues while new hosts wait', async () => {
    const host = modest.host('shop');
    const key = {namespace: modest.namespace, name: routeName(modest.namespace, host)};
    await world().client.patch(CERTIFICATE, key, {spec: {renewBefore: '2159h59m59s'}});
    const renewals = () => modest.claim(host)?.spec.orders?.filter(({renewal}) => renewal) ?? [];
    await modest.until('a renewal is ordered', () => renewals().length > 0);
    await world().client.patch(CERTIFICATE, key, {spec: {renewBefore: null}});
    await modest.until('it is renewed', () => (modest.certificate(host)?.status?.revision ?? 0) > 1);
    await modest.becomesLive(host);
  });

  test('a new leader knows the past orders: waiting tenants keep waiting, unchanged, and so does the next tenant', async () => {
    await quiet(world());
    const waiting = hostsThatWait(greedy);
    const before = waiting.map(host => greedy.domain(host)?.metadata.resourceVersion);
    await world().operator().stop();
    await world().startOperator('budget-again', config);
    await proved(late, late.host('shop'));
    await late.becomes(late.host('shop'), WAITS);
    expect(waiting.map(host => greedy.domain(host)?.metadata.resourceVersion)).toEqual(before);
  });

  test('an order that was recorded before the operator crashed is approved, and counts once', async () => {
    const host = late.host('shop');
    const request = await late.until('it is requested', () => late.certificateRequests(host).at(-1));
    const {uid = ''} = request.object.metadata;
    const orders = [{at: new Date().toISOString().replace(/\.\d+/, ''), request: uid}];
    await world().client.patch(DOMAIN_CLAIM, {name: host}, {spec: {orders}});
    await late.becomesLive(host);
    expect(late.claim(host)?.spec.orders).toEqual(orders);
    await proved(late, late.host('next'));
    await late.becomes(late.host('next'), WAITS);
  });

  test('removing hosts frees no order, and adding them again places none', async () => {
    const live = world()
      .history.list(DOMAIN, greedy.namespace)
      .filter(({status}) => status?.state === 'Live');
    const [host = ''] = live.map(({spec}) => spec.host);
    const ordered = timesOf(greedy, host);
    await greedy.project();
    await greedy.until('the claim is released', () => greedy.claim(host)?.spec.releasedAt);
    expect(timesOf(greedy, host)).toEqual(ordered);
    await greedy.project({primary: host});
    await greedy.becomesLive(host); // with the retained Secret
    expect(timesOf(greedy, host)).toEqual(ordered);
    await late.becomes(late.host('next'), WAITS);
  });

  test('waiting tenants continue automatically when orders leave the window', async () => {
    const soon = new Date(Date.now() - WINDOW_SECONDS * 1000 + 5_000).toISOString().replace(/\.\d+/, '');
    const claims = world().history.list(DOMAIN_CLAIM);
    for (const {metadata, spec} of claims.filter(({spec}) => spec.namespace !== late.namespace && spec.orders)) {
      const patch = {spec: {orders: spec.orders?.map(() => ({at: soon}))}};
      await world().client.patch(DOMAIN_CLAIM, {name: metadata.name}, patch);
    }
    await late.becomesLive(late.host('next'));
    const [at = 0] = timesOf(late, late.host('next'));
    expect(at).toBeGreaterThanOrEqual(Date.parse(soon) + WINDOW_SECONDS * 1000);
  });

  test('new hosts under one registrable domain are limited, and delay no other domain', async () => {
    await world().operator().stop();
    await world().startOperator('budget-domain', withBudget(world(), {newHostsPerDomain: 3}));
    const [wide, other] = [await newDomainTenant(world(), 'wide'), await newDomainTenant(world(), 'other')];
    const hosts = ['a', 'b', 'c', 'd'].map(label => wide.host(label));
    await wide.deployedProject({aliases: hosts});
    for (const host of hosts) await wide.createRecords(host);
    await wide.until('two wait', () => hostsThatWait(wide).length === 2);
    for (const host of hostsThatWait(wide)) {
      const says = `the limit for ${wide.zone} is 3 new hosts in 7 days`;
      const {status} = await wide.becomes(host, WAITS, [says]);
      expect(Date.parse(status?.certificate?.nextAttemptAt ?? '')).toBeGreaterThan(Date.now() + 6 * 86_400_000);
    }
    await proved(other, other.host('shop'));
    await other.becomesLive(other.host('shop'));
  });

  test('a tenant that removes a Project and creates another frees no order for a default host', async () => {
    await world().operator().stop();
    const others = world().history.list(PROJECT); // their default hosts now get their own certificates, too
    const budget = withBudget(world(), {newHostsPerDomain: others.length + 3}); // a single tenant gets two of these
    await world().startOperator('budget-default', {...budget, defaultHost: {tls: 'certificate'}});
    const hosts = others.map(({status}) => status?.defaultHost ?? '');
    // Several belong to one account, which gets few certificates at a time.
    await until('they are ordered', () => hosts.every(host => hostsOrdered(world()).has(host)), {timeoutMs: 90_000});
    const tenant = await newDomainTenant(world(), 'restless');
    const requests = () => world().history.list(CERTIFICATE_REQUEST, tenant.namespace);
    for (const name of ['one', 'two']) {
      await tenant.deployedProject({}, name);
      await tenant.projectBecomes(name, {Ready: 'Published'});
      await tenant.delete(PROJECT, name);
      await tenant.until('its Certificate is gone', () => certificatesIn(tenant).length === 0);
      // Deletes requests like the garbage collector.
      for (const {metadata} of requests()) await tenant.delete(CERTIFICATE_REQUEST, metadata.name);
      await tenant.until('its requests are gone', () => requests().length === 0);
    }
    await tenant.deployedProject({}, 'three');
    await tenant.until('the third is requested', () => requests().length > 0);
    const other = await newDomainTenant(world(), 'restful');
    await other.deployedProject({}, 'shop');
    await other.projectBecomes('shop', {Ready: 'Published'});
    expect(requests().filter(isDecided), 'the third new host waits').toEqual([]);
  });

  test('a tenant that requests its own host repeatedly is approved five times in an hour', async () => {
    const tenant = await newDomainTenant(world(), 'again');
    const host = tenant.host('shop');
    await proved(tenant, host);
    await tenant.becomesLive(host);
    // An issuer whose group is empty is cert-manager's, too.
    const groups = Array.from({length: 8}, (_, n) => (n % 2 ? '' : 'cert-manager.io'));
    await Promise.all(groups.map((group, n) => requestByHand(tenant, `by-hand-${n}`, host, group)));
    await tenant.until('five orders were placed', () => timesOf(tenant, host).length === 5);
    await proved(tenant, tenant.host('next'));
    await tenant.becomesLive(tenant.host('next'));
    expect(timesOf(tenant, host)).toHaveLength(5);
    const requests: CertificateRequest[] = world().history.list(CERTIFICATE_REQUEST, tenant.namespace);
    const byHand = requests.filter(({metadata}) => metadata.name.startsWith('by-hand-'));
    expect(byHand.filter(isDecided).length).toBeLessThan(5);
  });
}

/** Creates a deployed Project with the host, and correct records. */
async function proved(tenant: DomainTenant, host: string): Promise<void> {
  await tenant.deployedProject({aliases: [...hostsOf(tenant), host]});
  await tenant.createRecords(host);
}

async function requestByHand(
  {world, namespace}: DomainTenant,
  name: string,
  host: string,
  group: string,
): Promise<void> {
  const request = await signingRequest({names: [`DNS:${host}`]});
  const issuerRef = {name: CLUSTER_ISSUER_NAME, kind: 'ClusterIssuer', group};
  const intent = {
    apiVersion: 'cert-manager.io/v1',
    kind: 'CertificateRequest',
    metadata: {namespace, name},
    spec: {issuerRef, request, usages: ['server auth']},
  };
  await world.client.create(CERTIFICATE_REQUEST, intent);
}

function withBudget(world: OperatorWorld, orderBudget: Readonly<Record<string, number>>): Record<string, unknown> {
  return {certificates: {...(world.config.certificates as object), orderBudget}};
}

/** The times of the orders that count: those on claims, and those of default hosts. */
function ordersMade({history}: OperatorWorld): number[] {
  const onClaims = history.list(DOMAIN_CLAIM).flatMap(({spec}) => spec.orders ?? []);
  const ofDefaultHosts = history.list(HELD_HOSTS).flatMap(({spec}) => Object.values(spec.orders ?? {}).flat());
  return [...onClaims, ...ofDefaultHosts].map(({at}) => Date.parse(at));
}

/** The default hosts for which orders are remembered. */
function hostsOrdered({history}: OperatorWorld): Set<string> {
  return new Set(history.list(HELD_HOSTS).flatMap(({spec}) => Object.keys(spec.orders ?? {})));
}

function certificatesIn({world, namespace}: DomainTenant) {
  return world.history.list(CERTIFICATE, namespace);
}

function timesOf(tenant: DomainTenant, host: string): number[] {
  return tenant.claim(host)?.spec.orders?.map(({at}) => Date.parse(at)) ?? [];
}

function hostsOf({world, namespace}: DomainTenant): string[] {
  return world.history.list(DOMAIN, namespace).map(({spec}) => spec.host);
}

function hostsThatWait(tenant: DomainTenant): string[] {
  return hostsOf(tenant).filter(host => reasonOf(tenant, host) === 'OrderBudget');
}

function reasonOf(tenant: DomainTenant, host: string): string | undefined {
  return tenant.domain(host)?.status?.conditions?.find(({type}) => type === 'CertificateReady')?.reason;
}

function isDecided({status}: CertificateRequest): boolean {
  return status?.conditions?.some(({type}) => type === 'Approved') ?? false;
}
