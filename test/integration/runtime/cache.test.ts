import {Registry} from 'prom-client';
import {describe, expect, test} from 'vitest';
import type {Store} from '../../../src/runtime/cache/store.ts';
import type {DeepReadonly, KubeObject, ResourceType} from '../../../src/runtime/kube/object.ts';
import {until} from '../../cluster/wait.ts';
import {type Fault, isInitial, isWatch, type Seen} from './fault-proxy.ts';
import {CONFIG_MAP, type ConfigMap, configMap, equalToServer, record} from './runtime-world.ts';
import {api, client, direct, namespace, proxy, world} from './setup.ts';

const expectEqualToServer = (store: Store<ConfigMap>) => equalToServer(direct, namespace, store);

test('a cache follows every change, once each', async () => {
  await direct.create(CONFIG_MAP, configMap(namespace, 'before'));
  const store = await world.cache(client, CONFIG_MAP, {namespace});
  const told = record(store);
  await direct.create(CONFIG_MAP, configMap(namespace, 'x'));
  await direct.patch(CONFIG_MAP, {namespace, name: 'x'}, {data: {a: '1'}});
  await direct.delete(CONFIG_MAP, {namespace, name: 'x'});
  await until('the deletion arrives', () => told.includes('deleted x'));
  expect(told).toEqual(['added before', 'added x', 'updated x', 'deleted x']);
  const held = store.get(`${namespace}/before`);
  expect(held).toMatchObject({apiVersion: 'v1', kind: 'ConfigMap'});
  expect(held?.metadata).not.toHaveProperty('managedFields');
  await expectEqualToServer(store);
});

test('metadata only: no content crosses the wire into the cache', async () => {
  await direct.create(CONFIG_MAP, configMap(namespace, 'x', {secret: 'value'}));
  const store = await world.cache(client, CONFIG_MAP, {namespace, metadataOnly: true});
  const held = store.get(`${namespace}/x`);
  expect(held).toMatchObject({apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'x'}});
  expect(held).not.toHaveProperty('data');
});

test('a cache holds only what it is for, and what it no longer holds counts as deleted', async () => {
  await direct.create(CONFIG_MAP, configMap(namespace, 'ended', {ended: 'yes'}));
  await direct.create(CONFIG_MAP, configMap(namespace, 'open', {}));
  const holds = ({data}: DeepReadonly<ConfigMap>) => data?.ended === undefined;
  const store = await world.cache(client, CONFIG_MAP, {namespace, holds});
  const told = record(store);
  const names = () => [...store.list()].map(({metadata}) => metadata.name).filter(name => name !== 'kube-root-ca.crt');
  expect(names()).toEqual(['open']);
  const setEnded = (name: string, ended: string | null) => direct.patch(CONFIG_MAP, {namespace, name}, {data: {ended}});
  const expectation = store.expect({
    resource: CONFIG_MAP,
    key: `${namespace}/open`,
    object: await setEnded('open', 'yes'),
  });
  await until('the cache has seen the write', () => expectation && store.reflects(expectation));
  expect(names()).toEqual([]);
  await setEnded('ended', null);
  await until('the other is held again', () => names().includes('ended'));
  await direct.delete(CONFIG_MAP, {namespace, name: 'ended'});
  await until('it is deleted', () => names().length === 0);
  expect(told).toEqual(['added open', 'deleted open', 'added ended', 'deleted ended']);
});

test('where the server refuses WatchList, the cache lists page by page', async () => {
  const refusal = {kind: 'Status', code: 422, reason: 'Invalid', message: 'sendInitialEvents is forbidden'};
  proxy.intercept = seen =>
    isInitial(seen) ? {kind: 'answer', status: 422, body: JSON.stringify(refusal)} : undefined;
  await Promise.all(Array.from({length: 12}, (_, i) => direct.create(CONFIG_MAP, configMap(namespace, `x${i}`))));
  const store = await world.cache(client, CONFIG_MAP, {namespace});
  await direct.create(CONFIG_MAP, configMap(namespace, 'later'));
  await until('the later one arrives', () => store.get(`${namespace}/later`));
  await expectEqualToServer(store);
  expect(proxy.seen.filter(isInitial)).toHaveLength(1);
});

describe('after a fault on the wire the cache equals the server again, without a hot loop', () => {
  const status = (code: number, reason: string) => JSON.stringify({kind: 'Status', code, reason, message: reason});
  const errorEvent = (code: number, reason: string): string =>
    `${JSON.stringify({type: 'ERROR', object: {kind: 'Status', code, reason, message: reason}})}\n`;

  test.each<{name: string; fault: Fault; relists: boolean}>([
    {name: 'connection reset', fault: {kind: 'reset'}, relists: false},
    {name: 'stream ended at once', fault: {kind: 'answer', status: 200, body: ''}, relists: false},
    {name: 'half a line', fault: {kind: 'answer', status: 200, body: '{"type":"MODIFIED","obj'}, relists: false},
    {name: 'not JSON', fault: {kind: 'answer', status: 200, body: '<html>\n'}, relists: false},
    {name: 'JSON but no event', fault: {kind: 'answer', status: 200, body: '{"type":"ADDED"}\n'}, relists: false},
    {name: '500', fault: {kind: 'answer', status: 500, body: status(500, 'InternalError')}, relists: false},
    {name: '503 of a proxy', fault: {kind: 'answer', status: 503, body: 'no upstream'}, relists: false},
    {
      name: '429 with Retry-After',
      fault: {kind: 'answer', status: 429, headers: {'retry-after': '1'}, body: status(429, 'TooManyRequests')},
      relists: false,
    },
    {name: '410', fault: {kind: 'answer', status: 410, body: status(410, 'Expired')}, relists: true},
    {name: 'ERROR event 410', fault: {kind: 'answer', status: 200, body: errorEvent(410, 'Expired')}, relists: true},
    {name: 'ERROR event 500', fault: {kind: 'answer', status: 200, body: errorEvent(500, 'Internal')}, relists: false},
  ])('$name', async ({fault, relists}) => {
    await direct.create(CONFIG_MAP, configMap(namespace, 'kept'));
    await direct.create(CONFIG_MAP, configMap(namespace, 'lost'));
    const store = await world.cache(client, CONFIG_MAP, {namespace});
    const told = record(store);
    proxy.intercept = seen => (isWatch(seen) ? fault : undefined);
    proxy.seen.length = 0;
    proxy.disconnect();
    await direct.create(CONFIG_MAP, configMap(namespace, 'new'));
    await direct.delete(CONFIG_MAP, {namespace, name: 'lost'});
    await until('five watches have met the fault', () => proxy.seen.filter(isWatch).length >= 5);
    const [first, , , , fifth] = proxy.seen.filter(isWatch);
    // 50, 100, 200, and 400 ms, at most halved by jitter, unless the server requests a second each time.
    expect((fifth?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThan(fault.kind === 'answer' && fault.headers ? 3_900 : 370);
    proxy.seen.length = 0;
    proxy.intercept = () => undefined;
    await expectEqualToServer(store);
    expect(told).toHaveLength(4);
    expect(told.slice(0, 2).sort()).toEqual(['added kept', 'added lost']);
    expect(told.slice(2).sort()).toEqual(['added new', 'deleted lost']);
    expect(proxy.seen.some(isInitial)).toBe(relists);
  });

  test('500 on the first list', async () => {
    let failures = 0;
    proxy.intercept = () => (++failures <= 3 ? {kind: 'answer', status: 500, body: 'broken'} : undefined);
    const store = await world.cache(client, CONFIG_MAP, {namespace});
    await expectEqualToServer(store);
    expect(failures).toBeGreaterThan(3);
  });

  test('the first list cut in the middle', async () => {
    await Promise.all(Array.from({length: 20}, (_, i) => direct.create(CONFIG_MAP, configMap(namespace, `x${i}`))));
    let cuts = 0;
    proxy.intercept = seen => (isInitial(seen) && ++cuts <= 2 ? {kind: 'cut', afterBytes: 2_000 * cuts} : undefined);
    const store = await world.cache(client, CONFIG_MAP, {namespace});
    await expectEqualToServer(store);
    expect(cuts).toBeGreaterThan(2);
  });

  test('a watch that falls silent', async () => {
    const store = await world.cache(client, CONFIG_MAP, {namespace, idleTimeoutMs: 1_000});
    proxy.intercept = seen => (isWatch(seen) ? {kind: 'hold', until: new Promise(() => undefined)} : undefined);
    proxy.disconnect();
    await until('a watch has fallen silent', () => proxy.seen.filter(isWatch).length > 1);
    await direct.create(CONFIG_MAP, configMap(namespace, 'x'));
    proxy.intercept = () => undefined;
    await until('the object arrives', () => store.get(`${namespace}/x`));
  });
});

test('deleted and recreated while the watch was down: both are reported', async () => {
  await direct.create(CONFIG_MAP, configMap(namespace, 'x', {life: 'first'}));
  const store = await world.cache(client, CONFIG_MAP, {namespace});
  const told = record(store);
  proxy.intercept = () => ({kind: 'reset'});
  proxy.disconnect();
  await direct.delete(CONFIG_MAP, {namespace, name: 'x'});
  await direct.create(CONFIG_MAP, configMap(namespace, 'x', {life: 'second'}));
  // The watch cannot continue where it stopped, so only the new list shows what happened.
  const expired = {kind: 'answer', status: 410, body: '{"kind":"Status","code":410,"reason":"Expired"}'} as const;
  proxy.intercept = seen => (isWatch(seen) && !isInitial(seen) ? expired : undefined);
  await until('the second life is cached', () => store.get(`${namespace}/x`)?.data?.life === 'second');
  expect(told).toEqual(['added x', 'deleted x', 'added x']);
});

test('bookmarks carry a quiet cache forward, so that it need not list again after a pause', async () => {
  await world.cache(client, CONFIG_MAP, {namespace, watchTimeoutMs: 10_000, random: () => 0});
  // Meanwhile, other objects change. The server sends a bookmark shortly before it ends a watch.
  const {metadata} = await direct.create(CONFIG_MAP, configMap('default', `elsewhere-${namespace}`));
  const resumed = await until('the watch is resumed', () => proxy.seen.find(seen => isWatch(seen) && !isInitial(seen)));
  expect(Number(resumed?.query.get('resourceVersion'))).toBeGreaterThanOrEqual(Number(metadata.resourceVersion));
});

test('a server restored from an older state is noticed, and listed anew', async () => {
  const store = await world.cache(client, CONFIG_MAP, {namespace});
  const isProbe = (seen: Seen): boolean => seen.query.get('limit') === '1';
  const older = {kind: 'answer', status: 200, body: '{"metadata":{"resourceVersion":"1"},"items":[]}'} as const;
  proxy.intercept = seen => (isProbe(seen) ? older : undefined);
  proxy.seen.length = 0;
  proxy.disconnect();
  await until('everything is listed again', () => proxy.seen.some(isInitial));
  await expectEqualToServer(store);
});

test('a subscriber that throws stops neither the cache nor the others', async () => {
  const store = await world.cache(client, CONFIG_MAP, {namespace});
  store.subscribe(() => {
    throw new Error('boom');
  });
  const told = record(store);
  await direct.create(CONFIG_MAP, configMap(namespace, 'x'));
  await direct.create(CONFIG_MAP, configMap(namespace, 'y'));
  await until('both are reported', () => told.length === 2);
  await expectEqualToServer(store);
});

test('a transform that throws leaves the object whole', async () => {
  await direct.create(CONFIG_MAP, configMap(namespace, 'bad', {a: '1'}));
  await direct.create(CONFIG_MAP, configMap(namespace, 'good', {a: '1'}));
  const store = await world.cache(client, CONFIG_MAP, {
    namespace,
    transform: object => {
      if (object.metadata.name === 'bad') throw new Error('boom');
      const {data: _, ...rest} = object;
      return rest;
    },
  });
  expect(store.get(`${namespace}/bad`)?.data).toEqual({a: '1'});
  expect(store.get(`${namespace}/good`)?.data).toBeUndefined();
});

test('a kind that is not installed counts as settled, is found once it is, and lost when it goes', async () => {
  const GADGET: ResourceType<KubeObject> = {
    group: 'test.nameplate.dev',
    version: 'v1',
    plural: 'gadgets',
    kind: 'Gadget',
    namespaced: true,
  };
  const registry = new Registry();
  const store = await world.cache(client, GADGET, {registry});
  expect(store.state).toBe('missing');
  await api.apply(JSON.stringify(gadgetCrd()));
  await until('the kind is found', () => store.state === 'synced');
  const gadget = {apiVersion: 'test.nameplate.dev/v1', kind: 'Gadget', metadata: {name: 'g', namespace}};
  await direct.create(GADGET, gadget);
  await until('the object arrives', () => store.size === 1);
  await api.kubectl('delete', 'crd', 'gadgets.test.nameplate.dev');
  await until('the kind is lost', () => store.state === 'missing' && store.size === 0);
});

function gadgetCrd(): object {
  const schema = {openAPIV3Schema: {type: 'object'}};
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {name: 'gadgets.test.nameplate.dev'},
    spec: {
      group: 'test.nameplate.dev',
      scope: 'Namespaced',
      names: {plural: 'gadgets', singular: 'gadget', kind: 'Gadget'},
      versions: [{name: 'v1', served: true, storage: true, schema}],
    },
  };
}

// Last, because it disrupts everything that uses the API server.
test('the API server is killed and restarted: the cache catches up', async () => {
  const straight = await world.cache(direct, CONFIG_MAP, {namespace});
  await direct.create(CONFIG_MAP, configMap(namespace, 'x'));
  await until('the object arrives', () => straight.get(`${namespace}/x`));
  const told = record(straight);
  await api.crash();
  await expect(direct.get(CONFIG_MAP, {namespace, name: 'x'})).rejects.toThrow(/ECONNREFUSED/);
  await api.resume();
  await until('the server accepts writes', async () => {
    await direct.apply(CONFIG_MAP, configMap(namespace, 'y'));
    return true;
  });
  await direct.delete(CONFIG_MAP, {namespace, name: 'x'});
  await expectEqualToServer(straight);
  expect(told).toEqual(['added x', 'added y', 'deleted x']);
});
