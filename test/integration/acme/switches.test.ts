/** The client and what Pebble does with its switches: one Pebble for each, since it reads them when it starts. */
import {createHash, X509Certificate} from 'node:crypto';
import {createServer} from 'node:http';
import type {AddressInfo} from 'node:net';
import {expect, test} from 'vitest';
import {renewalIdOf, thumbprintOf} from '../../../src/acme/identifiers.ts';
import type {AcmeChallenge, Authorization} from '../../../src/acme/objects.ts';
import {until} from '../../cluster/wait.ts';
import {type PebbleOptions, startPebble} from '../../support/pebble.ts';
import {startNameServers} from '../operator/name-servers.ts';
import {authorize, clientOf, collect, issue, newFolder, newKey, requestFor, signal} from './acme-world.ts';

/** A Pebble with these switches, and a client with an account. */
async function startWith(options: PebbleOptions, key = newKey()) {
  const folder = await newFolder();
  const pebble = await startPebble(folder.path, options);
  const client = clientOf(pebble, {key});
  const dispose = async () => {
    await client.close();
    await pebble.stop();
    await folder[Symbol.asyncDispose]();
  };
  const newAccount = async () => (await client.createAccount({contact: []}, signal)).uri;
  return {pebble, client, key, folder: folder.path, newAccount, [Symbol.asyncDispose]: dispose};
}

const NAMES = ['a.example.com'];

test('PEBBLE_WFE_NONCEREJECT: a third of all nonces may be refused', async () => {
  await using world = await startWith({env: {PEBBLE_WFE_NONCEREJECT: '33'}});
  const attempt = <T>(call: () => Promise<T>) => until('it succeeds', call);
  const account = await attempt(world.newAccount);
  for (let n = 0; n < 5; n++) {
    const order = await attempt(() => world.client.createOrder(account, {names: NAMES}, signal));
    await attempt(() => world.client.order(account, order.url, signal));
  }
});

test('PEBBLE_WFE_NONCEREJECT: if all nonces are refused, the call ends with that problem', async () => {
  await using world = await startWith({env: {PEBBLE_WFE_NONCEREJECT: '100'}});
  await expect(world.newAccount()).rejects.toMatchObject({name: 'AcmeError', problem: {type: 'badNonce'}});
});

test('PEBBLE_AUTHZREUSE: an order for a name that was validated before is ready immediately', async () => {
  await using world = await startWith({env: {PEBBLE_AUTHZREUSE: '100'}});
  const account = await world.newAccount();
  await issue(world.client, account, NAMES, world.folder);
  const order = await world.client.createOrder(account, {names: NAMES}, signal);
  expect(order.status).toBe('ready');
  const [url = ''] = order.authorizations;
  await expect(world.client.authorization(account, url, signal)).resolves.toMatchObject({status: 'valid'});
  const pem = await collect(world.client, account, order, (await requestFor(NAMES, world.folder)).csr);
  expect(new X509Certificate(pem).subjectAltName).toBe('DNS:a.example.com');

  await world.client.deactivateAuthorization(account, url, signal);
  const next = await world.client.createOrder(account, {names: NAMES}, signal);
  expect(next.status).toBe('pending');
});

test('PEBBLE_CHAIN_LENGTH, PEBBLE_ALTERNATE_ROOTS: a chain is chosen by the root that its end names', async () => {
  await using world = await startWith({env: {PEBBLE_CHAIN_LENGTH: '3', PEBBLE_ALTERNATE_ROOTS: '3'}});
  const account = await world.newAccount();
  const order = await authorize(world.client, account, await world.client.createOrder(account, {names: NAMES}, signal));
  const {csr} = await requestFor(NAMES, world.folder);
  const standard = await collect(world.client, account, order, csr);
  const valid = await world.client.order(account, order.url, signal);
  const rootOf = (pem: string) => chainOf(pem).at(-1)?.toLegacyObject().issuer.CN;
  const roots = await Promise.all([0, 1, 2, 3].map(async n => commonNameOf(await world.pebble.root(n))));
  expect(new Set(roots).size).toBe(4);
  expect(chainOf(standard)).toHaveLength(4);
  for (const root of roots) {
    const pem = await world.client.certificate(account, valid, root, signal);
    expect(rootOf(pem)).toBe(root);
    expect(chainOf(pem)[0]?.raw).toEqual(chainOf(standard)[0]?.raw);
  }
  await expect(world.client.certificate(account, valid, 'no such root', signal)).resolves.toBe(standard);
});

function chainOf(pem: string): X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return blocks.map(block => new X509Certificate(block));
}

function commonNameOf(pem: string): string {
  return `${new X509Certificate(pem).toLegacyObject().subject.CN}`;
}

test('profiles: an order gets the profile that it requests', async () => {
  const profiles = {
    short: {description: 'Six days', validityPeriod: 518_400},
    long: {description: 'A year', validityPeriod: 31_536_000},
  };
  await using world = await startWith({config: {profiles}});
  const account = await world.newAccount();
  for (const [profile, {validityPeriod}] of Object.entries(profiles)) {
    const leaf = new X509Certificate(await issue(world.client, account, NAMES, world.folder, {profile}));
    const seconds = (leaf.validToDate.getTime() - leaf.validFromDate.getTime()) / 1000;
    expect(Math.abs(seconds - validityPeriod)).toBeLessThanOrEqual(1);
  }
});

test('retryAfter, PEBBLE_VA_SLEEPTIME: a validation in progress says when to ask again, in both forms', async () => {
  await using world = await startWith({
    config: {retryAfter: {authz: 3, order: 5}},
    env: {PEBBLE_VA_NOSLEEP: '0', PEBBLE_VA_SLEEPTIME: '100000'},
  });
  const account = await world.newAccount();
  const {authorizations} = await world.client.createOrder(account, {names: NAMES}, signal);
  const [url = ''] = authorizations;
  const before = await world.client.authorization(account, url, signal);
  expect(before.retryAfterMs).toBeUndefined();
  const accepted = await world.client.acceptChallenge(account, before.challenges[0]?.url ?? '', signal);
  expect(accepted).toMatchObject({status: 'processing', url: before.challenges[0]?.url});
  for (let n = 0; n < 10; n++) {
    const {status, retryAfterMs} = await world.client.authorization(account, url, signal);
    expect(status).toBe('pending');
    expect(retryAfterMs).toBeGreaterThanOrEqual(2_000); // As a date, it has lost up to a second.
    expect(retryAfterMs).toBeLessThanOrEqual(3_000);
  }
});

test('retryAfter: an order that was finalized says when to ask again', async () => {
  await using world = await startWith({config: {retryAfter: {authz: 0, order: 5}}});
  const account = await world.newAccount();
  const order = await world.client.createOrder(account, {names: NAMES}, signal);
  const ready = await authorize(world.client, account, order);
  const finalized = await world.client.finalize(account, ready, (await requestFor(NAMES, world.folder)).csr, signal);
  expect(finalized.retryAfterMs).toBeGreaterThanOrEqual(4_000);
  expect(finalized.retryAfterMs).toBeLessThanOrEqual(5_000);
});

const EAB_KEY = 'zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W';

test('externalAccountBindingRequired: an account needs a key that the CA gave out', async () => {
  await using world = await startWith({
    config: {externalAccountBindingRequired: true, externalAccountMACKeys: {'kid-1': EAB_KEY}},
  });
  const create = (keyId: string, hmacKey: string) => {
    const externalAccountBinding = {keyId, hmacKey: Buffer.from(hmacKey, 'base64url')};
    return world.client.createAccount({contact: ['mailto:ops@example.com'], externalAccountBinding}, signal);
  };
  await expect(world.newAccount()).rejects.toMatchObject({problem: {type: 'externalAccountRequired'}});
  await expect(create('kid-2', EAB_KEY)).rejects.toMatchObject({problem: {type: 'unauthorized'}});
  await expect(create('kid-1', EAB_KEY.replace('z', 'y'))).rejects.toMatchObject({problem: {type: 'unauthorized'}});

  const {uri} = await create('kid-1', EAB_KEY);
  await expect(world.newAccount()).resolves.toBe(uri); // It exists, so the binding is not needed again.
  const pem = await issue(world.client, uri, NAMES, world.folder);
  expect(new X509Certificate(pem).subjectAltName).toBe('DNS:a.example.com');
});

test('renewal information: the window of the CA, and an answer about each certificate', async () => {
  await using world = await startWith({});
  const account = await world.newAccount();
  const pem = await issue(world.client, account, NAMES, world.folder);
  const id = renewalIdOf(pem) ?? '';
  const {startMs, endMs, retryAfterMs} = await world.client.renewalInfo(id, signal);
  const {validFromDate, validToDate} = new X509Certificate(pem);
  expect(startMs).toBeGreaterThan(validFromDate.getTime());
  expect(endMs).toBeGreaterThan(startMs);
  expect(endMs).toBeLessThan(validToDate.getTime());
  expect(retryAfterMs).toBe(6 * 3_600_000);

  const now = {start: '2020-01-01T00:00:00Z', end: '2020-01-02T00:00:00Z'};
  await world.pebble.setRenewalInfo(pem, JSON.stringify({suggestedWindow: now}));
  await expect(world.client.renewalInfo(id, signal)).resolves.toMatchObject({
    startMs: Date.parse(now.start),
    endMs: Date.parse(now.end),
  });
  const backwards = JSON.stringify({suggestedWindow: {start: now.end, end: now.start}});
  for (const broken of ['{', '[]', 'null', '{"suggestedWindow": 1}', backwards]) {
    await world.pebble.setRenewalInfo(pem, broken);
    await expect(world.client.renewalInfo(id, signal)).rejects.toMatchObject({name: 'CaUnreachable'});
  }
});

test('renewal information about a certificate that the CA does not know is a problem', async () => {
  await using world = await startWith({});
  const [issuer] = (renewalIdOf(await issue(world.client, await world.newAccount(), NAMES, world.folder)) ?? '').split(
    '.',
  );
  const refused = {name: 'AcmeError', status: 404};
  await expect(world.client.renewalInfo(`${issuer}.AQID`, signal)).rejects.toMatchObject(refused);
  await expect(world.client.renewalInfo('AQID.AQID', signal)).rejects.toMatchObject({name: 'AcmeError'});
  await expect(world.client.renewalInfo('../my-account/1', signal)).rejects.toThrow(TypeError);
});

test('replaces: an order names the certificate that it renews, which only one order can', async () => {
  await using world = await startWith({});
  const account = await world.newAccount();
  const first = await issue(world.client, account, NAMES, world.folder);
  const replaces = renewalIdOf(first) ?? '';
  const replacing = (names: readonly string[], by = world.client, uri = account) =>
    by.createOrder(uri, {names, replaces}, signal);

  const other = clientOf(world.pebble);
  const {uri} = await other.createAccount({contact: []}, signal);
  await until('the CA has recorded the certificate', async () => {
    await expect(replacing(NAMES, other, uri)).rejects.toMatchObject({problem: {type: 'unauthorized'}});
    return true;
  });
  await other.close();
  await expect(replacing(['b.example.com'])).rejects.toMatchObject({name: 'AcmeError'});

  const second = await issue(world.client, account, NAMES, world.folder, {replaces});
  expect(renewalIdOf(second)).not.toBe(replaces);
  await until('the CA has recorded the renewal', async () => {
    const refused = {status: 409, problem: {type: 'alreadyReplaced'}};
    await expect(replacing(NAMES)).rejects.toMatchObject(refused);
    return true;
  });
  await issue(world.client, account, NAMES, world.folder, {replaces: renewalIdOf(second)});
});

/** With real validations, through a DNS server and over HTTP. */
async function startValidating(respond: (token: string) => string) {
  const folder = await newFolder();
  const names = await startNameServers(folder.path);
  const server = createServer(({url = ''}, response) => {
    response.end(respond(/^\/\.well-known\/acme-challenge\/([\w-]+)$/.exec(url)?.[1] ?? ''));
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const {port} = server.address() as AddressInfo;
  const world = await startWith({
    dns: names.addresses[0] ?? '',
    config: {httpPort: port},
    env: {PEBBLE_VA_ALWAYS_VALID: '0'},
  });
  const dispose = async () => {
    await world[Symbol.asyncDispose]();
    server.closeAllConnections();
    await new Promise(resolve => server.close(resolve));
    await names.stop();
    await folder[Symbol.asyncDispose]();
  };
  return {...world, names, [Symbol.asyncDispose]: dispose};
}

function challengeOf({challenges}: Authorization, type: string): AcmeChallenge {
  const found = challenges.find(challenge => challenge.type === type);
  if (!found) throw new Error(`the CA offers no ${type}`);
  return found;
}

test('HTTP-01: for every token, the answer is the token and the thumbprint of the key', async () => {
  let thumbprint = '';
  await using world = await startValidating(token => `${token}.${thumbprint}`);
  thumbprint = thumbprintOf(world.key);
  await world.names.set('shop.test', 'A', ['127.0.0.1']);
  const account = await world.newAccount();
  const order = await world.client.createOrder(account, {names: ['shop.test']}, signal);
  const ready = await authorize(world.client, account, order, async each => challengeOf(each, 'http-01').url);
  expect(ready.status).toBe('ready');
});

test('DNS-01: the record is the digest of the token and the thumbprint', async () => {
  await using world = await startValidating(() => '');
  const account = await world.newAccount();
  const order = await world.client.createOrder(account, {names: ['*.shop.test']}, signal);
  const ready = await authorize(world.client, account, order, async each => {
    const {token, url} = challengeOf(each, 'dns-01');
    const digest = createHash('sha256')
      .update(`${token}.${thumbprintOf(world.key)}`)
      .digest('base64url');
    await world.names.set('_acme-challenge.shop.test', 'TXT', [digest]);
    return url;
  });
  expect(ready.status).toBe('ready');
});

test('a validation that fails has the text of a stranger, cut and printable, in the order and in the challenge', async () => {
  await using world = await startValidating(() => `<script>alert(1)</script>\u001b[31m\u202e${'ü'.repeat(1000)}`);
  await world.names.set('shop.test', 'A', ['127.0.0.1']);
  const account = await world.newAccount();
  const order = await world.client.createOrder(account, {names: ['shop.test']}, signal);
  const invalid = await authorize(world.client, account, order, async each => challengeOf(each, 'http-01').url);
  expect(invalid).toMatchObject({status: 'invalid', error: {type: 'unauthorized'}});
  expect(invalid.error?.detail).toContain('<script>alert(1)</script>');
  expect(invalid.error?.detail).toMatch(/^[\x20-\x7e]{1,300}$/);
  const authorization = await world.client.authorization(account, order.authorizations[0] ?? '', signal);
  expect(authorization.status).toBe('invalid');
  expect(challengeOf(authorization, 'http-01').error?.detail).toMatch(/^[\x20-\x7e]{1,300}$/);
});
