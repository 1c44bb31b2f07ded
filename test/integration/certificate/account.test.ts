/**
 * The platform's account at a CA that requires an external account binding, and what belongs to the account: the
 * renewals that the CA asks for, and those after the CA or the platform has lost the account.
 */
import {createPrivateKey, X509Certificate} from 'node:crypto';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {AcmeClient} from '../../../src/acme/client.ts';
import {findCondition} from '../../../src/api/conditions.ts';
import {ACME_ISSUER, CERTIFICATE_REQUEST, SECRET} from '../../../src/operator/kinds/kinds.ts';
import type {KubeObject} from '../../../src/runtime/kube/object.ts';
import {until} from '../../cluster/wait.ts';
import {refusal} from '../../support/ca-proxy.ts';
import {RELEASE} from '../../support/install.ts';
import {type DomainTenant, newDomainTenant, newLiveTenant} from '../operator/domain-tenant.ts';
import {type CaWorld, ISSUER_NAME, startCaWorld} from './ca-world.ts';
import {waitingTenant} from './orders.ts';

const [KEY_ID, KEY] = ['kid-1', 'zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W'];
const BINDING = {keyID: KEY_ID, keySecretRef: {name: 'ca-binding', key: 'hmac'}};
const SECRET_KEY = {namespace: RELEASE.namespace, name: BINDING.keySecretRef.name};
const ACCOUNT_KEY = {namespace: RELEASE.namespace, name: 'nameplate-acme-account'};
const DAY_MS = 86_400_000;

let world: CaWorld;

beforeAll(async () => {
  world = await startCaWorld({
    config: {externalAccountBindingRequired: true, externalAccountMACKeys: {[KEY_ID]: KEY}},
  });
  await world.startSigner('signer');
});
afterAll(() => world?.stop());

const ready = () => findCondition(world.history.get(ACME_ISSUER, ISSUER_NAME)?.status?.conditions, 'Ready');

async function issuerSays(reason: string, ...texts: string[]): Promise<void> {
  const isSo = () => ready()?.reason === reason && texts.every(text => ready()?.message.includes(text));
  await until(`the ACMEIssuer says ${reason}`, isSo).catch(() => {
    expect(ready()).toMatchObject({reason});
    for (const text of texts) expect(ready()?.message).toContain(text);
  });
}

async function writeBinding(data: Readonly<Record<string, string>>): Promise<void> {
  const encoded = Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]);
  const content = {type: 'Opaque', data: Object.fromEntries(encoded)};
  await world.client.apply(SECRET, {apiVersion: 'v1', kind: 'Secret', metadata: SECRET_KEY, ...content} as KubeObject);
}

/** The certificate that was issued last, PEM. */
async function issuedTo(tenant: DomainTenant, host: string): Promise<string> {
  const name = tenant.certificateRequests(host).at(-1)?.object.metadata.name ?? '';
  const request = await world.client.get(CERTIFICATE_REQUEST, {namespace: tenant.namespace, name});
  const {certificate = ''} = (request?.status ?? {}) as {certificate?: string};
  return new X509Certificate(Buffer.from(certificate, 'base64')).toString();
}

function ordersFor(host: string) {
  const orders = world.proxy.seen.filter(({resource}) => resource === 'newOrder');
  return orders.filter(({payload}) => JSON.stringify(payload).includes(`"${host}"`));
}

async function renewalOf(tenant: DomainTenant, host: string, isWanted: (renewal: string) => boolean = () => true) {
  return await tenant.until(`the claim of ${host} has the certificate's identifier`, () => {
    const renewal = tenant.claim(host)?.spec.issuance?.renewal;
    return renewal !== undefined && isWanted(renewal) ? renewal : undefined;
  });
}

test('as long as the binding is missing or wrong, the ACMEIssuer says what to write where; then a host goes live', async () => {
  const tenant = await newDomainTenant(world, 'bound');
  const host = tenant.host('shop');
  await issuerSays('AccountRefused', 'externalAccountRequired', 'spec.externalAccountBinding');
  await tenant.deployedProject({primary: host});
  await tenant.createRecords(host);

  await world.applyIssuer({externalAccountBinding: BINDING});
  const secret = `${SECRET_KEY.namespace}/${SECRET_KEY.name}`;
  await issuerSays('BindingMissing', `Secret ${secret}`, 'hmac', 'Create it');
  await tenant.becomes(host, {CertificateReady: 'IssuerNotReady'}, [secret]);
  expect(await world.operator().readiness()).toContain(secret);

  await writeBinding({other: KEY});
  await world.applyIssuer({externalAccountBinding: {...BINDING, keyID: 'unknown'}});
  await issuerSays('BindingMissing', `Secret ${secret}`, 'hmac');
  await writeBinding({hmac: KEY});
  await issuerSays('AccountRefused', 'unauthorized', 'spec.externalAccountBinding.keyID', `Secret ${secret}`);
  await writeBinding({hmac: KEY.replace('z', 'y')});
  await world.applyIssuer({externalAccountBinding: BINDING});
  await issuerSays('AccountRefused', 'unauthorized', 'spec.externalAccountBinding.keyID', `Secret ${secret}`);

  await writeBinding({hmac: `${KEY}\n`});
  await issuerSays('AccountReady');
  await tenant.becomesLive(host);
});

test('what the CA itself suggests decides when a certificate is renewed, and its order replaces that one', async () => {
  const [early, nonsense] = [await newLiveTenant(world, 'early'), await newLiveTenant(world, 'nonsense')];
  const before = await renewalOf(early.tenant, early.host);
  const [start, end] = [2, 1].map(days => new Date(Date.now() - days * DAY_MS).toISOString());
  await world.pebble.setRenewalInfo(
    await issuedTo(early.tenant, early.host),
    JSON.stringify({suggestedWindow: {start, end}, explanationURL: 'https://ca.example/incident'}),
  );
  await world.pebble.setRenewalInfo(await issuedTo(nonsense.tenant, nonsense.host), '{"suggestedWindow": }');
  await world.operator().stop();
  await world.startSigner('asks');
  const next = await renewalOf(early.tenant, early.host, renewal => renewal !== before);
  expect(ordersFor(early.host).map(({payload}) => payload.replaces)).toEqual([undefined, before]);
  expect(early.tenant.claim(early.host)?.spec.orders?.at(-1)).toMatchObject({renewal: true});
  await until('it has asked about the new one', () => asked(next));
  await early.tenant.verify(early.host, 'after the renewal');
  await early.tenant.becomesLive(early.host);
  expect(ordersFor(early.host)).toHaveLength(2);
  expect(ordersFor(nonsense.host)).toHaveLength(1);
});

test('a CA that suggests to renew every certificate at once, again and again, gets one renewal', async () => {
  const {tenant, host} = await newLiveTenant(world, 'always');
  const before = await renewalOf(tenant, host);
  const [start, end] = [2, 1].map(days => new Date(Date.now() - days * DAY_MS).toISOString());
  world.proxy.switches.rewrite = ({resource}, reply) =>
    resource === 'renewalInfo' ? {...reply, body: JSON.stringify({suggestedWindow: {start, end}})} : reply;
  await world.operator().stop();
  await world.startSigner('urged');
  const next = await renewalOf(tenant, host, renewal => renewal !== before);
  await until('it has asked about the new one', () => asked(next));
  await newLiveTenant(world, 'beside');
  expect(tenant.claim(host)?.spec.issuance).toMatchObject({renewal: next});
  expect(ordersFor(host)).toHaveLength(2);
  delete world.proxy.switches.rewrite;
});

function asked(renewal: string): boolean {
  return world.proxy.seen.some(({resource, path}) => resource === 'renewalInfo' && path.endsWith(renewal));
}

const account = () => world.history.get(ACME_ISSUER, ISSUER_NAME)?.status?.accountURI;

/** As docs/operations.md says, if the key is lost: with another key, and so with another account. */
async function beginAgain(name: string): Promise<void> {
  const first = account();
  await world.operator().stop();
  await world.client.delete(SECRET, ACCOUNT_KEY);
  const status = {accountURI: null, accountServer: null, thumbprint: null};
  await world.client.patch(ACME_ISSUER, {name: ISSUER_NAME}, {status}, {subresource: 'status'});
  await world.startSigner(name);
  await until('there is another account', () => account() !== undefined && account() !== first);
}

test('after the platform has lost its key and begins with another account, hosts renew', async () => {
  const {tenant, host} = await newLiveTenant(world, 'lost-key');
  const before = await renewalOf(tenant, host);
  await beginAgain('other-key');
  await tenant.renew(host);
  await renewalOf(tenant, host, renewal => renewal !== before);
  expect(ordersFor(host).map(({payload}) => payload.replaces)).toEqual([undefined, before, undefined]);
});

test('a limit says nothing about an account in doubt: it stays', async () => {
  const {tenant, host} = await waitingTenant(world, 'doubted');
  const first = account();
  const early = world.history.versions(ACME_ISSUER, ISSUER_NAME).length;
  let isAsked = false;
  world.proxy.switches.fault = ({resource}) => {
    if (isAsked || (resource !== 'newOrder' && resource !== 'newAccount')) return undefined;
    if (resource === 'newOrder') return refusal(403, 'unauthorized', 'not now');
    isAsked = true;
    return refusal(429, 'rateLimited', 'too many requests');
  };
  await tenant.createRecords(host);
  await tenant.becomesLive(host);
  delete world.proxy.switches.fault;
  expect(isAsked).toBe(true);
  const since = world.history.versions(ACME_ISSUER, ISSUER_NAME).slice(early);
  const reasons = since.map(({object}) => findCondition(object.status?.conditions, 'Ready')?.reason);
  expect(reasons.filter(reason => reason !== 'AccountReady')).toEqual([]);
  expect(account()).toBe(first);
});

test('an account that was deactivated is reported, and hosts get their certificates by the next one', async () => {
  const secret = await world.client.get(SECRET, ACCOUNT_KEY);
  const key = createPrivateKey(Buffer.from(secret?.data?.['account.key'] ?? '', 'base64'));
  const {directory, trust: caBundle} = world.proxy;
  const client = new AcmeClient({directory, caBundle, key, timeoutMs: 10_000, userAgent: 'nameplate-test'});
  const former = account() ?? '';
  await client.deactivateAuthorization(former, former, new AbortController().signal);
  await client.close();
  const tenant = await newDomainTenant(world, 'deactivated');
  const host = tenant.host('shop');
  await tenant.deployedProject({primary: host});
  await tenant.createRecords(host);
  await issuerSays('AccountRefused', 'unauthorized', 'deactivated', '"The account key is lost"');
  await tenant.becomes(host, {CertificateReady: 'IssuerNotReady'}, ['deactivated']);
  await beginAgain('next-account');
  await tenant.becomesLive(host);
});

test('a CA that has forgotten everything gets a new account, and hosts renew', async () => {
  const {tenant, host} = await newLiveTenant(world, 'forgotten');
  const before = await renewalOf(tenant, host);
  await world.pebble.restart();
  await tenant.renew(host);
  await renewalOf(tenant, host, renewal => renewal !== before);
  expect(ready()).toMatchObject({status: 'True', reason: 'AccountReady'});
});
