/** The client and Pebble, to which a proxy gives the manners of Boulder on good and bad days. */
import {X509Certificate} from 'node:crypto';
import {afterAll, beforeAll, beforeEach, expect, test} from 'vitest';
import {type CaProxy, refusal, startCaProxy} from '../../support/ca-proxy.ts';
import {type Pebble, startPebble} from '../../support/pebble.ts';
import {authorize, clientOf, collect, newFolder, newKey, requestFor, signal, untilStatus} from './acme-world.ts';

let folder: Awaited<ReturnType<typeof newFolder>>;
let pebble: Pebble;
let proxy: CaProxy;

beforeAll(async () => {
  folder = await newFolder();
  pebble = await startPebble(folder.path, {env: {PEBBLE_AUTHZREUSE: '100'}});
  proxy = await startCaProxy(pebble);
});

beforeEach(() => {
  for (const name of Object.keys(proxy.switches)) delete proxy.switches[name as keyof typeof proxy.switches];
});

afterAll(async () => {
  await proxy?.stop();
  await pebble?.stop();
  await folder?.[Symbol.asyncDispose]();
});

/** A client with an account, through the proxy. */
async function newTenant() {
  const client = clientOf(proxy);
  const {uri} = await client.createAccount({contact: []}, signal);
  return {client, uri, [Symbol.asyncDispose]: () => client.close()};
}

let names = 0;
const newName = () => `host${names++}.example.com`;

test('a new order for the names of a pending order is that order', async () => {
  proxy.switches.reuseOrders = true;
  await using tenant = await newTenant();
  await using other = await newTenant();
  const wanted = [newName(), newName()];
  const first = await tenant.client.createOrder(tenant.uri, {names: wanted}, signal);
  const again = await tenant.client.createOrder(tenant.uri, {names: wanted.toReversed()}, signal);
  expect(again).toEqual(first);

  const different = [
    await other.client.createOrder(other.uri, {names: wanted}, signal),
    await tenant.client.createOrder(tenant.uri, {names: wanted.slice(1)}, signal),
    await tenant.client.createOrder(tenant.uri, {names: wanted, profile: 'default'}, signal),
  ];
  expect(new Set([first, ...different].map(({url}) => url)).size).toBe(4);
});

test('a new order for the names of a ready order is ready, and can be finalized with a new signing request', async () => {
  proxy.switches.reuseOrders = true;
  await using tenant = await newTenant();
  const wanted = [newName()];
  const first = await tenant.client.createOrder(tenant.uri, {names: wanted}, signal);
  await authorize(tenant.client, tenant.uri, first);
  const again = await tenant.client.createOrder(tenant.uri, {names: wanted}, signal);
  expect(again).toMatchObject({url: first.url, status: 'ready'});
  const {csr, key} = await requestFor(wanted, folder.path);
  const pem = await collect(tenant.client, tenant.uri, again, csr);
  expect(new X509Certificate(pem).checkPrivateKey(key)).toBe(true);

  const next = await tenant.client.createOrder(tenant.uri, {names: wanted}, signal);
  expect(next.url).not.toBe(first.url);
  expect(next.status).toBe('ready'); // Its authorization is reused.
});

test('if the answer to a new order is lost, the next attempt gets the order that the CA has', async () => {
  proxy.switches.reuseOrders = true;
  await using tenant = await newTenant();
  const wanted = [newName()];
  proxy.switches.fault = ({resource}) => (resource === 'newOrder' ? {kind: 'lost'} : undefined);
  const lost = tenant.client.createOrder(tenant.uri, {names: wanted}, signal);
  await expect(lost).rejects.toMatchObject({name: 'CaUnreachable'});
  proxy.switches.fault = undefined;
  const {url} = await tenant.client.createOrder(tenant.uri, {names: wanted}, signal);
  const once = await tenant.client.createOrder(tenant.uri, {names: wanted}, signal);
  expect(once.url).toBe(url);
  const ready = await authorize(tenant.client, tenant.uri, once);
  expect(ready.status).toBe('ready');
});

test('if the answer to finalizing is lost, the order says that it is done', async () => {
  await using tenant = await newTenant();
  const wanted = [newName()];
  const order = await tenant.client.createOrder(tenant.uri, {names: wanted}, signal);
  const ready = await authorize(tenant.client, tenant.uri, order);
  const {csr, key} = await requestFor(wanted, folder.path);
  proxy.switches.fault = ({resource}) => (resource === 'finalize' ? {kind: 'lost'} : undefined);
  const lost = tenant.client.finalize(tenant.uri, ready, csr, signal);
  await expect(lost).rejects.toMatchObject({name: 'CaUnreachable'});
  proxy.switches.fault = undefined;
  const valid = await untilStatus(tenant.client, tenant.uri, order.url, ['valid']);
  const again = tenant.client.finalize(tenant.uri, ready, csr, signal);
  await expect(again).rejects.toMatchObject({name: 'AcmeError', problem: {type: 'orderNotReady'}});
  const pem = await tenant.client.certificate(tenant.uri, valid, undefined, signal);
  expect(new X509Certificate(pem).checkPrivateKey(key)).toBe(true);
});

test('an order may be processing for a while, in which it has no certificate', async () => {
  await using tenant = await newTenant();
  const wanted = [newName()];
  const order = await tenant.client.createOrder(tenant.uri, {names: wanted}, signal);
  const ready = await authorize(tenant.client, tenant.uri, order);
  proxy.switches.processingMs = 3_600_000;
  const {csr} = await requestFor(wanted, folder.path);
  await expect(tenant.client.finalize(tenant.uri, ready, csr, signal)).resolves.toMatchObject({status: 'processing'});
  const processing = await tenant.client.order(tenant.uri, order.url, signal);
  expect(processing.status).toBe('processing');
  const before = proxy.seen.length;
  const none = tenant.client.certificate(tenant.uri, processing, undefined, signal);
  await expect(none).rejects.toThrow('the order has no certificate');
  expect(proxy.seen).toHaveLength(before);
  proxy.switches.processingMs = 0;
  const valid = await untilStatus(tenant.client, tenant.uri, order.url, ['valid']);
  await expect(tenant.client.certificate(tenant.uri, valid, undefined, signal)).resolves.toContain('BEGIN CERTIFICATE');
});

test('a rate limit has the type, the text, and how long to wait, and is one request', async () => {
  await using tenant = await newTenant();
  const text =
    'too many certificates (50) already issued for "example.com" in the last 168h0m0s, retry after 2026-11-29';
  proxy.switches.fault = ({resource}) =>
    resource === 'newOrder' ? refusal(429, 'rateLimited', text, {'retry-after': '86400'}) : undefined;
  const before = proxy.seen.length;
  await expect(tenant.client.createOrder(tenant.uri, {names: [newName()]}, signal)).rejects.toMatchObject({
    name: 'AcmeError',
    status: 429,
    problem: {type: 'rateLimited', detail: text},
    retryAfterMs: 86_400_000,
  });
  expect(proxy.seen.slice(before).map(({resource}) => resource)).toEqual(['newOrder']);
});

test.each([
  ['without', {}, undefined],
  ['with', {'retry-after': '300'}, 300_000],
])('a CA that is away for maintenance, %s Retry-After, is unreachable', async (_, headers, retryAfterMs) => {
  await using tenant = await newTenant();
  const page = '<html><head><title>The service is down for maintenance or had an internal error</title></head></html>';
  proxy.switches.fault = () => ({
    kind: 'answer',
    status: 503,
    headers: {'content-type': 'text/html', ...headers},
    body: page,
  });
  const failure = {name: 'CaUnreachable', message: expect.stringContaining('HTTP 503'), retryAfterMs};
  const name = newName();
  await expect(tenant.client.createOrder(tenant.uri, {names: [name]}, signal)).rejects.toMatchObject(failure);
  await expect(tenant.client.directory(signal)).rejects.toMatchObject(failure);
  proxy.switches.fault = undefined;
  await expect(tenant.client.createOrder(tenant.uri, {names: [name]}, signal)).resolves.toBeDefined();
});

test('an internal error with a problem is one of the CA', async () => {
  await using tenant = await newTenant();
  proxy.switches.fault = () => refusal(500, 'serverInternal', 'Error creating new order');
  const failure = {name: 'AcmeError', status: 500, problem: {type: 'serverInternal'}, retryAfterMs: undefined};
  await expect(tenant.client.createOrder(tenant.uri, {names: [newName()]}, signal)).rejects.toMatchObject(failure);
});

test('a CA that is down is unreachable until it is up again', async () => {
  await using tenant = await newTenant();
  proxy.switches.down = true;
  const name = newName();
  const create = () => tenant.client.createOrder(tenant.uri, {names: [name]}, signal);
  await expect(create()).rejects.toMatchObject({name: 'CaUnreachable', retryAfterMs: undefined});
  await expect(tenant.client.directory(signal)).rejects.toMatchObject({name: 'CaUnreachable'});
  proxy.switches.down = false;
  await expect(create()).resolves.toMatchObject({status: 'pending'});
});

test('a refused nonce is replaced by the one that came with the refusal, five times', async () => {
  await using tenant = await newTenant();
  const order = await tenant.client.createOrder(tenant.uri, {names: [newName()]}, signal);
  const call = async (refusals: number) => {
    const before = proxy.seen.length;
    let left = refusals;
    proxy.switches.fault = ({resource}) =>
      resource === 'order' && left-- > 0 ? refusal(400, 'badNonce', 'JWS has an invalid anti-replay nonce') : undefined;
    const result = await tenant.client.order(tenant.uri, order.url, signal).catch((error: unknown) => error);
    return {result, seen: proxy.seen.slice(before)};
  };
  const survived = await call(5);
  expect(survived.result).toEqual(expect.objectContaining({status: 'pending'}));
  expect(survived.seen.map(({resource}) => resource)).toEqual(Array(6).fill('order'));
  expect(new Set(survived.seen.map(({nonce}) => nonce)).size).toBe(6);
  const ended = await call(6);
  expect(ended.result).toMatchObject({name: 'AcmeError', problem: {type: 'badNonce'}});
  expect(ended.seen).toHaveLength(6);
});

test('a refused nonce without a new one ends the call', async () => {
  await using tenant = await newTenant();
  const order = await tenant.client.createOrder(tenant.uri, {names: [newName()]}, signal);
  const before = proxy.seen.length;
  proxy.switches.fault = () => refusal(400, 'badNonce', 'JWS has no anti-replay nonce', {'replay-nonce': ''});
  const failure = {name: 'AcmeError', problem: {type: 'badNonce'}};
  await expect(tenant.client.order(tenant.uri, order.url, signal)).rejects.toMatchObject(failure);
  expect(proxy.seen).toHaveLength(before + 1);
});

test('calls share the directory, and each nonce is used once', async () => {
  await using tenant = await newTenant();
  const order = await tenant.client.createOrder(tenant.uri, {names: [newName()]}, signal);
  const before = proxy.seen.length;
  await Promise.all(Array.from({length: 40}, () => tenant.client.order(tenant.uri, order.url, signal)));
  for (let n = 0; n < 40; n++) await tenant.client.order(tenant.uri, order.url, signal);
  const seen = proxy.seen.slice(before);
  const count = (resource: string) => seen.filter(request => request.resource === resource).length;
  expect(count('directory')).toBe(0);
  expect(count('newNonce')).toBeLessThanOrEqual(40);
  const nonces = seen.flatMap(({nonce}) => nonce ?? []);
  expect(nonces).toHaveLength(80);
  expect(new Set(nonces).size).toBe(80);
});

test('a key that another account has is a conflict', async () => {
  await using tenant = await newTenant();
  proxy.switches.fault = ({resource}) =>
    resource === 'keyChange' ? {kind: 'answer', status: 409, headers: {location: tenant.uri}} : undefined;
  const conflict = tenant.client.changeKey(tenant.uri, newKey(), signal);
  await expect(conflict).rejects.toMatchObject({name: 'AcmeError', status: 409});
});
