/** The client and step-ca, which validates over DNS and HTTP. */
import {createHash, X509Certificate} from 'node:crypto';
import {createServer, type Server} from 'node:http';
import type {AddressInfo} from 'node:net';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {renewalIdOf, thumbprintOf} from '../../../src/acme/identifiers.ts';
import type {AcmeChallenge, Authorization} from '../../../src/acme/objects.ts';
import {type NameServers, startNameServers} from '../operator/name-servers.ts';
import {authorize, clientOf, collect, newFolder, newKey, requestFor, signal} from './acme-world.ts';
import {type StepCa, startStepCa} from './step-ca.ts';

let folder: Awaited<ReturnType<typeof newFolder>>;
let names: NameServers;
let web: Server;
let stepCa: StepCa;
const key = newKey();

beforeAll(async () => {
  folder = await newFolder();
  names = await startNameServers(folder.path);
  web = createServer(({url = ''}, response) => void response.end(`${url.split('/').at(-1)}.${thumbprintOf(key)}`));
  await new Promise<void>(resolve => web.listen(0, '127.0.0.1', resolve));
  const {port} = web.address() as AddressInfo;
  stepCa = await startStepCa(folder.path, {httpPort: port, dns: names.addresses[0] ?? ''});
});

afterAll(async () => {
  await stepCa?.stop();
  await new Promise<void>(resolve => (web ? web.close(() => resolve()) : resolve()));
  await names?.stop();
  await folder?.[Symbol.asyncDispose]();
});

async function newTenant(accountKey = key) {
  const client = clientOf(stepCa, {key: accountKey});
  const {uri} = await client.createAccount({contact: ['mailto:ops@example.com']}, signal);
  return {client, uri, [Symbol.asyncDispose]: () => client.close()};
}

function challengeOf({challenges}: Authorization, type: string): AcmeChallenge {
  const found = challenges.find(challenge => challenge.type === type);
  if (!found) throw new Error(`the CA offers no ${type}`);
  return found;
}

test('a certificate by HTTP-01, for which the thumbprint of the key is all that the host needs', async () => {
  await using tenant = await newTenant();
  await names.set('shop.test', 'A', ['127.0.0.1']);
  const order = await tenant.client.createOrder(tenant.uri, {names: ['shop.test']}, signal);
  const ready = await authorize(tenant.client, tenant.uri, order, async each => challengeOf(each, 'http-01').url);
  const request = await requestFor(['shop.test'], folder.path);
  const pem = await collect(tenant.client, tenant.uri, ready, request.csr);
  const leaf = new X509Certificate(pem);
  expect(leaf.subjectAltName).toBe('DNS:shop.test');
  expect(leaf.checkPrivateKey(request.key)).toBe(true);
  expect(leaf.issuer).toBe('CN=Step Intermediate');
  expect(renewalIdOf(pem)).toMatch(/^[\w-]{20,}\.[\w-]{10,}$/);
});

test('a certificate for a wildcard by DNS-01', async () => {
  await using tenant = await newTenant();
  const order = await tenant.client.createOrder(tenant.uri, {names: ['*.wild.test']}, signal);
  const ready = await authorize(tenant.client, tenant.uri, order, async each => {
    const {token, url} = challengeOf(each, 'dns-01');
    const digest = createHash('sha256')
      .update(`${token}.${thumbprintOf(key)}`)
      .digest('base64url');
    await names.set('_acme-challenge.wild.test', 'TXT', [digest]);
    return url;
  });
  const pem = await collect(tenant.client, tenant.uri, ready, (await requestFor(['*.wild.test'], folder.path)).csr);
  expect(new X509Certificate(pem).subjectAltName).toBe('DNS:*.wild.test');
});

test('a directory without renewal information', async () => {
  await using tenant = await newTenant();
  const asked = tenant.client.renewalInfo('AQID.AQID', signal);
  await expect(asked).rejects.toThrow('the directory has no "renewalInfo"');
});

test('a key has one account, and an unknown key has none', async () => {
  await using tenant = await newTenant();
  await using again = await newTenant();
  expect(again.uri).toBe(tenant.uri);
  const unknown = clientOf(stepCa);
  const refused = unknown.createAccount({contact: [], onlyExisting: true}, signal);
  await expect(refused).rejects.toMatchObject({name: 'AcmeError', problem: {type: 'accountDoesNotExist'}});
  await unknown.close();
});

test('an account sees no order of another, and an order that does not exist is a problem', async () => {
  await using tenant = await newTenant();
  await using other = await newTenant(newKey());
  const {url} = await tenant.client.createOrder(tenant.uri, {names: ['shop.test']}, signal);
  await expect(other.client.order(other.uri, url, signal)).rejects.toMatchObject({problem: {type: 'unauthorized'}});
  await expect(tenant.client.order(tenant.uri, `${url}x`, signal)).rejects.toMatchObject({name: 'AcmeError'});
});

test('an order is finalized only when it is ready, and only for its names', async () => {
  await using tenant = await newTenant();
  await names.set('late.test', 'A', ['127.0.0.1']);
  const order = await tenant.client.createOrder(tenant.uri, {names: ['late.test']}, signal);
  const finalize = async (host: string) =>
    tenant.client.finalize(tenant.uri, order, (await requestFor([host], folder.path)).csr, signal);
  await expect(finalize('late.test')).rejects.toMatchObject({problem: {type: 'orderNotReady'}});
  await authorize(tenant.client, tenant.uri, order, async each => challengeOf(each, 'http-01').url);
  await expect(finalize('other.test')).rejects.toMatchObject({name: 'AcmeError'});
  await expect(finalize('late.test')).resolves.toMatchObject({names: ['late.test'], url: order.url});
});

/** It calls this `rejectedIdentifier`, so the status says more than the type. */
test('a key change, which step-ca offers but cannot do, is an error of the server and changes nothing', async () => {
  await using tenant = await newTenant(newKey());
  const refused = {name: 'AcmeError', status: 501};
  await expect(tenant.client.changeKey(tenant.uri, newKey(), signal)).rejects.toMatchObject(refused);
  await expect(tenant.client.createOrder(tenant.uri, {names: ['shop.test']}, signal)).resolves.toBeDefined();
});
