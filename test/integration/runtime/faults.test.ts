/**
 * Faults on the wire beyond those in the cache's tests: cuts at every byte, slowness, lost answers, leaks, a restored
 * etcd.
 */
import {chmod, readFile, writeFile} from 'node:fs/promises';
import {Registry} from 'prom-client';
import {expect, test} from 'vitest';
import type {Store} from '../../../src/runtime/cache/store.ts';
import {isAlreadyExists, TransportError} from '../../../src/runtime/kube/errors.ts';
import {until} from '../../cluster/wait.ts';
import {type Fault, isInitial, isWatch, type Seen} from './fault-proxy.ts';
import {CONFIG_MAP, type ConfigMap, configMap, equalToServer, RuntimeWorld, record} from './runtime-world.ts';
import {api, client, direct, errorOf, namespace, proxy, world} from './setup.ts';

/** The distance between two cuts of a watch. */
const STEP_BYTES = process.env.SOAK ? 1 : 41;
const LONG_MS = process.env.SOAK ? 1_800_000 : 180_000;

const expectEqualToServer = (store: Store<ConfigMap>) => equalToServer(direct, namespace, store);

/** The first request for which `which` is true meets the fault. Later ones pass. */
function once(which: (seen: Seen) => boolean, fault: Fault): void {
  let met = false;
  proxy.intercept = seen => {
    if (met || !which(seen)) return undefined;
    met = true;
    return fault;
  };
}

test(
  'a watch cut after any number of bytes: nothing is lost, reported twice, or listed again',
  async () => {
    const store = await world.cache(client, CONFIG_MAP, {namespace});
    const told = record(store);
    const lineBytes = Buffer.byteLength(
      JSON.stringify(await direct.create(CONFIG_MAP, configMap(namespace, 'measure'))),
    );
    await until('it is reported', () => told.length === 1);
    const cuts: number[] = [];
    // Cuts through more than two lines, in steps that hit each part of them.
    for (let afterBytes = 0; afterBytes < 2.5 * lineBytes; afterBytes += STEP_BYTES) cuts.push(afterBytes);
    for (const afterBytes of cuts) {
      once(isWatch, {kind: 'cut', afterBytes});
      proxy.disconnect();
      const names = [`x${afterBytes}`, `y${afterBytes}`];
      for (const name of names) await direct.create(CONFIG_MAP, configMap(namespace, name));
      await until(`cut after ${afterBytes} bytes, both arrive`, () =>
        names.every(name => store.get(`${namespace}/${name}`)),
      );
    }
    await expectEqualToServer(store);
    const want = cuts.flatMap(afterBytes => [`added x${afterBytes}`, `added y${afterBytes}`]);
    expect(told).toEqual(['added measure', ...want]);
    expect(proxy.seen.filter(isInitial)).toHaveLength(1);
    // For each cut: a cut watch, then one that continues, and before each, a request that checks whether the server
    // went back in time.
    expect(proxy.seen.length).toBeLessThanOrEqual(1 + 4 * cuts.length);
  },
  LONG_MS,
);

test('a slow wire: the cache comes late, and whole', async () => {
  await Promise.all(Array.from({length: 20}, (_, i) => direct.create(CONFIG_MAP, configMap(namespace, `x${i}`))));
  proxy.intercept = seen => (isWatch(seen) ? {kind: 'delay', ms: 200} : undefined);
  const store = await world.cache(client, CONFIG_MAP, {namespace});
  const told = record(store);
  for (const i of [1, 2, 3]) await direct.create(CONFIG_MAP, configMap(namespace, `y${i}`));
  await expectEqualToServer(store);
  expect(told.slice(20)).toEqual(['added y1', 'added y2', 'added y3']);
  expect(proxy.seen.filter(isWatch)).toHaveLength(1);
});

test.each([429, 500, 503])('%i with Retry-After on the first list: asked again no sooner', async status => {
  const body = JSON.stringify({kind: 'Status', code: status, reason: 'Test', message: 'later'});
  let refusals = 0;
  proxy.intercept = () => (++refusals <= 2 ? {kind: 'answer', status, headers: {'retry-after': '1'}, body} : undefined);
  const store = await world.cache(client, CONFIG_MAP, {namespace});
  const [first, second, third] = proxy.seen;
  expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(995);
  expect((third?.at ?? 0) - (second?.at ?? 0)).toBeGreaterThanOrEqual(995);
  await expectEqualToServer(store);
  expect(proxy.seen).toHaveLength(3);
});

test('a watch without a response is abandoned, and its connection is closed', async () => {
  const store = await world.cache(client, CONFIG_MAP, {namespace, idleTimeoutMs: 500});
  once(isWatch, {kind: 'silence'});
  proxy.disconnect();
  await direct.create(CONFIG_MAP, configMap(namespace, 'x'));
  await until('the object arrives', () => store.get(`${namespace}/x`));
  await until('one watch is open, and what asked for its place', () => proxy.connections() <= 2);
});

test('stopped while its watch is not yet answered, a cache leaves nothing open', async () => {
  proxy.intercept = () => ({kind: 'silence'});
  const cache = world.cache(client, CONFIG_MAP, {namespace});
  const stopped = errorOf(cache);
  await until('it has asked', () => proxy.seen.length > 0);
  await world.end();
  await stopped;
  await until('no connection is open', () => proxy.connections() === 0);
});

test('a token that is refused for a while does not empty the cache, nor is everything listed again', async () => {
  await direct.create(CONFIG_MAP, configMap(namespace, 'kept'));
  const store = await world.cache(client, CONFIG_MAP, {namespace});
  const told = record(store);
  proxy.intercept = () => ({kind: 'answer', status: 401, body: '{"kind":"Status","code":401,"reason":"Unauthorized"}'});
  proxy.seen.length = 0;
  proxy.disconnect();
  await until('it was refused three times', () => proxy.seen.length >= 3);
  proxy.intercept = () => undefined;
  await direct.create(CONFIG_MAP, configMap(namespace, 'new'));
  await expectEqualToServer(store);
  expect(told).toEqual(['added kept', 'added new']);
  expect(proxy.seen.filter(isInitial)).toEqual([]);
});

test('listed, streamed, or watched, an object looks the same', async () => {
  const paged = {kind: 'answer', status: 422, body: '{"kind":"Status","code":422,"reason":"Invalid"}'} as const;
  await direct.create(CONFIG_MAP, configMap(namespace, 'x', {a: '1'}));
  const watched = await world.cache(client, CONFIG_MAP, {namespace: 'default'});
  const streamed = await world.cache(client, CONFIG_MAP, {namespace});
  proxy.intercept = seen => (isInitial(seen) ? paged : undefined);
  const listed = await world.cache(client, CONFIG_MAP, {namespace});
  expect(listed.get(`${namespace}/x`)).toEqual(streamed.get(`${namespace}/x`));
  const name = `look-${namespace}`;
  await direct.create(CONFIG_MAP, configMap('default', name, {a: '1'}));
  const told = await until('it is reported', () => watched.get(`default/${name}`));
  const again = await world.cache(client, CONFIG_MAP, {namespace: 'default'});
  expect(again.get(`default/${name}`)).toEqual(told);
  expect(typeof told.metadata.creationTimestamp).toBe('string');
});

test('a write whose response was lost has happened, and is reported as unknown', async () => {
  once(seen => seen.method === 'POST', {kind: 'lost'});
  expect(await errorOf(client.create(CONFIG_MAP, configMap(namespace, 'x')))).toBeInstanceOf(TransportError);
  expect(isAlreadyExists(await errorOf(client.create(CONFIG_MAP, configMap(namespace, 'x'))))).toBe(true);
  once(seen => seen.method === 'PATCH', {kind: 'lost'});
  const apply = (a: string) => client.apply(CONFIG_MAP, configMap(namespace, 'x', {a}));
  expect(await errorOf(apply('1'))).toBeInstanceOf(TransportError);
  expect((await apply('1')).data).toEqual({a: '1'});
});

test('500 requests one after another, and after each kind of fault, take few connections and leave no timer', async () => {
  const timers = () => process.getActiveResourcesInfo().filter(kind => kind === 'Timeout').length;
  const before = timers();
  const inner = new RuntimeWorld();
  const asking = inner.client(proxy.kubeconfig);
  for (let i = 0; i < 500; i++) await asking.get(CONFIG_MAP, {namespace, name: 'nope'});
  expect(proxy.connections()).toBeLessThanOrEqual(2);
  const store = await inner.cache(asking, CONFIG_MAP, {namespace});
  const faults: Fault[] = [
    {kind: 'reset'},
    {kind: 'cut', afterBytes: 10},
    {kind: 'silence'},
    {kind: 'lost'},
    {kind: 'answer', status: 500, body: 'broken'},
  ];
  for (const fault of faults) {
    proxy.intercept = () => fault;
    proxy.disconnect();
    const calls = Array.from({length: 40}, () => asking.get(CONFIG_MAP, {namespace, name: 'x'}, {timeoutMs: 300}));
    const results = await Promise.allSettled(calls);
    expect(results.map(({status}) => status)).not.toContain('fulfilled');
    proxy.intercept = () => undefined;
    await direct.apply(CONFIG_MAP, configMap(namespace, 'x', {fault: fault.kind}));
    await equalToServer(direct, namespace, store);
    await until('requests and the watch have a connection each', () => proxy.connections() <= 8 + 1);
    await direct.delete(CONFIG_MAP, {namespace, name: 'x'});
  }
  await inner.end();
  await until('no connection is open', () => proxy.connections() === 0);
  await until('no timer is left', () => timers() <= before);
});

test('an exec plugin that hangs does not hang the call', async () => {
  const config = JSON.parse(await readFile(api.kubeconfig, 'utf8')) as {users: {user: object}[]};
  const [entry] = config.users;
  if (!entry) throw new Error('the kubeconfig has a user');
  const plugin = `${api.kubeconfig}-hanging.sh`;
  await writeFile(plugin, '#!/bin/sh\nexec sleep 20\n');
  await chmod(plugin, 0o755);
  entry.user = {exec: {apiVersion: 'client.authentication.k8s.io/v1', command: plugin}};
  const kubeconfig = `${api.kubeconfig}-hanging`;
  await writeFile(kubeconfig, JSON.stringify(config));
  const hanging = world.client(kubeconfig);
  const error = await errorOf(hanging.get(CONFIG_MAP, {namespace, name: 'x'}, {timeoutMs: 200}));
  expect(String(error)).toMatch(/no answer within 200 ms/);
});

test('refused requests are timed, too', async () => {
  const registry = new Registry();
  const timed = world.client(proxy.kubeconfig, 'test', registry);
  proxy.intercept = () => ({kind: 'answer', status: 500, body: 'broken'});
  await errorOf(timed.get(CONFIG_MAP, {namespace, name: 'x'}));
  const text = await registry.getSingleMetricAsString('rest_client_request_duration_seconds');
  expect(text).toMatch(/_count\{verb="GET",host="127.0.0.1:\d+"\} 1/);
});

// Last, because it replaces the data under everything.
test('the API server comes back with an older etcd: objects that it no longer has disappear from the cache', async () => {
  const store = await world.cache(direct, CONFIG_MAP, {namespace});
  await direct.create(CONFIG_MAP, configMap(namespace, 'kept', {a: 'old'}));
  const restore = await api.backup();
  await until('the server answers', async () => await direct.get(CONFIG_MAP, {namespace, name: 'kept'}));
  await direct.patch(CONFIG_MAP, {namespace, name: 'kept'}, {data: {a: 'new'}});
  for (let i = 0; i < 100; i++) await direct.apply(CONFIG_MAP, configMap(namespace, 'lost', {i: `${i}`}));
  await until('the cache shows all that', () => store.get(`${namespace}/lost`)?.data?.i === '99');
  const told = record(store);
  await restore();
  await until('the cache went back', () => store.get(`${namespace}/kept`)?.data?.a === 'old');
  await expectEqualToServer(store);
  expect(told.toSorted()).toEqual(['added kept', 'added lost', 'deleted lost', 'updated kept']);
  await direct.create(CONFIG_MAP, configMap(namespace, 'later'));
  await expectEqualToServer(store);
});
