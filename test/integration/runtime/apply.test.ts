import {beforeEach, expect, test} from 'vitest';
import {NAMESPACE} from '../../../src/operator/kinds/kinds.ts';
import {type ApplyResult, applyIfChanged, applyStatusIfChanged} from '../../../src/runtime/apply/apply.ts';
import type {Store} from '../../../src/runtime/cache/store.ts';
import {isConflict} from '../../../src/runtime/kube/errors.ts';
import type {Intent, KubeObject, ResourceType} from '../../../src/runtime/kube/object.ts';
import {until} from '../../cluster/wait.ts';
import {CONFIG_MAP, type ConfigMap, configMap} from './runtime-world.ts';
import {client, namespace, proxy, world} from './setup.ts';

const HASH = 'test.dev/applied-hash';

let store: Store<ConfigMap>;

beforeEach(async () => {
  store = await world.cache(client, CONFIG_MAP, {namespace});
});

/** Applies, waits until the cache shows it, and returns how many writes were sent. */
async function apply(intent: Partial<ConfigMap>): Promise<ApplyResult<ConfigMap> & {writes: number}> {
  const whole = {apiVersion: 'v1', kind: 'ConfigMap', metadata: {namespace, name: 'x'}, ...intent};
  proxy.seen.length = 0;
  const result = await applyIfChanged(client, store, CONFIG_MAP, whole as Intent<ConfigMap>, {hashAnnotation: HASH});
  const writes = proxy.seen.filter(seen => seen.method !== 'GET').length;
  const {changed, object} = result;
  if (!object) throw new Error('nothing pauses it');
  await cacheShows(object.metadata.resourceVersion ?? '');
  return {changed, object, writes};
}

async function cacheShows(resourceVersion: string): Promise<void> {
  await until('the cache shows it', () => store.get(`${namespace}/x`)?.metadata.resourceVersion === resourceVersion);
}

async function foreignEdit(patch: Record<string, unknown>): Promise<void> {
  const edited = await client.patch(CONFIG_MAP, {namespace, name: 'x'}, patch);
  await cacheShows(edited.metadata.resourceVersion ?? '');
}

test('an unchanged object costs no request', async () => {
  expect(await apply({data: {a: '1', b: '2'}})).toMatchObject({changed: true, writes: 1});
  expect(await apply({data: {b: '2', a: '1'}})).toMatchObject({changed: false, writes: 0});
});

test('a field that must be absent is removed', async () => {
  await apply({data: {a: '1', b: '2'}});
  const {changed, object} = await apply({data: {a: '1', b: null as never}});
  expect(changed).toBe(true);
  expect(object.data).toEqual({a: '1'});
});

test('a foreign edit of our fields is reverted, once', async () => {
  await apply({data: {a: '1'}});
  await foreignEdit({data: {a: 'theirs'}});
  const {changed, object} = await apply({data: {a: '1'}});
  expect(changed).toBe(true);
  expect(object.data).toEqual({a: '1'});
  expect(await apply({data: {a: '1'}})).toMatchObject({changed: false, writes: 0});
});

test('a foreign removal of our fields is reverted', async () => {
  await apply({data: {a: '1'}, metadata: {namespace, name: 'x', labels: {ours: 'yes'}}});
  await foreignEdit({metadata: {labels: {ours: null}}});
  const {changed, object} = await apply({data: {a: '1'}, metadata: {namespace, name: 'x', labels: {ours: 'yes'}}});
  expect(changed).toBe(true);
  expect(object.metadata.labels).toEqual({ours: 'yes'});
});

test('fields that others set are left alone', async () => {
  await apply({data: {a: '1'}});
  await foreignEdit({data: {theirs: '1'}, metadata: {annotations: {'other.dev/x': 'y'}}});
  const {changed, object, writes} = await apply({data: {a: '1'}});
  expect({changed, writes}).toEqual({changed: false, writes: 0});
  expect(object.data).toEqual({a: '1', theirs: '1'});
});

test('our labels and annotations that we no longer want are removed', async () => {
  const metadata = {namespace, name: 'x'};
  await apply({metadata: {...metadata, labels: {'test.dev/a': '1', x: '1'}, annotations: {'test.dev/b': '1'}}});
  const {object} = await apply({metadata: {...metadata, labels: {x: '1'}}});
  expect(object.metadata.labels).toEqual({x: '1'});
  expect(Object.keys(object.metadata.annotations ?? {})).toEqual([HASH]);
});

test('an object that another version wrote by server-side apply is changed, and what others added stays', async () => {
  const metadata = {namespace, name: 'x', labels: {ours: 'yes'}, annotations: {'test.dev/before': '1'}};
  const before = {apiVersion: 'v1', kind: 'ConfigMap', metadata, data: {a: '1', b: '1'}};
  await cacheShows((await client.apply(CONFIG_MAP, before)).metadata.resourceVersion ?? '');
  const theirs = {labels: {theirs: 'yes'}, annotations: {'other.dev/x': 'y'}, finalizers: ['other.dev/keep']};
  await foreignEdit({metadata: theirs});
  const {object} = await apply({
    metadata: {namespace, name: 'x', labels: {ours: 'now'}},
    data: {a: '2', b: null as never},
  });
  expect(object.data).toEqual({a: '2'});
  expect(object.metadata.labels).toEqual({ours: 'now', theirs: 'yes'});
  expect(object.metadata.annotations).toEqual({'other.dev/x': 'y', [HASH]: expect.any(String)});
  expect(object.metadata.finalizers).toEqual(['other.dev/keep']);
  await foreignEdit({metadata: {finalizers: null}});
});

test('an object that the cache does not show yet is changed', async () => {
  const theirs = await client.create(CONFIG_MAP, configMap(namespace, 'x'));
  const whole = {apiVersion: 'v1', kind: 'ConfigMap', metadata: {namespace, name: 'x'}, data: {a: '1'}};
  const stale = {get: () => undefined} as unknown as Store<ConfigMap>;
  const {object} = await applyIfChanged(client, stale, CONFIG_MAP, whole, {hashAnnotation: HASH});
  expect(object).toMatchObject({metadata: {uid: theirs.metadata.uid}, data: {a: '1'}});
});

test('an object that was deleted since the cache showed it is created again', async () => {
  const {object: deleted} = await apply({data: {a: '1'}});
  const stale = {get: () => deleted} as unknown as Store<ConfigMap>;
  await client.delete(CONFIG_MAP, {namespace, name: 'x'});
  const whole = {apiVersion: 'v1', kind: 'ConfigMap', metadata: {namespace, name: 'x'}, data: {a: '2'}};
  const {changed, object} = await applyIfChanged(client, stale, CONFIG_MAP, whole, {hashAnnotation: HASH});
  expect({changed, data: object?.data}).toEqual({changed: true, data: {a: '2'}});
  expect(object?.metadata.uid).not.toBe(deleted.metadata.uid);
});

test('what changed since it was read is a conflict', async () => {
  const {object} = await apply({data: {a: '1'}});
  const stale = {get: () => object} as unknown as Store<ConfigMap>;
  await foreignEdit({data: {theirs: '1'}});
  const whole = {apiVersion: 'v1', kind: 'ConfigMap', metadata: {namespace, name: 'x'}, data: {a: '2'}};
  const write = applyIfChanged(client, stale, CONFIG_MAP, whole, {hashAnnotation: HASH});
  await expect(write).rejects.toSatisfy(isConflict);
});

test('an owner reference is added next to those of others', async () => {
  const owner = async (name: string) => {
    const {metadata} = await client.create(CONFIG_MAP, configMap(namespace, name));
    return {apiVersion: 'v1', kind: 'ConfigMap', name, uid: metadata.uid ?? ''};
  };
  const [ours, theirs] = [await owner('ours'), await owner('theirs')];
  const metadata = {namespace, name: 'x', ownerReferences: [ours]};
  const {object} = await apply({metadata});
  const both = await client.replace(CONFIG_MAP, {
    ...object,
    metadata: {...object.metadata, ownerReferences: [theirs, ours]},
  });
  await cacheShows(both.metadata.resourceVersion ?? '');
  expect(await apply({metadata})).toMatchObject({changed: false, writes: 0});
  await foreignEdit({metadata: {ownerReferences: [theirs]}});
  expect((await apply({metadata})).object.metadata.ownerReferences).toEqual([theirs, ours]);
});

interface Phased extends KubeObject {
  status?: {phase?: string; conditions?: {type: string; status: string}[]};
}

test('a status is written only when it differs, and drops fields that we no longer set', async () => {
  const kind: ResourceType<Phased> = NAMESPACE;
  const read = async (): Promise<Phased> => {
    const object = await client.get(kind, {name: namespace});
    if (!object) throw new Error('it exists');
    return object;
  };
  const conditions = [{type: 'Test', status: 'True'}];
  const first = await applyStatusIfChanged(client, kind, await read(), {phase: 'Active', conditions});
  expect(first.changed).toBe(true);
  expect(first.object.status).toEqual({phase: 'Active', conditions: [expect.objectContaining({type: 'Test'})]});
  const written = await read();
  const same = await applyStatusIfChanged(client, kind, written, structuredClone(written.status ?? {}));
  expect(same.changed).toBe(false);
  const less = await applyStatusIfChanged(client, kind, written, {phase: 'Active'});
  expect(less.object.status).toEqual({phase: 'Active'});
});

test('a status is not written to an object that is no longer the one that was read', async () => {
  const kind: ResourceType<Phased> = NAMESPACE;
  const read = await client.get(kind, {name: namespace});
  if (!read) throw new Error('it exists');
  await client.patch(kind, {name: namespace}, {metadata: {annotations: {'other.dev/edited': 'yes'}}});
  const write = applyStatusIfChanged(client, kind, read, {phase: 'Active', conditions: []});
  await expect(write).rejects.toSatisfy(isConflict);
});
