/**
 * The CA is away for a day, and etcd is restored from an older state. Certificates are valid for 26 hours, and the
 * operator's clock leaps, so a day takes half a minute.
 */
import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, afterEach, beforeAll, expect, test} from 'vitest';
import {findCondition} from '../../../src/api/conditions.ts';
import * as kinds from '../../../src/operator/kinds/kinds.ts';
import {until} from '../../cluster/wait.ts';
import {type CaFault, type CaRequestSeen, refusal} from '../../support/ca-proxy.ts';
import {createLeapingClock, type LeapingClock} from '../../support/leaping-clock.ts';
import {DomainTenant, newLiveTenant} from '../operator/domain-tenant.ts';
import {History} from '../operator/history.ts';
import {type CaWorld, ISSUER_NAME, startCaWorld} from './ca-world.ts';
import {claimWith, countOrders, isOf, publishedTo, waitingTenant} from './orders.ts';

const [MINUTE_MS, HOUR_MS] = [60_000, 3_600_000];
const LEAP_MS = 30 * MINUTE_MS;

let folder: string;
let clock: LeapingClock;
let world: CaWorld;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'nameplate-disasters-'));
  clock = await createLeapingClock(folder);
  const profiles = {default: {description: 'short', validityPeriod: 26 * 3600}};
  world = await startCaWorld({config: {profiles}}, {program: [clock.program]});
  await start('signer');
});
afterAll(async () => {
  await world?.stop();
  await rm(folder, {recursive: true, force: true});
});
afterEach(() => {
  for (const name of Object.keys(world.proxy.switches)) delete world.proxy.switches[name as never];
});

/** Alone: a leap would end its lease. */
function start(name: string) {
  return world.startSigner(name, world.electing({enabled: false}));
}

const reachable = () =>
  findCondition(world.history.get(kinds.ACME_ISSUER, ISSUER_NAME)?.status?.conditions, 'Reachable');

/** Time passes, and the operator has noticed. */
async function leap(ms: number): Promise<void> {
  const {seen} = world.proxy;
  const before = seen.length;
  await clock.leap(ms);
  await until('the operator has tried the CA again', () => seen.length > before, {intervalMs: 10});
}

async function expectNoticed(): Promise<void> {
  await clock.leap(MINUTE_MS / 2);
  await until('the ACMEIssuer says so', () => reachable()?.status === 'False');
  expect(reachable()?.message).toMatch(
    /^The CA has not answered since .* Check the network and the CA's status page\./,
  );
  expect(await world.operator().readiness()).toContain('The CA has not answered since');
}

test('a CA that has fallen silent is reported after one or two checks, and so is its return', async () => {
  await until('the CA answers', () => reachable()?.status === 'True');
  world.proxy.switches.fault = () => ({kind: 'silence'});
  const before = world.proxy.seen.length;
  await expectNoticed();
  expect(world.proxy.seen.slice(before).filter(({resource}) => resource === 'directory').length).toBeLessThan(3);
  delete world.proxy.switches.fault;
  await clock.leap(MINUTE_MS / 2);
  await until('the CA answers again', () => reachable()?.status === 'True');
});

test('while a CA is away for a day, all say so, and no certificate expires that had more than 25 hours left', async () => {
  const names = ['due', 'placed', 'finalized'];
  const [due, placed, finalized] = await Promise.all(names.map(name => newLiveTenant(world, name)));
  if (!due || !placed || !finalized) throw new Error('three tenants');
  const waiting = await waitingTenant(world, 'waiting');
  const all = [due, placed, finalized];
  const renewals = all.map(({tenant, host}) => tenant.claim(host)?.spec.issuance?.renewal);
  const expiresMs = Math.min(
    ...all.map(({tenant, host}) => Date.parse(tenant.certificate(host)?.status?.notAfter ?? '')),
  );
  const orders = countOrders(world);
  const {switches} = world.proxy;
  Object.assign(switches, {reuseOrders: true, processingMs: Number.POSITIVE_INFINITY});
  await finalized.tenant.renew(finalized.host);
  await until('it is finalized', () => world.proxy.seen.some(({resource}) => resource === 'finalize'));
  switches.fault = request => {
    if (!isOf('newOrder', request, placed.host)) return undefined;
    switches.down = true;
    return {kind: 'lost'};
  };
  await placed.tenant.renew(placed.host);
  await until('the CA is down', () => switches.down);
  expect(expiresMs - clock.now()).toBeGreaterThan(25 * HOUR_MS);
  await due.tenant.renew(due.host);
  await expectNoticed();
  await waiting.tenant.createRecords(waiting.host);
  await waiting.tenant.becomes(waiting.host, {CertificateReady: 'IssuerNotReady'}, ['The CA has not answered since']);

  const page = {'content-type': 'text/html', 'retry-after': '86400'};
  const kindsOfOutage: (CaFault | undefined)[] = [
    undefined,
    {kind: 'answer', status: 503, headers: page, body: '<h1>Maintenance</h1>'},
    refusal(503, 'serverInternal', 'The service is down for maintenance', {'retry-after': '86400'}),
  ];
  for (const fault of kindsOfOutage) {
    Object.assign(switches, {down: fault === undefined, fault: () => fault});
    const untilMs = clock.leapedMs + 8 * HOUR_MS;
    while (clock.leapedMs < untilMs) await leap(LEAP_MS);
    expect(reachable()?.status).toBe('False');
  }

  // For the operator, a certificate that is issued now is a day old, so the CA would suggest that it renews it.
  const suggestsNothing = ({resource}: CaRequestSeen) =>
    resource === 'renewalInfo' ? refusal(404, 'malformed', 'unknown certificate') : undefined;
  Object.assign(switches, {down: false, fault: suggestsNothing});
  const polls = () => world.proxy.seen.filter(({resource}) => resource === 'order').length;
  const polled = polls();
  await leap(5 * MINUTE_MS);
  await leap(5 * MINUTE_MS); // for an order whose last refusal arrived after the first leap
  await until('it is still processing', () => polls() > polled);
  switches.processingMs = 0;
  const renewed = ({tenant, host}: (typeof all)[number], index: number) => {
    const {issuance} = tenant.claim(host)?.spec ?? {};
    return issuance?.renewal !== renewals[index];
  };
  // The last refusal of an order may arrive after any leap; the next attempt is at most five minutes later.
  const leapOn = async () => all.every(renewed) || (await clock.leap(MINUTE_MS));
  await until('all are renewed', leapOn, {intervalMs: 2000});
  expect(clock.now()).toBeLessThan(expiresMs);
  for (const {tenant, host, domain} of all) {
    const after = Number(domain.metadata.resourceVersion);
    const versions = world.history.versions(kinds.DOMAIN, `${tenant.namespace}/${host}`).filter(({at}) => at > after);
    const ready = versions.map(({object}) => findCondition(object.status?.conditions, 'Ready')?.status);
    expect(ready.filter(status => status !== 'True')).toEqual([]);
    expect(tenant.claim(host)?.spec.failures ?? []).toEqual([]);
    expect(orders.created(host), host).toHaveLength(1);
  }
  await until('the new host has a certificate', () => publishedTo(waiting.tenant).length > 0);
  await until('the CA answers again', () => reachable()?.status === 'True');
});

test('an order that the CA refuses to finalize says so, and has failed after an hour', async () => {
  await world.operator().stop();
  await clock.leap(-clock.leapedMs);
  await start('refused');
  const {tenant, host} = await waitingTenant(world, 'refused');
  const caa = refusal(403, 'caa', 'CAA record for this host prevents issuance');
  const {switches} = world.proxy;
  switches.fault = request => (isOf('finalize', request, host) ? caa : undefined);
  await tenant.createRecords(host);
  await tenant.becomes(host, {CertificateReady: 'Issuing'}, ['caa: CAA record for this host prevents issuance']);
  expect(tenant.claim(host)?.spec.failures ?? []).toEqual([]);
  await clock.leap(HOUR_MS + MINUTE_MS);
  const failures = () => tenant.claim(host)?.spec.failures;
  await until('the order has failed', () => failures()?.length === 1);
  expect(tenant.claim(host)?.spec.issuance).toMatchObject({problem: {type: 'caa'}});
  switches.fault = undefined;
  await clock.leap(10 * MINUTE_MS);
  await tenant.becomesLive(host);
});

/** The tenant as the API server shows it now: its restart has ended what followed the objects. */
async function asOf(client: CaWorld['client'], ...tenants: readonly DomainTenant[]): Promise<DomainTenant[]> {
  await until('the API server answers', async () => await client.get(kinds.ACME_ISSUER, {name: ISSUER_NAME}));
  const history = new History(client);
  for (const kind of [kinds.PROJECT, kinds.DOMAIN, kinds.DOMAIN_CLAIM, kinds.CERTIFICATE, kinds.CERTIFICATE_REQUEST]) {
    await history.follow(kind);
  }
  return tenants.map(({namespace}) => new DomainTenant({...world, history}, namespace));
}

// Last, because it replaces the data under everything.
test('after a restore of etcd from the middle of an order, and from before others, none is placed again that the CA has', async () => {
  await world.operator().stop();
  await clock.leap(-clock.leapedMs);
  await start('before');
  const {switches} = world.proxy;
  switches.reuseOrders = true;
  const orders = countOrders(world);
  const {tenant: live, host: renewed} = await newLiveTenant(world, 'renewed');
  const [admitted, unknown] = [await waitingTenant(world, 'admitted'), await waitingTenant(world, 'unknown')];
  const {promise, resolve: go} = Promise.withResolvers<void>();
  switches.fault = request => (isOf('newOrder', request, admitted.host) ? {kind: 'held', until: promise} : undefined);
  await admitted.tenant.createRecords(admitted.host);
  await until('its order is placed', () => orders.created(admitted.host).length > 0);
  const {renewal} = live.claim(renewed)?.spec.issuance ?? {};
  const restore = await world.api.backup();

  const [liveLater, admittedLater, unknownLater] = await asOf(world.client, live, admitted.tenant, unknown.tenant);
  if (!liveLater || !admittedLater || !unknownLater) throw new Error('three tenants');
  switches.fault = undefined;
  await liveLater.renew(renewed);
  await claimWith(liveLater, renewed, issuance => issuance?.renewal !== undefined && issuance.renewal !== renewal);
  switches.fault = ({resource}) => (resource === 'finalize' ? refusal(503, 'serverInternal', 'later') : undefined);
  const early = world.proxy.seen.length;
  go();
  await unknownLater.createRecords(unknown.host);
  const finalizing = () =>
    new Set(world.proxy.seen.slice(early).flatMap(it => (it.resource === 'finalize' ? it.path : [])));
  await until('both orders are ready', () => finalizing().size === 2);
  await world.operator().kill();
  await world.certManager.crash();
  await restore();

  const [liveAgain, admittedAgain, unknownAgain] = await asOf(world.client, live, admitted.tenant, unknown.tenant);
  switches.fault = undefined;
  await world.certManager.restart();
  await start('after');
  await admittedAgain?.becomesLive(admitted.host);
  await unknownAgain?.becomesLive(unknown.host);
  await liveAgain?.verify(renewed, 'after the restore');
  await liveAgain?.becomesLive(renewed);
  for (const {host} of [admitted, unknown]) expect(orders.created(host), host).toHaveLength(1);
  expect(orders.created(renewed), 'its first one, and the renewal that was lost').toHaveLength(2);
  expect(admittedAgain?.claim(admitted.host)?.spec.orders).toHaveLength(1);
  expect(unknownAgain?.claim(unknown.host)?.spec.orders).toHaveLength(1);
});
