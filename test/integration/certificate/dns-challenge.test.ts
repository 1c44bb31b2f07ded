/** Certificates of hosts that only a delegated challenge proves: the CA asks our name servers. */
import {afterAll, beforeAll, beforeEach, expect, test} from 'vitest';
import {ANNOTATION, LABEL} from '../../../src/api/names.ts';
import {CERTIFICATE_REQUEST} from '../../../src/operator/kinds/kinds.ts';
import {freePorts} from '../../cluster/free-ports.ts';
import {BASE_DOMAIN, TARGET_DOMAIN} from '../../cluster/state.ts';
import {until} from '../../cluster/wait.ts';
import {
  ACME_DOMAIN,
  type NameServerProcess,
  overTcp,
  queryOf,
  startNameServerProcess,
  textsIn,
} from '../nameserver/name-server.ts';
import {type DomainTenant, newDomainTenant} from '../operator/domain-tenant.ts';
import {type CaWorld, startCaWorld} from './ca-world.ts';
import {claimWith, condition, namesIn, ordersFor, readiness} from './orders.ts';

let world: CaWorld;
let nameServers: NameServerProcess[];

beforeAll(async () => {
  const [port = 0] = await freePorts(1);
  world = await startCaWorld({}, {forwarded: {zone: ACME_DOMAIN, port}});
  nameServers = [
    await startNameServerProcess(world.api.kubeconfig, port),
    await startNameServerProcess(world.api.kubeconfig),
  ];
  const certificates = world.certificatesBy() as {acme: object};
  const addresses = nameServers.map(server => `127.0.0.1:${server.port}`);
  const acme = {...certificates.acme, nameserver: {addresses}};
  await world.startSigner('signer', {
    platform: {baseDomain: BASE_DOMAIN, targetDomain: TARGET_DOMAIN, acmeDomain: ACME_DOMAIN},
    certificates: {...certificates, acme},
  });
}, 240_000);
afterAll(async () => {
  await Promise.all((nameServers ?? []).map(server => server.stop()));
  await world?.stop();
});
beforeEach(() => world.responder.start());

/** A tenant whose apex has the addresses of the edge, and no TXT record. */
async function apexTenant(name: string, account?: string): Promise<{tenant: DomainTenant; apex: string}> {
  const tenant = await newDomainTenant(world, name, account === undefined ? {} : {account});
  const apex = tenant.zone;
  await tenant.deployedProject({primary: apex});
  await world.dns.set(apex, 'A', ['127.0.0.1']); // the edge of this world
  await tenant.becomes(apex, {DNSVerified: 'ProofMissing'});
  return {tenant, apex};
}

/** The record that the message names. */
function delegationOf(tenant: DomainTenant, apex: string): {readonly name: string; readonly value: string} {
  const {message = ''} = tenant.domain(apex)?.status?.conditions?.find(({type}) => type === 'DNSVerified') ?? {};
  const [, name = '', value = ''] = /create (_acme-challenge\S+)\. CNAME (\S+)\. /.exec(message) ?? [];
  return {name, value};
}

test('an apex is proved by the delegated challenge, and the CA validates it over DNS', async () => {
  const {tenant, apex} = await apexTenant('delegated');
  await world.responder.stop(); // nothing answers over HTTP
  const {name, value} = delegationOf(tenant, apex);
  expect(name).toBe(`_acme-challenge.${apex}`);
  expect(value).toMatch(new RegExp(`^[a-z2-7]{32}\\.${ACME_DOMAIN}$`));
  await world.dns.set(name, 'CNAME', [value]);
  await tenant.becomesLive(apex);
  expect(tenant.certificate(apex)?.metadata.annotations).toMatchObject({[ANNOTATION.challenge]: 'dns-01'});
  expect(ordersFor(world, apex)).toHaveLength(1);
  const {spec} = await claimWith(tenant, apex, issuance => issuance?.renewal !== undefined);
  expect(spec.issuance).not.toHaveProperty('challenge');
  expect(spec.failures ?? []).toEqual([]);
  const answered = async () => (await overTcp(nameServers[0]?.port ?? 0, queryOf(value))).flatMap(textsIn);
  await until('nothing is answered any more', async () => (await answered()).length === 0);
});

test('with the TXT record instead, it is validated over HTTP', async () => {
  const {tenant, apex} = await apexTenant('by-txt');
  const [txt] = tenant.domain(apex)?.status?.dns?.required?.filter(({type}) => type === 'TXT') ?? [];
  await tenant.createRecord('TXT', txt?.name ?? '', txt?.value ?? '');
  await tenant.becomesLive(apex);
  expect(tenant.certificate(apex)?.metadata.annotations ?? {}).not.toHaveProperty(ANNOTATION.challenge);
});

test('a replica that does not know the challenge yet costs no order', async () => {
  const {tenant, apex} = await apexTenant('behind');
  const behind = nameServers[1];
  if (!behind) throw new Error('one replica');
  process.kill(behind.pid, 'SIGSTOP');
  const {name, value} = delegationOf(tenant, apex);
  await world.dns.set(name, 'CNAME', [value]);
  await tenant.until('the request says which replica', () =>
    readiness(tenant, apex)?.message?.includes(`the replica 127.0.0.1:${behind.port} of`),
  );
  const {spec} = await claimWith(tenant, apex, issuance => issuance?.challenge !== undefined);
  expect(spec.issuance?.challenge?.name).toBe(value);
  process.kill(behind.pid, 'SIGCONT');
  await tenant.becomesLive(apex);
  expect(ordersFor(world, apex)).toHaveLength(1);
});

// attack: leftover-record
test("another account's name proves nothing", async () => {
  const first = await apexTenant('first-holder');
  const {name, value} = delegationOf(first.tenant, first.apex);
  await world.dns.set(name, 'CNAME', [value]);
  await first.tenant.becomesLive(first.apex);
  const second = await newDomainTenant(world, 'second');
  await second.deployedProject({primary: first.apex});
  await second.becomes(first.apex, {DNSVerified: 'ProofMissing', Claimed: 'HeldByAnotherAccount'});
  expect(delegationOf(second, first.apex)).toMatchObject({name});
  expect(delegationOf(second, first.apex).value).not.toBe(value);
  await world.dns.set(name, 'CNAME', [delegationOf(second, first.apex).value]);
  await second.becomesLive(first.apex);
  await first.tenant.until(
    'the host has moved',
    () => first.tenant.claim(first.apex)?.spec.namespace === second.namespace,
  );
});

/** A tenant whose Project lists the wildcard below its zone, with no records yet. */
async function wildcardTenant(name: string): Promise<{tenant: DomainTenant; wildcard: string}> {
  const tenant = await newDomainTenant(world, name);
  const wildcard = `*.${tenant.zone}`;
  await tenant.deployedProject({aliases: [wildcard]});
  return {tenant, wildcard};
}

test('a wildcard is proved by the delegated challenge, and gets a certificate of its own over DNS', async () => {
  const {tenant, wildcard} = await wildcardTenant('wildcard');
  await world.responder.stop(); // nothing answers over HTTP
  await tenant.createRecords(wildcard);
  const {status} = await tenant.becomesLive(wildcard);
  expect(status?.dns?.required).toMatchObject([
    {type: 'CNAME', name: wildcard, label: '*'},
    {type: 'CNAME', name: `_acme-challenge.${tenant.zone}`, label: '_acme-challenge'},
  ]);
  expect(tenant.certificate(wildcard)?.spec.dnsNames).toEqual([wildcard]);
  expect(ordersFor(world, wildcard).map(namesIn)).toEqual([[wildcard]]);
  expect(tenant.ingress(wildcard)?.spec.rules.map(({host}) => host)).toEqual([wildcard]);
  expect(tenant.claim(wildcard)?.metadata.name).toBe(`wc--any.${tenant.zone}`);
  await tenant.project();
  await tenant.until('nothing of it is left', () => !tenant.ingress(wildcard) && !tenant.certificate(wildcard));
  await tenant.until('the host is released', () => tenant.claim(wildcard)?.spec.releasedAt);
});

test('an apex and the wildcard below it share the delegated challenge, at the same time', async () => {
  const {tenant, apex} = await apexTenant('both');
  const wildcard = `*.${apex}`;
  await tenant.deployedProject({primary: apex, aliases: [wildcard]});
  await tenant.createRecords(wildcard);
  await Promise.all([apex, wildcard].map(host => tenant.becomesLive(host)));
  expect(ordersFor(world, apex).map(namesIn)).toEqual([[apex]]);
  expect(ordersFor(world, wildcard).map(namesIn)).toEqual([[wildcard]]);
});

// attack: wildcard-over-host
test('a wildcard that only points to an account is not claimed, ordered, or routed', async () => {
  const {tenant, wildcard} = await wildcardTenant('pointing');
  const host = tenant.host('shop');
  await tenant.deployedProject({primary: host, aliases: [wildcard]});
  const {target = ''} = await tenant.until('the records are shown', () => {
    const [record] = tenant.domain(wildcard)?.status?.dns?.required ?? [];
    return record && {target: record.value};
  });
  await world.dns.set(wildcard, 'CNAME', [target]);
  await tenant.becomesLive(host); // below the wildcard, whose record is its own, too
  await tenant.becomes(wildcard, {DNSVerified: 'ProofMissing', Claimed: 'Waiting', CertificateReady: 'Waiting'});
  expect(tenant.claim(wildcard)).toBeUndefined();
  expect(tenant.certificate(wildcard)).toBeUndefined();
  expect(tenant.ingress(wildcard)).toBeUndefined();
  expect(ordersFor(world, wildcard)).toEqual([]);
});

// attack: leftover-record
test("a wildcard moves with its records, and what is left of a former holder's certificate is removed", async () => {
  const {tenant, wildcard} = await wildcardTenant('former');
  await tenant.createRecords(wildcard);
  await tenant.becomesLive(wildcard);
  const next = await newDomainTenant(world, 'next');
  await next.deployedProject({aliases: [wildcard]});
  await next.becomes(wildcard, {Claimed: 'HeldByAnotherAccount'});
  const required = next.domain(wildcard)?.status?.dns?.required ?? [];
  const [traffic, challenge] = required;
  await world.dns.set(traffic?.name ?? '', 'CNAME', [traffic?.value ?? '']);
  await next.becomes(wildcard, {DNSVerified: 'ProofMissing', Claimed: 'HeldByAnotherAccount'});
  expect(next.certificate(wildcard), 'the delegated challenge is still that of the holder').toBeUndefined();
  await world.dns.set(challenge?.name ?? '', 'CNAME', [challenge?.value ?? '']);
  await next.becomesLive(wildcard);
  await tenant.becomes(wildcard, {Claimed: 'HeldByAnotherAccount'});
  await tenant.until(
    'its route and certificate are gone',
    () => !tenant.ingress(wildcard) && !tenant.certificate(wildcard),
  );
});

// attack: wildcard-over-host
test('a wildcard whose namespace moved to another account stays served, but is not certified for it', async () => {
  const tenant = await newDomainTenant(world, 'relabeled', {account: 'before'});
  const wildcard = `*.${tenant.zone}`;
  await tenant.deployedProject({aliases: [wildcard]});
  await tenant.live(wildcard);
  const before = tenant.certificateRequests(wildcard).length;
  await tenant.label({[LABEL.account]: 'after'});
  await tenant.becomes(wildcard, {Claimed: 'HeldByAnotherAccount', Routed: 'Serving'});
  await tenant.renew(wildcard);
  await tenant.until('the request is denied', () => {
    const request = tenant.certificateRequests(wildcard)[before]?.object.metadata.name ?? '';
    return condition(tenant.get(CERTIFICATE_REQUEST, request), 'Denied')?.reason === 'HostNotHeld';
  });
  expect(tenant.claim(wildcard)?.spec.account).toBe('before');
  expect(ordersFor(world, wildcard)).toHaveLength(1);
});
