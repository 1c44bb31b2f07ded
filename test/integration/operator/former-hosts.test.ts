/** The objects that a default host leaves behind when the configuration changes. */
import type {AddressInfo} from 'node:net';
import {createServer, type Server} from 'node:tls';
import {afterAll, afterEach, beforeAll, expect, test} from 'vitest';
import {routeName} from '../../../src/operator/kinds/derived-names.ts';
import {CERTIFICATE, INGRESS, PROJECT, SECRET} from '../../../src/operator/kinds/kinds.ts';
import type {ResourceType} from '../../../src/runtime/kube/object.ts';
import {BASE_DOMAIN} from '../../cluster/state.ts';
import {selfSigned} from '../../support/self-signed.ts';
import {issue, prepareForHand} from './by-hand.ts';
import {type DomainTenant, newDomainTenant} from './domain-tenant.ts';
import {type OperatorWorld, startOperatorWorld} from './operator-world.ts';

const OTHER_DOMAIN = 'other.nameplate.test';

let world: OperatorWorld;
let edge: Server;

beforeAll(async () => {
  world = await startOperatorWorld();
  await prepareForHand(world);
  edge = createServer(socket => socket.on('error', () => undefined));
  edge.on('tlsClientError', () => undefined);
  await new Promise<void>(resolve => edge.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  await world.operator().stop();
});
afterAll(async () => {
  await world?.stop();
  await new Promise(resolve => edge?.close(resolve));
});

async function publishedWithCertificate(name: string): Promise<{tenant: DomainTenant; host: string}> {
  await world.startOperator(`${name}-before`, {defaultHost: {tls: 'certificate'}});
  const tenant = await newDomainTenant(world, name);
  await tenant.deployedProject();
  const host = await tenant.until('it has a default host', () => tenant.get(PROJECT, 'shop')?.status?.defaultHost);
  await issue(tenant, host);
  await tenant.projectBecomes('shop', {Ready: 'Published'});
  expect(left(tenant, host)).toEqual(['Ingress', 'Certificate', 'Secret']);
  await world.operator().stop();
  return {tenant, host};
}

/** The kinds of the host's objects. */
function left(tenant: DomainTenant, host: string): string[] {
  const kinds: ResourceType[] = [INGRESS, CERTIFICATE, SECRET];
  return kinds.filter(kind => tenant.get(kind, routeName(tenant.namespace, host))).map(({kind}) => kind);
}

/** The edge presents a certificate for all hosts below the domain. */
async function present(domain: string): Promise<void> {
  edge.setSecureContext(await selfSigned(world.folder, 'wildcard', `DNS:*.${domain}`));
}

/** The edge has one certificate for all default hosts, and Secrets are not kept. */
function shared() {
  const certificates = {...(world.config.certificates as object), secretRetentionSeconds: 0};
  return {certificates, defaultHost: {tls: 'ingress-default'}};
}

test("if the edge has a certificate for all default hosts, a host's own is removed, and the host stays", async () => {
  const {tenant, host} = await publishedWithCertificate('shared');
  await world.startOperator('shared-after', shared());
  await tenant.until('only the route is left', () => left(tenant, host).join() === 'Ingress');
  expect(tenant.ingress(host)?.spec.tls).toBeUndefined();
  await tenant.projectBecomes('shop', {Ready: 'Published'});
});

test('a default host of a former base domain is removed once the edge answers for the present one', async () => {
  const {tenant, host} = await publishedWithCertificate('former');
  await present(BASE_DOMAIN);
  const platform = {...(world.config.platform as object), baseDomain: OTHER_DOMAIN};
  const {port} = edge.address() as AddressInfo;
  const operator = await world.startOperator('former-after', {
    ...shared(),
    platform,
    probes: {addresses: [`127.0.0.1:${port}`]},
  });
  const next = await tenant.until('it has another default host', () => {
    const {defaultHost = ''} = tenant.get(PROJECT, 'shop')?.status ?? {};
    return defaultHost.endsWith(OTHER_DOMAIN) ? defaultHost : undefined;
  });
  await tenant.projectBecomes('shop', {Ready: 'Published'});
  const probed = (reason: string) => operator.metric('nameplate_probes_total', {reason});
  await tenant.until('the edge was asked', async () => (await probed('WrongCertificate')) > 1);
  expect(left(tenant, host)).toEqual(['Ingress', 'Certificate', 'Secret']);

  await present(OTHER_DOMAIN);
  await tenant.until('nothing of the former host is left', () => left(tenant, host).length === 0);
  expect(left(tenant, next)).toEqual(['Ingress']);
});
