/** Removals that nobody requested stop at a limit; requested ones never do. */
import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {isDeepStrictEqual} from 'node:util';
import {afterAll, afterEach, beforeAll, expect, test} from 'vitest';
import {findCondition} from '../../../src/api/conditions.ts';
import {ANNOTATION, LABEL} from '../../../src/api/names.ts';
import {routeName} from '../../../src/operator/model/derived-names.ts';
import {DOMAIN_CLAIM, NAMESPACE, PROJECT, SECRET, SERVICE} from '../../../src/operator/model/kinds.ts';
import {EVENT} from '../../../src/runtime/kube/events.ts';
import {until} from '../../cluster/wait.ts';
import {RELEASE} from '../../support/install.ts';
import {bundleOperator, type OperatorProcess} from '../../support/operator-process.ts';
import type {AuditEvent} from './audit.ts';
import {claimed, issue, prepareForHand} from './by-hand.ts';
import {type DomainTenant, newDomainTenant} from './domain-tenant.ts';
import {type OperatorWorld, startOperatorWorld} from './operator-world.ts';

const PATIENCE = {timeoutMs: 60_000};
const PER_ACCOUNT = 2;

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
  await allow(null);
});
afterAll(async () => {
  await world?.stop();
  await rm(folder, {recursive: true, force: true});
});

function start(changes: Readonly<Record<string, unknown>> = {}): Promise<OperatorProcess> {
  const ownRemovals = {perAccount: PER_ACCOUNT, total: 2 * PER_ACCOUNT};
  const controller = {...(world.config.controller as object), ownRemovals};
  return world.startOperator(`replica-${++count}`, {controller, ...changes});
}

/** Allows removals until then, as a person would. */
async function allow(until: string | null): Promise<void> {
  const annotations = {[ANNOTATION.allowRemovalsUntil]: until};
  await world.client.patch(NAMESPACE, {name: RELEASE.namespace}, {metadata: {annotations}});
}

function held(): Promise<number> {
  return world.operator().metric('nameplate_removals_held');
}

/** Puts these names into the certificate, as if the issuer had. */
async function name(tenant: DomainTenant, host: string, names: readonly string[]): Promise<void> {
  const secret = routeName(tenant.namespace, host);
  await tenant.annotate(SECRET, secret, {'cert-manager.io/alt-names': names.join(',')});
}

test('an account that deletes nine tenths of all Domains trips nothing, and delays no other account', async () => {
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
  await until('only those of the other account are left', () => left() === 4, PATIENCE);
  const writes = (await world.audit.writes()).slice(before);
  const nameOf = ({objectRef}: AuditEvent) => objectRef?.name ?? '';
  const isOfMany = (write: AuditEvent) =>
    write.objectRef?.namespace === many.namespace || nameOf(write).endsWith(`.${many.zone}`);
  const [removed, route] = [other.host('h4'), routeName(other.namespace, other.host('h4'))];
  const isAbout = (write: AuditEvent) => nameOf(write) === removed || nameOf(write).startsWith(route);
  const earlier = writes.slice(0, writes.findLastIndex(isAbout)).filter(isOfMany);
  // Accounts take turns, so each of the other one's 5 keys waits for one of 45. Without turns, it is nearly all.
  expect(earlier.length).toBeLessThan(writes.filter(isOfMany).length / 3);
  expect(await held()).toBe(0);
  expect(await world.operator().metric('nameplate_own_removals_total')).toBe(0);
});

/** Proves, claims, and certifies all hosts at once. */
async function allLive(tenant: DomainTenant, hosts: readonly string[]): Promise<void> {
  const [host = ''] = hosts;
  const records = await tenant.until('its record is shown', () => tenant.domain(host)?.status?.dns?.required);
  await world.dns.set(`*.${tenant.zone}`, 'CNAME', [records[0]?.value ?? '']);
  await Promise.all(hosts.map(each => issue(tenant, each)));
  await Promise.all(hosts.map(each => tenant.becomesLive(each)));
}

test('when a CA begins to add names, a few routes go and the rest waits for a person, except what somebody loses', async () => {
  await start();
  const [tenant, other] = [await newDomainTenant(world, 'renewed'), await newDomainTenant(world, 'other')];
  const hosts = Array.from({length: 5}, (_, index) => tenant.host(`h${index}`));
  const [victim] = [other.host('victim')];
  await tenant.deployedProject({aliases: hosts});
  await other.deployedProject({primary: victim});
  await claimed(other, victim);
  for (const host of hosts) await claimed(tenant, host);
  for (const host of hosts) await issue(tenant, host);
  for (const host of hosts) await tenant.becomesLive(host);
  for (const host of hosts) await name(tenant, host, [host, `www.${host}`]);
  const kept = () => hosts.filter(host => routedOf(tenant, host) === 'RemovalHeld');
  const routed = () => hosts.filter(host => tenant.ingress(host));
  const isRestHeld = () => kept().length === hosts.length - PER_ACCOUNT && isDeepStrictEqual(routed(), kept());
  await tenant.until('the rest is held, and has routes', isRestHeld);
  const [harmful = '', moved = '', last = ''] = kept();
  await tenant.becomes(last, {state: 'Degraded', Routed: 'RemovalHeld', Ready: 'WrongNames'}, [
    'Ask the platform team to fix the cause or to allow the removals',
  ]);
  expect(await held()).toBe(3);
  expect(await world.operator().readiness()).toContain('Nameplate is holding back removals');
  const isTold = () => world.history.list(EVENT).filter(({reason}) => reason === 'RemovalsHeld').length === 1;
  await until('one Event reports it', isTold, PATIENCE);

  await name(tenant, harmful, [harmful, victim]);
  await tenant.until('a certificate for a host of another account is not kept', () => !tenant.ingress(harmful));
  await other.deployedProject({primary: victim, aliases: [moved]});
  await claimed(other, moved);
  await tenant.until('a host that has moved is not kept', () => !tenant.ingress(moved));
  expect(tenant.ingress(last)).toBeDefined();
  await until('only one is left to be held', async () => (await held()) === 1, PATIENCE);

  await world.operator().stop();
  await start();
  await until('its successor holds it, too', async () => (await held()) === 1, PATIENCE);
  expect(tenant.ingress(last)).toBeDefined();
  await allow(new Date(Date.now() + 600_000).toISOString());
  await tenant.until('what a person allows is removed', () => !tenant.ingress(last));
  expect(await held()).toBe(0);
  expect(await world.operator().readiness()).not.toContain('Nameplate is holding back removals');
});

test('a pause holds back the removal of a route that harms nobody, until it ends', async () => {
  await start();
  const [tenant, other] = [await newDomainTenant(world, 'paused'), await newDomainTenant(world, 'neighbor')];
  const [kept, harmful, victim] = [tenant.host('kept'), tenant.host('harmful'), other.host('victim')];
  await tenant.deployedProject({aliases: [kept, harmful]});
  await other.deployedProject({primary: victim});
  await claimed(other, victim);
  for (const host of [kept, harmful]) await claimed(tenant, host);
  for (const host of [kept, harmful]) await issue(tenant, host);
  for (const host of [kept, harmful]) await tenant.becomesLive(host);
  const pause = (value: string | null) =>
    world.client.patch(NAMESPACE, {name: tenant.namespace}, {metadata: {annotations: {[ANNOTATION.paused]: value}}});
  await pause('true');
  await until('the operator has seen the pause', () => isPaused('Namespace'), PATIENCE);
  await name(tenant, kept, [kept, `www.${kept}`]);
  await name(tenant, harmful, [harmful, victim]);
  await tenant.until('a certificate for a host of another account is not kept', () => !tenant.ingress(harmful));
  await tenant.becomes(kept, {state: 'Degraded', Routed: 'Paused', Ready: 'WrongNames'});
  expect(tenant.ingress(kept)).toBeDefined();
  expect(await world.operator().metric('nameplate_own_removals_total')).toBe(0);
  await pause(null);
  await tenant.until('the other route is removed, too', () => !tenant.ingress(kept));
});

test('default hosts with their own certificates are held, too, except where the certificate is for somebody else', async () => {
  const ownCertificates = {defaultHost: {tls: 'certificate'}};
  await start(ownCertificates);
  const tenant = await newDomainTenant(world, 'defaults');
  const paused = 'five';
  const projects = ['one', 'two', 'three', 'four'];
  const hostOf = (project: string) => tenant.get(PROJECT, project)?.status?.defaultHost ?? '';
  const all = [...projects, paused];
  for (const project of all) await tenant.deployedProject(undefined, project);
  await tenant.until('each has a default host', () => all.every(hostOf));
  for (const project of all) await issue(tenant, hostOf(project));
  for (const project of all) await tenant.projectBecomes(project, {Ready: 'Published'});
  await tenant.annotate(PROJECT, paused, {[ANNOTATION.paused]: 'true'});
  await until('the operator has seen the pause', () => isPaused('Project'), PATIENCE);
  for (const project of [paused, ...projects])
    await name(tenant, hostOf(project), [hostOf(project), `www.${hostOf(project)}`]);
  const readyOf = (project: string) => findCondition(tenant.get(PROJECT, project)?.status?.conditions, 'Ready');
  const kept = () => projects.filter(project => readyOf(project)?.reason === 'RemovalHeld');
  const routed = () => projects.filter(project => tenant.ingress(hostOf(project)));
  const isRestHeld = () => kept().length === projects.length - PER_ACCOUNT && isDeepStrictEqual(routed(), kept());
  await tenant.until('the rest is held, and has routes', isRestHeld);
  await tenant.projectBecomes(paused, {Ready: 'Paused'});
  expect(readyOf(paused)?.status).toBe('True');
  expect(tenant.ingress(hostOf(paused))).toBeDefined();
  const [harmful = '', last = ''] = kept();
  expect(readyOf(last)?.message).toContain('Ask the platform team to fix the cause or to allow the removals');
  await tenant.delete(SERVICE, harmful);
  await tenant.projectBecomes(harmful, {Ready: 'ServiceNotFound'});
  await tenant.annotate(PROJECT, harmful, {[ANNOTATION.paused]: 'true'}); // does not hold back what protects others
  await name(tenant, hostOf(harmful), [hostOf(harmful), hostOf(last)]);
  await tenant.until('a certificate for another default host is not kept', () => !tenant.ingress(hostOf(harmful)));

  await world.operator().stop();
  await start(ownCertificates);
  await until('its successor holds the last one, too', async () => (await held()) === 1, PATIENCE);
  expect(tenant.ingress(hostOf(last))).toBeDefined();
  await allow(new Date(Date.now() + 600_000).toISOString());
  await tenant.until('what a person allows is removed', () => !tenant.ingress(hostOf(last)));
  expect(await held()).toBe(0);
});

test('a Project that loses its place in the plan loses a few Domains, and the rest until it has a place again', async () => {
  await start();
  const tenant = await newDomainTenant(world, 'plan');
  const hosts = Array.from({length: 4}, (_, index) => tenant.host(`h${index}`));
  for (const project of ['first', 'second']) {
    await tenant.project(undefined, project);
    await tenant.becomesOlder(project);
  }
  await tenant.project({aliases: hosts}, 'third');
  const existing = () => hosts.filter(host => tenant.domain(host)?.status?.state);
  await tenant.until('each host has a Domain', () => existing().length === hosts.length);
  await tenant.label({[LABEL.plan]: 'starter'});
  const isHeld = (host: string) =>
    findCondition(tenant.domain(host)?.status?.conditions, 'Accepted')?.reason === 'RemovalHeld';
  await tenant.until('a few are gone', () => existing().length === hosts.length - PER_ACCOUNT);
  await tenant.until('the rest is held', () => existing().every(isHeld));
  expect(await held()).toBe(hosts.length - PER_ACCOUNT);
  await tenant.label({[LABEL.plan]: 'pro'});
  await tenant.until('all are back', () => existing().length === hosts.length && !hosts.some(isHeld));
  expect(await held()).toBe(0);
});

test('hosts that stay listed only in a Project that never had a place were removed by request', async () => {
  await start();
  const tenant = await newDomainTenant(world, 'moves');
  const hosts = Array.from({length: 4}, (_, index) => tenant.host(`h${index}`));
  await tenant.label({[LABEL.plan]: 'starter'});
  await tenant.project({aliases: hosts}, 'first');
  await tenant.becomesOlder('first');
  await tenant.project(undefined, 'second');
  await tenant.becomesOlder('second');
  await tenant.project({aliases: hosts}, 'third');
  const existing = () => hosts.filter(host => tenant.domain(host)?.status?.state);
  await tenant.until('each host has a Domain', () => existing().length === hosts.length);
  const before = await world.operator().metric('nameplate_own_removals_total');
  await tenant.project(undefined, 'first');
  await tenant.until('all are gone', () => existing().length === 0);
  expect(await held()).toBe(0);
  expect(await world.operator().metric('nameplate_own_removals_total')).toBe(before);
});

async function isPaused(kind: string): Promise<boolean> {
  return (await world.operator().metric('nameplate_paused', {kind})) === 1;
}

function routedOf(tenant: DomainTenant, host: string): string | undefined {
  return findCondition(tenant.domain(host)?.status?.conditions, 'Routed')?.reason;
}
