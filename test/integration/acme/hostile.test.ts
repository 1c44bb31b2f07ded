/** The client and a CA that lies, or whose answers have no end. */
import {generateKeyPairSync} from 'node:crypto';
import {createServer} from 'node:https';
import type {AddressInfo} from 'node:net';
import {afterAll, beforeAll, beforeEach, expect, test} from 'vitest';
import type {AcmeClient} from '../../../src/acme/client.ts';
import {startGate} from '../../../src/runtime/kube/transport.ts';
import {until} from '../../cluster/wait.ts';
import {type CaFault, type CaProxy, type CaResource, startCaProxy, withMembers} from '../../support/ca-proxy.ts';
import {type Pebble, startPebble} from '../../support/pebble.ts';
import {selfSigned} from '../../support/self-signed.ts';
import {authorize, clientOf, collect, newFolder, requestFor, signal} from './acme-world.ts';

let folder: Awaited<ReturnType<typeof newFolder>>;
let pebble: Pebble;
let proxy: CaProxy;
let elsewhere: Awaited<ReturnType<typeof startElsewhere>>;

beforeAll(async () => {
  folder = await newFolder();
  pebble = await startPebble(folder.path, {env: {PEBBLE_ALTERNATE_ROOTS: '2'}});
  proxy = await startCaProxy(pebble);
  elsewhere = await startElsewhere();
});

beforeEach(() => {
  for (const name of Object.keys(proxy.switches)) delete proxy.switches[name as keyof typeof proxy.switches];
});

afterAll(async () => {
  await elsewhere?.stop();
  await proxy?.stop();
  await pebble?.stop();
  await folder?.[Symbol.asyncDispose]();
});

/** A server of somebody else, whose certificate the client of these tests would accept. */
async function startElsewhere() {
  const identity = await selfSigned(folder.path, 'elsewhere', 'IP:127.0.0.1');
  let requests = 0;
  const server = createServer(identity, (_, response) => {
    requests += 1;
    response.end();
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const {port} = server.address() as AddressInfo;
  return {
    url: `https://127.0.0.1:${port}/`,
    trust: identity.cert.toString(),
    requests: () => requests,
    stop: () => new Promise<void>(resolve => server.close(() => resolve())),
  };
}

async function newTenant(timeoutMs = 10_000) {
  const client = clientOf({directory: proxy.directory, trust: proxy.trust + elsewhere.trust}, {timeoutMs});
  const {uri} = await client.createAccount({contact: []}, signal);
  return {client, uri, [Symbol.asyncDispose]: () => client.close()};
}

const NAMES = ['shop.example.com'];

test('a signed request whose gate closes before it is sent never reaches the CA', async () => {
  let isOpen = true;
  const gate = startGate(() => (isOpen ? undefined : new Error('the gate is closed')));
  const client = clientOf(proxy, {gate});
  const {uri} = await client.createAccount({contact: []}, signal);
  const orders = () => proxy.seen.filter(({resource}) => resource === 'newOrder').length;
  const before = orders();
  const order = client.createOrder(uri, {names: NAMES}, signal);
  isOpen = false;
  await expect(order).rejects.toThrow('the gate is closed');
  await client.directory(signal);
  expect(orders()).toBe(before);
  isOpen = true;
  expect(await client.createOrder(uri, {names: NAMES}, signal)).toMatchObject({names: NAMES});
  await client.close();
});

/** The whole life of a certificate, each call of the client at least once. */
async function everything(client: AcmeClient): Promise<void> {
  await client.directory(signal);
  const {uri} = await client.createAccount({contact: []}, signal);
  const order = await client.createOrder(uri, {names: NAMES}, signal);
  const ready = await authorize(client, uri, order);
  await collect(client, uri, ready, (await requestFor(NAMES, folder.path)).csr, 'a root that is not there');
}

test('the whole life of a certificate succeeds with a proxy that changes nothing', async () => {
  const client = clientOf(proxy);
  await everything(client);
  await client.close();
});

test.each<[CaResource, string]>([
  ['directory', 'newNonce'],
  ['directory', 'newAccount'],
  ['directory', 'newOrder'],
  ['directory', 'keyChange'],
  ['directory', 'renewalInfo'],
  ['newAccount', 'Location'],
  ['newOrder', 'Location'],
  ['newOrder', 'finalize'],
  ['newOrder', 'authorizations'],
  ['authorization', 'challenges'],
  ['challenge', 'url'],
  ['order', 'certificate'],
  ['order', 'finalize'],
  ['finalize', 'finalize'],
  ['certificate', 'Link'],
])('a URL that leaves the origin is never followed: %s, %s', async (resource, member) => {
  const before = elsewhere.requests();
  let lies = 0;
  proxy.switches.rewrite = (request, reply) => {
    if (request.resource !== resource || reply.status >= 300) return reply;
    const {url} = elsewhere;
    const link = `<${url}>;rel="alternate"`;
    const {certificate} = resource === 'certificate' ? {certificate: ''} : JSON.parse(reply.body);
    if (member === 'certificate' && certificate === undefined) return reply;
    lies += 1;
    if (member === 'Location') return {...reply, headers: {...reply.headers, location: url}};
    if (member === 'Link') return {...reply, headers: {...reply.headers, link}};
    if (member === 'authorizations') return withMembers(reply, {authorizations: [url]});
    if (member !== 'challenges') return withMembers(reply, {[member]: url});
    const {challenges} = JSON.parse(reply.body);
    return withMembers(reply, {challenges: challenges.map((challenge: object) => ({...challenge, url}))});
  };
  const client = clientOf({directory: proxy.directory, trust: proxy.trust + elsewhere.trust});
  await expect(everything(client)).rejects.toSatisfy(isAboutOrigin);
  await client.close();
  expect(lies).toBeGreaterThan(0);
  expect(elsewhere.requests()).toBe(before);
});

/** A wait of the test has what it waited for as its cause. */
function isAboutOrigin(error: Error): boolean {
  const failure = error.name === 'CaUnreachable' ? error : (error.cause as Error);
  return failure.name === 'CaUnreachable' && failure.message.includes(' leaves https://127.0.0.1:');
}

test.each([301, 302, 307, 308])('a redirect with %s is not followed', async status => {
  await using tenant = await newTenant();
  const order = await tenant.client.createOrder(tenant.uri, {names: NAMES}, signal);
  const [before, seen] = [elsewhere.requests(), proxy.seen.length];
  for (const location of [elsewhere.url, `${new URL(proxy.directory).origin}/my-order/other`]) {
    proxy.switches.fault = () => ({kind: 'answer', status, headers: {location}});
    const failure = {name: 'CaUnreachable', message: expect.stringContaining(`HTTP ${status}`)};
    await expect(tenant.client.directory(signal)).rejects.toMatchObject(failure);
    await expect(tenant.client.order(tenant.uri, order.url, signal)).rejects.toMatchObject(failure);
  }
  expect(elsewhere.requests()).toBe(before);
  expect(proxy.seen).toHaveLength(seen + 4);
});

test('a URL that somebody stored gets no request if it is not the CA’s', async () => {
  await using tenant = await newTenant();
  const [before, seen] = [elsewhere.requests(), proxy.seen.length];
  const order = {...(await tenant.client.createOrder(tenant.uri, {names: NAMES}, signal)), finalize: elsewhere.url};
  const {url} = elsewhere;
  const calls = [
    tenant.client.order(tenant.uri, url, signal),
    tenant.client.authorization(tenant.uri, url, signal),
    tenant.client.acceptChallenge(tenant.uri, url, signal),
    tenant.client.finalize(tenant.uri, order, Buffer.alloc(1), signal),
    tenant.client.certificate(tenant.uri, {...order, certificate: url}, undefined, signal),
    tenant.client.deactivateAuthorization(tenant.uri, url, signal),
  ];
  for (const call of calls) await expect(call).rejects.toSatisfy(isAboutOrigin);
  expect(elsewhere.requests()).toBe(before);
  expect(proxy.seen).toHaveLength(seen + 1);
});

test.each([
  ['another name', ['other.example.com']],
  ['one name more', ['shop.example.com', 'other.example.com']],
  ['a wildcard', ['*.example.com']],
  ['no name', []],
])('an order that the CA returns for %s is refused', async (_, names) => {
  await using tenant = await newTenant();
  const order = await tenant.client.createOrder(tenant.uri, {names: NAMES}, signal);
  const ready = await authorize(tenant.client, tenant.uri, order);
  const identifiers = names.map(value => ({type: 'dns', value}));
  proxy.switches.rewrite = ({resource}, reply) =>
    ['newOrder', 'finalize'].includes(resource) ? withMembers(reply, {identifiers}) : reply;
  const refused = {name: 'CaUnreachable', message: expect.stringContaining('instead of shop.example.com')};
  await expect(tenant.client.createOrder(tenant.uri, {names: NAMES}, signal)).rejects.toMatchObject(refused);
  const {csr} = await requestFor(NAMES, folder.path);
  await expect(tenant.client.finalize(tenant.uri, ready, csr, signal)).rejects.toMatchObject(refused);
});

test('a chain is certificates and nothing else', async () => {
  await using tenant = await newTenant();
  const order = await tenant.client.createOrder(tenant.uri, {names: NAMES}, signal);
  const ready = await authorize(tenant.client, tenant.uri, order);
  const {csr} = await requestFor(NAMES, folder.path);
  const pem = await collect(tenant.client, tenant.uri, ready, csr);
  const valid = await tenant.client.order(tenant.uri, order.url, signal);
  const received = async (body: string) => {
    proxy.switches.rewrite = ({resource}, reply) => (resource === 'certificate' ? {...reply, body} : reply);
    return await tenant.client.certificate(tenant.uri, valid, undefined, signal);
  };
  await expect(received(`\r\n${pem.replaceAll('\n', '\r\n')}`)).resolves.toBe(pem);
  const key = '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n';
  for (const body of ['', 'text', `text\n${pem}`, `${pem}${key}`, pem.slice(0, -40), pem.repeat(6)]) {
    await expect(received(body)).rejects.toMatchObject({name: 'CaUnreachable'});
  }
});

/** Each ends far before the deadline, which is why the reason is a limit. */
test.each<[CaFault['kind'], RegExp]>([
  ['endless body', /exceeded max size/],
  ['endless headers', /Headers Overflow/],
])('%s: an answer ends at a limit', async (kind, why) => {
  await using tenant = await newTenant(60_000);
  const order = await tenant.client.createOrder(tenant.uri, {names: NAMES}, signal);
  const fault = {kind} as CaFault;
  proxy.switches.fault = ({method}) => (method === 'HEAD' ? undefined : fault);
  const before = process.memoryUsage().rss;
  const failure = {name: 'CaUnreachable', message: expect.stringMatching(why)};
  for (let n = 0; n < 20; n++) {
    await expect(tenant.client.order(tenant.uri, order.url, signal)).rejects.toMatchObject(failure);
    await expect(tenant.client.directory(signal)).rejects.toMatchObject(failure);
  }
  expect(process.memoryUsage().rss - before).toBeLessThan(100 * 2 ** 20);
  proxy.switches.fault = undefined;
  await expect(tenant.client.order(tenant.uri, order.url, signal)).resolves.toBeDefined();
});

test.each<CaFault['kind']>(['silence', 'slow body', 'stalled'])('%s: an answer ends at the deadline', async kind => {
  await using tenant = await newTenant(10_000);
  const order = await tenant.client.createOrder(tenant.uri, {names: NAMES}, signal);
  const impatient = clientOf(proxy, {timeoutMs: 300});
  const fault = {kind} as CaFault;
  proxy.switches.fault = () => fault;
  const failure = {name: 'CaUnreachable', message: expect.stringContaining('no answer within 300 ms')};
  await expect(impatient.directory(signal)).rejects.toMatchObject(failure);
  const controller = new AbortController();
  const waiting = tenant.client.order(tenant.uri, order.url, controller.signal);
  controller.abort(new Error('the end'));
  await expect(waiting).rejects.toThrow('the end');
  await impatient.close();
});

test('a call that waits for a connection ends with its own signal, and others get their turn', async () => {
  await using tenant = await newTenant();
  const order = await tenant.client.createOrder(tenant.uri, {names: NAMES}, signal);
  proxy.switches.fault = ({resource}) => (resource === 'order' ? {kind: 'silence'} : undefined);
  const started = () => proxy.seen.filter(({resource}) => resource === 'order').length;
  const before = started();
  const [busy, waiting] = [new AbortController(), new AbortController()];
  const call = (ends: AbortSignal) => tenant.client.order(tenant.uri, order.url, ends).catch((error: unknown) => error);
  const calls = Array.from({length: 16}, () => call(busy.signal));
  await until('sixteen calls wait for an answer', () => started() === before + 16);
  const queued = call(waiting.signal);
  await new Promise(setImmediate); // By then it waits: nothing before the connection takes longer.
  waiting.abort(new Error('the end of one'));
  await expect(queued).resolves.toMatchObject({message: 'the end of one'});
  expect(started()).toBe(before + 16);

  busy.abort(new Error('the end of all'));
  for (const error of await Promise.all(calls)) expect(error).toMatchObject({message: 'the end of all'});
  proxy.switches.fault = undefined;
  await expect(tenant.client.order(tenant.uri, order.url, signal)).resolves.toBeDefined();
});

test('a client that is closed ends its calls', async () => {
  const tenant = await newTenant();
  const order = await tenant.client.createOrder(tenant.uri, {names: NAMES}, signal);
  proxy.switches.fault = () => ({kind: 'silence'});
  const before = proxy.seen.length;
  const waiting = tenant.client.order(tenant.uri, order.url, signal).catch((error: unknown) => error);
  await until('the call waits for an answer', () => proxy.seen.length > before);
  await tenant.client.close();
  await expect(waiting).resolves.toMatchObject({name: 'CaUnreachable'});
  await expect(tenant.client.order(tenant.uri, order.url, signal)).rejects.toMatchObject({name: 'CaUnreachable'});
});

test('of a flood of nonces, at most 32 are kept', async () => {
  await using tenant = await newTenant();
  const order = await tenant.client.createOrder(tenant.uri, {names: NAMES}, signal);
  const burst = async () => {
    const before = proxy.seen.length;
    await Promise.all(Array.from({length: 60}, () => tenant.client.order(tenant.uri, order.url, signal)));
    return proxy.seen.slice(before).filter(({resource}) => resource === 'newNonce').length;
  };
  await burst();
  expect(await burst()).toBe(60 - 32);
});

test.each([
  ['many', Array.from({length: 50}, (_, n) => `nonce${n}`)],
  ['one that is very long', 'n'.repeat(8_000)],
  ['one that is none', 'a b'],
])('an answer with nonces of which none counts (%s) is good, and the next call fetches one', async (_, nonces) => {
  await using tenant = await newTenant();
  const order = await tenant.client.createOrder(tenant.uri, {names: NAMES}, signal);
  proxy.switches.rewrite = ({resource}, reply) => {
    const headers = {...reply.headers, 'replay-nonce': nonces as string};
    return resource === 'order' ? {...reply, headers} : reply;
  };
  const before = proxy.seen.length;
  await tenant.client.order(tenant.uri, order.url, signal);
  await tenant.client.order(tenant.uri, order.url, signal);
  const seen = proxy.seen.slice(before).map(({resource}) => resource);
  expect(seen).toEqual(['order', 'newNonce', 'order']);
});

test('the CA’s certificate is verified: by its issuer, and for the host', async () => {
  const unknown = clientOf({directory: proxy.directory, trust: pebble.trust});
  await expect(unknown.directory(signal)).rejects.toMatchObject({
    name: 'CaUnreachable',
    message: expect.stringMatching(/self.signed/),
  });
  const system = clientOf(proxy, {caBundle: undefined});
  await expect(system.directory(signal)).rejects.toMatchObject({name: 'CaUnreachable'});
  const otherHost = clientOf({directory: proxy.directory.replace('127.0.0.1', 'localhost'), trust: proxy.trust});
  await expect(otherHost.directory(signal)).rejects.toMatchObject({
    name: 'CaUnreachable',
    message: expect.stringContaining('altnames'),
  });
  await Promise.all([unknown, system, otherHost].map(client => client.close()));
});

test('a directory needs https, and an account a private key on P-256', () => {
  expect(() => clientOf({directory: 'http://127.0.0.1/dir', trust: ''})).toThrow(TypeError);
  const {privateKey: p384} = generateKeyPairSync('ec', {namedCurve: 'P-384'});
  const {privateKey: rsa} = generateKeyPairSync('rsa', {modulusLength: 2048});
  const {publicKey} = generateKeyPairSync('ec', {namedCurve: 'P-256'});
  for (const key of [p384, rsa, publicKey]) expect(() => clientOf(proxy, {key})).toThrow(TypeError);
});
