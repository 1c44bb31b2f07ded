/**
 * A new leader with outdated caches, and a former leader that does not know of its successor, do nothing irrevocable.
 * The test creates the certificates.
 */
import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, afterEach, beforeAll, beforeEach, expect, test} from 'vitest';
import {LABEL} from '../../../src/api/names.ts';
import {routeName} from '../../../src/operator/kinds/derived-names.ts';
import * as kinds from '../../../src/operator/kinds/kinds.ts';
import type {ResourceType} from '../../../src/runtime/kube/object.ts';
import {collectionPath} from '../../../src/runtime/kube/paths.ts';
import {until} from '../../cluster/wait.ts';
import {bundleOperator, type OperatorProcess} from '../../support/operator-process.ts';
import {signingRequest} from '../approval/signing-request.ts';
import {type FaultProxy, isWatch, type Seen, startFaultProxy} from '../runtime/fault-proxy.ts';
import {claimed, issue, prepareForHand} from './by-hand.ts';
import {type DomainTenant, newDomainTenant} from './domain-tenant.ts';
import {type OperatorWorld, startOperatorWorld, UNHURRIED} from './operator-world.ts';

const STOPPED_MS = 30_000;
/** A little less than the time after which the client ends a request, and the leader sends another one. */
const HOLDS_MS = 14_000;

let folder: string;
let world: OperatorWorld;
let proxy: FaultProxy;
const replicas: OperatorProcess[] = [];
let count = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'nameplate-takeover-'));
  world = await startOperatorWorld({operatorApproves: true, program: [await bundleOperator(folder)]});
  await prepareForHand(world);
});
beforeEach(async () => {
  proxy = await startFaultProxy(world.api, {kubeconfig: world.kubeconfig});
});
afterEach(async () => {
  await Promise.all(replicas.splice(0).map(({stop}) => stop())); // the next test need not wait for the Lease to expire
  await proxy.stop();
});
afterAll(async () => {
  await world?.stop();
  await rm(folder, {recursive: true, force: true});
});

async function start(through?: string): Promise<OperatorProcess> {
  const replica = await world.startOperator(`replica-${++count}`, {}, through);
  replicas.push(replica);
  return replica;
}

async function leads(operator: OperatorProcess): Promise<boolean> {
  return (await operator.metric('leader_election_master_status')) === 1;
}

/** A ready replica's caches of these kinds get no further changes until the returned function is called. */
async function stall(...resources: ResourceType[]): Promise<() => void> {
  const {promise, resolve} = Promise.withResolvers<void>();
  const paths = new Set(resources.map(resource => collectionPath(resource)));
  const hung = new Set<string>();
  proxy.intercept = seen => {
    if (!isWatch(seen) || !paths.has(seen.path)) return undefined;
    hung.add(seen.path);
    return {kind: 'hold', until: promise};
  };
  proxy.disconnect();
  await until('the watches hang', () => hung.size === paths.size);
  return () => {
    proxy.intercept = () => undefined;
    resolve();
  };
}

/** Stops the leader. The other replica takes over with what it has in its caches. */
async function handOver(from: OperatorProcess, to: OperatorProcess): Promise<void> {
  await from.stop();
  await until('the standby leads', () => leads(to));
}

/** Creates a request that only the operator decides. */
async function request(tenant: DomainTenant, host: string, name = 'asked'): Promise<void> {
  const spec = {issuerRef: UNHURRIED, request: await signingRequest({names: [`DNS:${host}`]}), usages: ['server auth']};
  const metadata = {namespace: tenant.namespace, name};
  await world.client.create(kinds.CERTIFICATE_REQUEST, {
    apiVersion: 'cert-manager.io/v1',
    kind: 'CertificateRequest',
    metadata,
    spec,
  });
}

/** All decisions ever written to the tenant's request. */
function decisions(tenant: DomainTenant, name = 'asked'): string[] {
  const versions = world.history.versions(kinds.CERTIFICATE_REQUEST, `${tenant.namespace}/${name}`);
  const conditions = versions.flatMap(({object}) => object.status?.conditions ?? []);
  return [...new Set(conditions.map(({type, reason}) => `${type} ${reason}`))];
}

function deletions(resource: ResourceType, tenant: DomainTenant): string[] {
  const deleted = world.history.versions(resource).filter(({type}) => type === 'DELETED');
  return deleted.map(({key}) => key).filter(key => key.startsWith(`${tenant.namespace}/`));
}

/** Counts matching requests from the replica behind the proxy, from now on. */
function sent(matches: (seen: Seen) => boolean): () => number {
  const before = proxy.seen.length;
  return () => proxy.seen.slice(before).filter(matches).length;
}

/** Whether the query is for one object. */
function isFor(query: URLSearchParams, name: string): boolean {
  return query.get('fieldSelector') === `metadata.name=${name}`;
}

test('with claims, Projects, and namespaces out of date, it gives a former holder nothing, takes nothing from the next one, and deletes no Domain that is listed', async () => {
  const leader = await start();
  const [former, next, listing] = [
    await newDomainTenant(world, 'former'),
    await newDomainTenant(world, 'next'),
    await newDomainTenant(world, 'listing'),
  ];
  const [host, another] = [former.host('shop'), former.host('www')];
  await former.deployedProject({primary: host, aliases: [another]});
  for (const each of [host, another]) await claimed(former, each);
  await listing.deployedProject();
  await listing.projectBecomes('shop', {Ready: 'Published'});
  const standby = await start(proxy.kubeconfig);
  const resume = await stall(kinds.DOMAIN_CLAIM, kinds.PROJECT, kinds.NAMESPACE);

  await next.deployedProject({primary: host, aliases: [another]});
  for (const each of [host, another]) {
    await claimed(next, each);
    await next.until('a certificate is requested', () => next.certificate(each));
  }
  await request(next, host, 'approved');
  await next.until('it is approved', () => decisions(next, 'approved').includes('Approved HostHeld'));
  const listed = listing.host('shop');
  await listing.project({primary: listed});
  const {metadata} = await listing.until('the Domain exists', () => listing.domain(listed));
  const asksClaim = sent(({method, path}) => method === 'GET' && path.endsWith(`/domainclaims/${host}`));
  const asksProjects = sent(({path}) => path.endsWith(`/namespaces/${listing.namespace}/projects`));
  const judgesAs = (name: string) =>
    sent(({path, query}) => path.endsWith(`/namespaces/${next.namespace}/certificates`) && isFor(query, name));
  const [judgesApproved, judgesAsked] = [host, another].map(each => judgesAs(routeName(next.namespace, each)));
  await leader.stop();
  await request(former, host);
  await request(next, another);
  await until('the standby leads', () => leads(standby));
  await until('it has judged both', () => asksClaim() > 0 && asksProjects() > 0);
  await until('it has judged the approved request', () => judgesApproved?.());
  await until('it has judged the other one, ten seconds later', () => judgesAsked?.());
  expect([decisions(former), decisions(next)]).toEqual([[], []]);
  resume();
  await former.until('its request is denied', () => decisions(former).length > 0);
  expect(decisions(former)).toEqual(['Denied HostNotHeld']);
  await next.until('the request of the next holder is approved', () => decisions(next).length > 0);
  expect(decisions(next)).toEqual(['Approved HostHeld']);
  expect(deletions(kinds.CERTIFICATE_REQUEST, next)).toEqual([]);
  expect(deletions(kinds.CERTIFICATE, next)).toEqual([]);
  await listing.becomes(listed, {Accepted: 'Accepted'});
  expect(listing.domain(listed)?.metadata.uid).toBe(metadata.uid);
  expect(deletions(kinds.DOMAIN, listing)).toEqual([]);
});

test('with namespaces out of date, it keeps the Domain of a host that moved to a Project whose place it does not know', async () => {
  const leader = await start();
  const tenant = await newDomainTenant(world, 'upgraded', {plan: 'starter'});
  const host = tenant.host('shop');
  for (const project of ['first', 'second']) {
    await tenant.deployedProject(project === 'first' ? {primary: host} : undefined, project);
    await tenant.projectBecomes(project, {Ready: 'Published'});
    await tenant.becomesOlder(project);
  }
  await tenant.project({primary: host}, 'third');
  await tenant.projectBecomes('third', {Ready: 'PlanLimitReached'});
  const {metadata} = await tenant.until('the Domain exists', () => tenant.domain(host));
  const standby = await start(proxy.kubeconfig);
  const resume = await stall(kinds.NAMESPACE);
  await leader.stop();
  await tenant.label({[LABEL.plan]: 'pro'});
  await tenant.project(undefined, 'first');
  const asksPlan = sent(({path, query}) => path === collectionPath(kinds.NAMESPACE) && isFor(query, tenant.namespace));
  await until('the standby leads', () => leads(standby));
  await until('it has judged the Domain', () => asksPlan() > 0);
  resume();
  await tenant.until('the host has moved', () => tenant.domain(host)?.spec.projectRef.name === 'third');
  expect(tenant.domain(host)?.metadata.uid).toBe(metadata.uid);
  expect(deletions(kinds.DOMAIN, tenant)).toEqual([]);
});

test('with Domains out of date, it takes down no route of a Domain that it has not seen', async () => {
  const leader = await start();
  const tenant = await newDomainTenant(world, 'unseen');
  const host = tenant.host('shop');
  await tenant.deployedProject();
  const standby = await start(proxy.kubeconfig);
  const resume = await stall(kinds.DOMAIN);
  await tenant.project({primary: host});
  await claimed(tenant, host);
  await issue(tenant, host);
  await tenant.becomesLive(host);
  const asks = sent(({method, path}) => method === 'GET' && path.endsWith(`/namespaces/${tenant.namespace}/domains`));
  await handOver(leader, standby);
  await until('it has judged the Domain', () => asks() > 0);
  resume();
  await tenant.verify(host, 'after the stall');
  await tenant.becomesLive(host);
  expect(deletions(kinds.INGRESS, tenant)).toEqual([]);
  expect(deletions(kinds.CERTIFICATE, tenant)).toEqual([]);
  expect(tenant.claim(host)?.spec.releasedAt).toBeUndefined();
});

test('what a leader has sent before it stood still for half a minute changes nothing that its successor decided', async () => {
  const leader = await start(proxy.kubeconfig);
  const [former, next, slow, fast, removing] = [
    await newDomainTenant(world, 'stopped'),
    await newDomainTenant(world, 'moved'),
    await newDomainTenant(world, 'slow'),
    await newDomainTenant(world, 'fast'),
    await newDomainTenant(world, 'removing'),
  ];
  const [contested, removed] = [slow.host('shop'), removing.host('shop')];
  const [approved, moved, left] = ['shop', 'www', 'blog'].map(label => former.host(label)) as [string, string, string];
  await former.deployedProject({primary: approved, aliases: [moved, left]});
  for (const host of [approved, moved, left]) await claimed(former, host);
  await removing.deployedProject({primary: removed});
  await claimed(removing, removed);
  await issue(removing, removed);
  const {metadata} = await removing.becomesLive(removed);
  const successor = await start();

  const {promise, resolve: arrive} = Promise.withResolvers<void>();
  const late = new Map<string, number>();
  const acts: Record<string, (seen: Seen) => boolean> = {
    approval: ({path}) => path.endsWith(`/namespaces/${former.namespace}/certificaterequests/asked/status`),
    claim: ({method, path}) => method === 'POST' && path === collectionPath(kinds.DOMAIN_CLAIM),
    move: ({method, path}) => method !== 'GET' && path.endsWith(`/domainclaims/${moved}`),
    release: ({method, path}) => method !== 'GET' && path.endsWith(`/domainclaims/${left}`),
    removal: ({method, path}) => method === 'DELETE' && path.endsWith(`/domains/${removed}`),
  };
  const sentAt = new Map<string, number>();
  const names = Object.keys(acts);
  const areUnderway = () => names.every(act => performance.now() - (sentAt.get(act) ?? 0) < HOLDS_MS);
  proxy.intercept = seen => {
    const act = names.find(name => acts[name]?.(seen));
    if (act === undefined) return undefined;
    sentAt.set(act, seen.at);
    return {kind: 'late', until: promise, onAnswer: status => late.set(act, status)};
  };
  await Promise.all([
    request(former, approved),
    former.project({primary: approved, aliases: [moved]}),
    removing.project(),
    slow.deployedProject({primary: contested, aliases: [moved]}),
  ]);
  for (const host of [contested, moved]) await slow.createRecords(host);
  await until('all have been sent', () => sentAt.size === names.length);
  await next.deployedProject({primary: approved});
  await claimed(next, approved); // otherwise, the successor would approve the request itself
  await until('all are under way', areUnderway);
  const resume = leader.pause();
  const stoppedAt = performance.now();

  try {
    await Promise.all([
      fast.deployedProject({primary: contested, aliases: [moved, left]}),
      removing.project({primary: removed}),
    ]);
    await until('the successor leads', () => leads(successor));
    for (const host of [contested, moved, left]) await claimed(fast, host);
    await former.until('the request is denied', () => decisions(former).length > 0);
    await removing.becomesLive(removed);
    await until('half a minute has passed', () => performance.now() - stoppedAt >= STOPPED_MS);
    arrive();
    await until('all have arrived', () => late.size === names.length);
  } finally {
    resume();
  }
  expect(await leader.exited).toBe(1);
  expect(Object.fromEntries(late)).toEqual({approval: 409, claim: 409, move: 409, release: 409, removal: 409});
  expect(decisions(former)).toEqual(['Denied HostNotHeld']);
  for (const host of [contested, moved, left]) {
    expect(fast.claim(host)?.spec).toMatchObject({namespace: fast.namespace});
    expect(fast.claim(host)?.spec.releasedAt).toBeUndefined();
  }
  expect(removing.domain(removed)?.metadata.uid).toBe(metadata.uid);
  expect(deletions(kinds.INGRESS, removing)).toEqual([]);
});

test('after a takeover, it begins to reconcile immediately', async () => {
  const leader = await start();
  const tenant = await newDomainTenant(world, 'waiting');
  await tenant.deployedProject({primary: tenant.host('shop')});
  await tenant.until('the Domain exists', () => tenant.domain(tenant.host('shop')));
  const standby = await start(proxy.kubeconfig);
  // No watch says anything, so whatever waits for one before the first reconcile waits forever.
  proxy.intercept = seen => (isWatch(seen) ? {kind: 'silence'} : undefined);
  proxy.disconnect();
  await handOver(leader, standby);
  const reconciled = async () =>
    (await standby.metric('controller_runtime_reconcile_total', {controller: 'domain'})) > 0;
  await until('it reconciles the Domain', reconciled, {intervalMs: 5});
  const firstAt = Date.now();
  const leading = (await standby.log()).find(({message}) => message === 'This process is now the leader.');
  const tookMs = firstAt - Date.parse(`${leading?.time}`);
  console.info(`From the Lease to the first reconcile of a Domain: at most ${tookMs} ms`);
});
