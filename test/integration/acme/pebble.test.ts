/** The client and Pebble, in strict mode. */
import {X509Certificate} from 'node:crypto';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {until} from '../../cluster/wait.ts';
import {type Pebble, startPebble} from '../../support/pebble.ts';
import {authorize, clientOf, collect, issue, newFolder, newKey, requestFor, signal} from './acme-world.ts';

let folder: Awaited<ReturnType<typeof newFolder>>;
let pebble: Pebble;

beforeAll(async () => {
  folder = await newFolder();
  pebble = await startPebble(folder.path, {config: {domainBlocklist: ['blocked.example']}});
});

afterAll(async () => {
  await pebble?.stop();
  await folder?.[Symbol.asyncDispose]();
});

const CONTACT = {contact: ['mailto:ops@example.com']};

/** A client with an account. */
async function newTenant() {
  const key = newKey();
  const client = clientOf(pebble, {key});
  const {uri} = await client.createAccount(CONTACT, signal);
  return {client, key, uri, [Symbol.asyncDispose]: () => client.close()};
}

test('from nothing to a certificate of the key and the names that were requested', async () => {
  await using client = await newTenant();
  const names = ['b.example.com', 'a.example.com'];
  const order = await client.client.createOrder(client.uri, {names}, signal);
  expect(order).toMatchObject({status: 'pending', names: names.toSorted(), authorizations: {length: 2}});

  const ready = await authorize(client.client, client.uri, order);
  const {csr, key} = await requestFor(names, folder.path);
  const pem = await collect(client.client, client.uri, ready, csr);
  const leaf = new X509Certificate(pem);
  expect(leaf.checkPrivateKey(key)).toBe(true);
  expect(leaf.subjectAltName?.split(', ').sort()).toEqual(['DNS:a.example.com', 'DNS:b.example.com']);
  expect(leaf.ca).toBe(false);
});

test('a directory says what the CA can do', async () => {
  await using client = await newTenant();
  expect(await client.client.directory(signal)).toMatchObject({
    newOrder: expect.stringMatching(/^https:\/\/127\.0\.0\.1:/),
    renewalInfo: expect.stringMatching(/^https:\/\/127\.0\.0\.1:/),
  });
});

test('a key has one account, whoever asks and however often', async () => {
  await using client = await newTenant();
  const again = clientOf(pebble, {key: client.key});
  await expect(again.createAccount(CONTACT, signal)).resolves.toEqual({uri: client.uri});
  const known = again.createAccount({contact: [], onlyExisting: true}, signal);
  await expect(known).resolves.toMatchObject({uri: client.uri});
  await again.close();
});

test('an account that does not exist is not created if only an existing one is wanted', async () => {
  await using client = await newTenant();
  const other = clientOf(pebble);
  const refusal = {name: 'AcmeError', problem: {type: 'accountDoesNotExist'}};
  await expect(other.createAccount({contact: [], onlyExisting: true}, signal)).rejects.toMatchObject(refusal);
  await expect(client.client.createOrder(`${client.uri}x`, {names: ['a.example']}, signal)).rejects.toMatchObject({
    name: 'AcmeError',
  });
  await other.close();
});

test.each([
  ['a name that the CA refuses', ['blocked.example'], {}, 'rejectedIdentifier'],
  ['a name that is none', ['a_b..example'], {}, 'malformed'],
  ['a profile that the CA does not have', ['a.example.com'], {profile: 'other'}, 'invalidProfile'],
])('an order for %s is refused', async (_, names, options, type) => {
  await using client = await newTenant();
  const refused = client.client.createOrder(client.uri, {names, ...options}, signal);
  await expect(refused).rejects.toMatchObject({name: 'AcmeError', problem: {type}});
});

test('what the CA does not have is reported with its status', async () => {
  await using client = await newTenant();
  const {url} = await client.client.createOrder(client.uri, {names: ['a.example.com']}, signal);
  const gone = {name: 'AcmeError', status: 404, problem: {type: 'about:blank'}};
  await expect(client.client.order(client.uri, `${url}x`, signal)).rejects.toMatchObject(gone);
  const authorization = new URL('/authZ/x', url).href;
  await expect(client.client.authorization(client.uri, authorization, signal)).rejects.toMatchObject(gone);
});

test('an account sees no order of another', async () => {
  await using client = await newTenant();
  await using other = await newTenant();
  const {url} = await client.client.createOrder(client.uri, {names: ['a.example.com']}, signal);
  const refused = {name: 'AcmeError', problem: {type: 'unauthorized'}};
  await expect(other.client.order(other.uri, url, signal)).rejects.toMatchObject(refused);
});

test('an order is finalized only when it is ready, for its own names, and not for the account’s key', async () => {
  await using client = await newTenant();
  const order = await client.client.createOrder(client.uri, {names: ['a.example.com']}, signal);
  const finalize = async (names: string[], key = newKey()) => {
    const {csr} = await requestFor(names, folder.path, key);
    return client.client.finalize(client.uri, order, csr, signal);
  };
  await expect(finalize(['a.example.com'])).rejects.toMatchObject({problem: {type: 'orderNotReady'}});
  await authorize(client.client, client.uri, order);
  await expect(finalize(['b.example.com'])).rejects.toMatchObject({problem: {type: 'unauthorized'}});
  const ofAccount = finalize(['a.example.com'], client.key);
  await expect(ofAccount).rejects.toMatchObject({problem: {type: 'badCSR'}});
  await expect(finalize(['a.example.com'])).resolves.toMatchObject({status: expect.stringMatching(/processing|valid/)});
});

test('the authorization of a wildcard is by DNS-01 only', async () => {
  await using client = await newTenant();
  const order = await client.client.createOrder(client.uri, {names: ['*.example.com']}, signal);
  expect(order.names).toEqual(['*.example.com']);
  const [url = ''] = order.authorizations;
  const authorization = await client.client.authorization(client.uri, url, signal);
  expect(authorization.status).toBe('pending');
  const types = authorization.challenges.map(({type}) => type);
  expect(types).toContain('dns-01');
  expect(types).not.toContain('http-01');
});

test('a deactivated authorization stays deactivated', async () => {
  await using client = await newTenant();
  const order = await client.client.createOrder(client.uri, {names: ['a.example.com']}, signal);
  await authorize(client.client, client.uri, order);
  const [url = ''] = order.authorizations;
  await expect(client.client.authorization(client.uri, url, signal)).resolves.toMatchObject({status: 'valid'});
  await client.client.deactivateAuthorization(client.uri, url, signal);
  await expect(client.client.authorization(client.uri, url, signal)).resolves.toMatchObject({status: 'deactivated'});
});

test('after a key change, the account and its orders answer to the new key only', async () => {
  await using client = await newTenant();
  const {url} = await client.client.createOrder(client.uri, {names: ['a.example.com']}, signal);
  const newest = newKey();
  await client.client.changeKey(client.uri, newest, signal);

  await expect(client.client.order(client.uri, url, signal)).rejects.toMatchObject({name: 'AcmeError'});
  const unknown = client.client.createAccount({contact: [], onlyExisting: true}, signal);
  await expect(unknown).rejects.toMatchObject({problem: {type: 'accountDoesNotExist'}});
  const after = clientOf(pebble, {key: newest});
  const found = after.createAccount({contact: [], onlyExisting: true}, signal);
  await expect(found).resolves.toMatchObject({uri: client.uri});
  await expect(after.order(client.uri, url, signal)).resolves.toMatchObject({status: 'pending'});
  await after.close();
});

test('an account does not get its own key, which it has', async () => {
  await using client = await newTenant();
  const refused = client.client.changeKey(client.uri, client.key, signal);
  await expect(refused).rejects.toMatchObject({problem: {type: 'malformed'}});
});

/** Pebble 2.10.1 compares the type of its own error wrongly, and answers 200 (KeyRollover in wfe.go). */
test('a key change that a CA only claims is seen by asking for the account of the new key', async () => {
  await using client = await newTenant();
  await using other = await newTenant();
  await client.client.changeKey(client.uri, other.key, signal);
  const found = await other.client.createAccount({contact: [], onlyExisting: true}, signal);
  expect(found.uri).toBe(other.uri);
  await expect(client.client.createOrder(client.uri, {names: ['a.example.com']}, signal)).resolves.toBeDefined();
});

test('fifty certificates at once, with few connections and as many nonces as they need', async () => {
  await using client = await newTenant();
  const names = Array.from({length: 50}, (_, n) => `host${n}.example.com`);
  const issued = await Promise.all(names.map(name => issue(client.client, client.uri, [name], folder.path)));
  expect(issued.map(pem => new X509Certificate(pem).subjectAltName)).toEqual(names.map(name => `DNS:${name}`));
});

test('a CA that lost its memory says so, and its old nonces do no harm', async () => {
  const own = await newFolder();
  const forgetful = await startPebble(own.path);
  const client = clientOf(forgetful);
  const {uri} = await client.createAccount(CONTACT, signal);
  const {url} = await client.createOrder(uri, {names: ['a.example.com']}, signal);
  await forgetful.restart();
  const lost = {name: 'AcmeError', problem: {type: 'accountDoesNotExist'}};
  await until('the CA answers on a new connection', async () => {
    await expect(client.order(uri, url, signal)).rejects.toMatchObject(lost);
    return true;
  });
  await expect(client.createOrder(uri, {names: ['a.example.com']}, signal)).rejects.toMatchObject(lost);
  const renewed = await client.createAccount(CONTACT, signal);
  await expect(client.createOrder(renewed.uri, {names: ['a.example.com']}, signal)).resolves.toBeDefined();
  await client.close();
  await forgetful.stop();
  await own[Symbol.asyncDispose]();
});
