/** The operator infers no deletion: not from a plan, and not from a certificate that harms nobody. */
import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, afterEach, beforeAll, expect, test} from 'vitest';
import {ANNOTATION, LABEL} from '../../../src/api/names.ts';
import {MIDDLEWARE} from '../../../src/operator/edge/traefik.ts';
import {routeName} from '../../../src/operator/kinds/derived-names.ts';
import {DOMAIN_CLAIM, INGRESS, NAMESPACE, PROJECT, SECRET} from '../../../src/operator/kinds/kinds.ts';
import type {ResourceType} from '../../../src/runtime/kube/object.ts';
import {until} from '../../cluster/wait.ts';
import {bundleOperator, type OperatorProcess} from '../../support/operator-process.ts';
import type {AuditEvent} from './audit.ts';
import {claimed, issue, prepareForHand} from './by-hand.ts';
import {type DomainTenant, newDomainTenant} from './domain-tenant.ts';
import {type OperatorWorld, startOperatorWorld} from './operator-world.ts';

let folder: string;
let world: OperatorWorld;
let count = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'nameplate-removals-'));
  world = await startOperatorWorld({program: [await bundleOperator(folder)]});
  await prepareForHand(world);
});
afterEach(async () => {
  await world.operator().stop();
});
afterAll(async () => {
  await world?.stop();
  await rm(folder, {recursive: true, force: true});
});

function start(changes: Readonly<Record<string, unknown>> = {}): Promise<OperatorProcess> {
  return world.startOperator(`replica-${++count}`, changes);
}

/** Puts these names into the certificate, as if the issuer had. */
async function name(tenant: DomainTenant, host: string, names: readonly string[]): Promise<void> {
  const secret = routeName(tenant.namespace, host);
  await tenant.annotate(SECRET, secret, {'cert-manager.io/alt-names': names.join(',')});
}

test('an account that deletes nine tenths of all Domains delays no other account', async () => {
  const plans = {...(world.config.plans as object), pro: {customDomains: true, maxDomains: 100}};
  await start({plans});
  // In the initial list, the deleting account comes first.
  const [many, other] = [await newDomainTenant(world, 'deleting'), await newDomainTenant(world, 'other')];
  const hosts = (tenant: DomainTenant, n: number) => Array.from({length: n}, (_, index) => tenant.host(`h${index}`));
  await many.deployedProject({aliases: hosts(many, 45).slice(0, 20)}, 'one');
  await many.deployedProject({aliases: hosts(many, 45).slice(20)}, 'two');
  await other.deployedProject({aliases: hosts(other, 5)});
  await Promise.all([allLive(many, hosts(many, 45)), allLive(other, hosts(other, 5))]);
  await world.operator().stop(); // so that all of them are requested before the first one is done
  await many.project(undefined, 'one');
  await many.project(undefined, 'two');
  await other.project({aliases: hosts(other, 4)});
  const {length: before} = await world.audit.writes();
  await start({plans});
  const left = () => world.history.list(DOMAIN_CLAIM).filter(({spec}) => spec.releasedAt === undefined).length;
  await until('only those of the other account are left', () => left() === 4);
  const writes = (await world.audit.writes()).slice(before);
  const nameOf = ({objectRef}: AuditEvent) => objectRef?.name ?? '';
  const isOfMany = (write: AuditEvent) =>
    write.objectRef?.namespace === many.namespace || nameOf(write).endsWith(`.${many.zone}`);
  const [removed, route] = [other.host('h4'), routeName(other.namespace, other.host('h4'))];
  const isAbout = (write: AuditEvent) => nameOf(write) === removed || nameOf(write).startsWith(route);
  const earlier = writes.slice(0, writes.findLastIndex(isAbout)).filter(isOfMany);
  // Accounts take turns, so each of the other one's 5 keys waits for one of 45. Without turns, it is nearly all.
  expect(earlier.length).toBeLessThan(writes.filter(isOfMany).length / 3);
});

/** Proves, claims, and certifies all hosts at once. */
async function allLive(tenant: DomainTenant, hosts: readonly string[]): Promise<void> {
  const [host = ''] = hosts;
  const records = await tenant.until('its record is shown', () => tenant.domain(host)?.status?.dns?.required);
  await world.dns.set(`*.${tenant.zone}`, 'CNAME', [records[0]?.value ?? '']);
  await Promise.all(hosts.map(each => issue(tenant, each)));
  await Promise.all(hosts.map(each => tenant.becomesLive(each)));
}

/** The route of a host, as long as it is not deleted. */
function routeUid(tenant: DomainTenant, host: string): string | undefined {
  return tenant.ingress(host)?.metadata.uid;
}

test('when a CA begins to add names, every route stays, except where a name may belong to somebody else', async () => {
  await start();
  const [tenant, other] = [await newDomainTenant(world, 'renewed'), await newDomainTenant(world, 'other')];
  const hosts = Array.from({length: 5}, (_, index) => tenant.host(`h${index}`));
  const [harmful = '', moved = '', foreign = '', ...kept] = hosts;
  const victim = other.host('victim');
  await tenant.deployedProject({aliases: hosts});
  await other.deployedProject({primary: victim});
  await claimed(other, victim);
  await allLive(tenant, hosts);
  const before = hosts.map(host => routeUid(tenant, host));
  for (const host of hosts) await name(tenant, host, [host, `www.${host}`]);
  await name(tenant, kept[0] ?? '', [kept[0] ?? '', kept[1] ?? '']); // both are its own
  const want = {state: 'Degraded', Routed: 'Serving', Ready: 'WrongNames'} as const;
  for (const host of hosts) await tenant.becomes(host, want, ['as soon as one of them may belong to somebody else']);
  expect(hosts.map(host => routeUid(tenant, host))).toEqual(before);

  await name(tenant, harmful, [harmful, victim]);
  await name(tenant, foreign, [foreign, 'www.example.net']);
  await other.deployedProject({primary: victim, aliases: [moved]});
  await claimed(other, moved);
  for (const host of [harmful, foreign, moved]) await tenant.until('it is not kept', () => !tenant.ingress(host));
  await world.operator().stop();
  await start();
  await tenant.verify(kept[0] ?? '', 'after the restart');
  expect(kept.map(host => routeUid(tenant, host))).toEqual(before.slice(3));
  for (const host of kept) await name(tenant, host, [host]);
  for (const host of kept) await tenant.becomesLive(host);
});

test('a default host with its own certificate stays, except where the certificate is for somebody else', async () => {
  await start({defaultHost: {tls: 'certificate'}});
  const tenant = await newDomainTenant(world, 'defaults');
  const projects = ['one', 'two', 'three'];
  const hostOf = (project: string) => tenant.get(PROJECT, project)?.status?.defaultHost ?? '';
  for (const project of projects) await tenant.deployedProject(undefined, project);
  await tenant.until('each has a default host', () => projects.every(hostOf));
  for (const project of projects) await issue(tenant, hostOf(project));
  for (const project of projects) await tenant.projectBecomes(project, {Ready: 'Published'});
  for (const project of projects) await name(tenant, hostOf(project), [hostOf(project), `www.${hostOf(project)}`]);
  for (const project of projects) await tenant.projectBecomes(project, {Ready: 'CertificateNotReady'});
  expect(projects.filter(project => !tenant.ingress(hostOf(project)))).toEqual([]);
  await name(tenant, hostOf('one'), [hostOf('one'), hostOf('two')]);
  await tenant.until('a certificate for another default host is not kept', () => !tenant.ingress(hostOf('one')));
  expect(tenant.ingress(hostOf('two'))).toBeDefined();
});

test('a Project that loses its place in the plan keeps its Domains until it no longer lists them', async () => {
  await start();
  const tenant = await newDomainTenant(world, 'plan');
  const hosts = Array.from({length: 4}, (_, index) => tenant.host(`h${index}`));
  const [held = '', removed = '', ...rest] = hosts;
  for (const project of ['first', 'second']) {
    await tenant.project(undefined, project);
    await tenant.becomesOlder(project);
  }
  await tenant.deployedProject({aliases: hosts}, 'third');
  await claimed(tenant, held);
  await issue(tenant, held);
  await tenant.becomesLive(held);
  const routes = (kind: ResourceType) =>
    world.history.list(kind, tenant.namespace).filter(({metadata}) => metadata.labels?.[LABEL.project]);
  await world.operator().stop();
  for (const kind of [INGRESS, MIDDLEWARE]) {
    for (const {metadata} of routes(kind)) await tenant.delete(kind, metadata.name); // as after a restore
  }
  await tenant.label({[LABEL.plan]: 'starter'});
  await start();
  await tenant.projectBecomes('third', {Ready: 'PlanLimitReached'});
  await tenant.becomes(held, {state: 'Live'});
  for (const host of [removed, ...rest]) {
    await tenant.becomes(host, {state: 'Blocked', Accepted: 'PlanLimitReached'}, ['Plan starter allows 1 custom']);
  }
  await tenant.project({aliases: rest}, 'third');
  const isGone = (host: string) => !tenant.domain(host) && !tenant.ingress(host);
  await tenant.until('what its owner removes is gone', () => isGone(held) && isGone(removed));
  expect(rest.filter(host => !tenant.domain(host))).toEqual([]);
  await tenant.label({[LABEL.plan]: 'pro'});
  for (const host of rest) await tenant.becomes(host, {state: 'Unverified', Accepted: 'Accepted'});
  expect(routes(INGRESS).length).toBeGreaterThan(0);
});

test('a plan that is lowered during a pause is judged once the pause ends', async () => {
  await start();
  const tenant = await newDomainTenant(world, 'lowered');
  const host = tenant.host('shop');
  for (const project of ['first', 'second']) {
    await tenant.project(undefined, project);
    await tenant.becomesOlder(project);
  }
  await tenant.project({primary: host}, 'third');
  await tenant.becomes(host, {Accepted: 'NoSuccessfulDeploy'});
  const pause = (value: string | null) =>
    world.client.patch(NAMESPACE, {name: tenant.namespace}, {metadata: {annotations: {[ANNOTATION.paused]: value}}});
  await pause('true');
  await tenant.label({[LABEL.plan]: 'starter'});
  await tenant.projectBecomes('third', {Ready: 'PlanLimitReached'});
  await pause(null);
  await tenant.becomes(host, {state: 'Blocked', Accepted: 'PlanLimitReached'});
});

test('hosts that stay listed only in a Project that never had a place were removed by request', async () => {
  await start();
  const tenant = await newDomainTenant(world, 'moves');
  const hosts = Array.from({length: 4}, (_, index) => tenant.host(`h${index}`));
  await tenant.label({[LABEL.plan]: 'starter'});
  for (const project of ['first', 'second']) {
    await tenant.deployedProject(project === 'first' ? {aliases: hosts} : undefined, project);
    await tenant.projectBecomes(project, {Ready: 'Published'});
    await tenant.becomesOlder(project);
  }
  await tenant.project({aliases: hosts}, 'third');
  const existing = () => hosts.filter(host => tenant.domain(host)?.status?.state);
  await tenant.until('each host has a Domain', () => existing().length === hosts.length);
  await tenant.project(undefined, 'first');
  await tenant.until('all are gone', () => existing().length === 0);
});
