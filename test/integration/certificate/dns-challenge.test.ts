/** Certificates of hosts that only a delegated challenge proves: the CA asks our name servers. */
import {afterAll, beforeAll, beforeEach, expect, test} from 'vitest';
import {ANNOTATION} from '../../../src/api/names.ts';
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
import {claimWith, ordersFor, readiness} from './orders.ts';

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
