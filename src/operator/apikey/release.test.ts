/** When the record of a key ends and is deleted, with caches that may lag behind the API server. */

import {beforeEach, expect, test} from 'vitest';
import {ManualClock} from '../../../test/support/manual-clock.ts';
import {reconcileContext} from '../../../test/support/memory-operator.ts';
import {timestamp} from '../../api/conditions.ts';
import {API_VERSION} from '../../api/names.ts';
import type {APIKey, KeyClaim} from '../../apikey/apikey.ts';
import {Store} from '../../runtime/cache/store.ts';
import {after, done} from '../../runtime/controller/outcome.ts';
import type {KubeObject} from '../../runtime/kube/object.ts';
import {INDEX} from '../caches/stores.ts';
import {crowdedOut, reconcileKeyClaim} from './release.ts';

const NOW = Date.parse('2026-06-01T00:00:00Z');
const LINGER_MS = 60_000;
const HASH = 'a'.repeat(64);

let keyClaims: Store<KeyClaim>;
let apiKeys: Store<APIKey>;
let namespaces: Store<KubeObject>;
/** The APIKey in the API server, which the cache may not show. */
let served: APIKey | undefined;
let requests: string[];
let version = 1;
let reconcile: (sha256?: string) => ReturnType<ReturnType<typeof reconcileKeyClaim>>;

beforeEach(() => {
  keyClaims = newStore<KeyClaim>();
  keyClaims.addIndex(INDEX.ending, ({spec}) => ((spec.releasedAt ?? spec.validUntil) ? [spec.account ?? ''] : []));
  apiKeys = newStore<APIKey>();
  namespaces = newStore();
  served = undefined;
  requests = [];
  const client = {
    get: async () => {
      requests.push('get');
      return served;
    },
    replace: async (_: unknown, object: KeyClaim) => {
      requests.push('replace');
      keyClaims.upsert({...object, metadata: {...object.metadata, resourceVersion: `${++version}`}});
    },
    delete: async (_: unknown, {name}: {name: string}) => {
      requests.push('delete');
      keyClaims.remove(keyClaims.get(name) as KeyClaim);
    },
  };
  const config = {claims: {lingerSeconds: LINGER_MS / 1000}};
  const stores = {keyClaims, apiKeys, namespaces};
  const run = reconcileKeyClaim({stores, clock: new ManualClock(NOW), config});
  reconcile = (sha256 = HASH) => run(sha256, reconcileContext(client));
});

function newStore<T extends KubeObject>(): Store<T> {
  const store = new Store<T>({
    onHandlerError: error => {
      throw error;
    },
  });
  store.replace(new Map(), '1');
  return store;
}

function claim(spec: Partial<KeyClaim['spec']> = {}, name = HASH): KeyClaim {
  const holder = {account: 'acme', namespace: 'a', name: 'shop', uid: 'u', scopes: ['messages:read' as const]};
  return {
    apiVersion: API_VERSION,
    kind: 'KeyClaim',
    metadata: {name, uid: name, resourceVersion: `${++version}`},
    spec: {...holder, scopes: ['messages:read'], ...spec},
  };
}

function apiKey(metadata: Partial<APIKey['metadata']> = {}): APIKey {
  return {
    apiVersion: API_VERSION,
    kind: 'APIKey',
    metadata: {name: 'shop', namespace: 'a', uid: 'u', resourceVersion: '1', ...metadata},
    spec: {scopes: ['messages:read']},
  };
}

const ago = (ms: number) => timestamp(NOW - ms);

test('of an existing APIKey costs no request', async () => {
  apiKeys.upsert(apiKey());
  keyClaims.upsert(claim());
  expect(await reconcile()).toEqual(done());
  keyClaims.upsert(claim({validUntil: ago(-5_000)}));
  expect(await reconcile()).toEqual(after(5_000));
  expect(requests).toEqual([]);
});

test('ends when the API server confirms that the APIKey is gone', async () => {
  keyClaims.upsert(claim());
  expect(await reconcile()).toEqual(after(LINGER_MS));
  expect(keyClaims.get(HASH)?.spec.releasedAt).toBe(ago(0));
  expect(requests).toEqual(['get', 'replace']);
});

test.each([
  ['another one has its name', {uid: 'another'}],
  ['it is being deleted and a finalizer keeps it', {deletionTimestamp: ago(0)}],
])('also ends if %s', async (_, metadata) => {
  served = apiKey(metadata);
  apiKeys.upsert(served);
  keyClaims.upsert(claim());
  await reconcile();
  expect(keyClaims.get(HASH)?.spec.releasedAt).toBeDefined();
});

test.each([
  ['neither ends', {}],
  ['nor is deleted', {releasedAt: ago(2 * LINGER_MS)}],
])('%s while only the cache misses its APIKey', async (_, spec) => {
  served = apiKey();
  keyClaims.upsert(claim(spec));
  expect(await reconcile()).toEqual(after(1000));
  expect(requests).toEqual(['get']);
});

test.each(['syncing', 'missing'])('is left alone while the cache of APIKeys is %s', async state => {
  const unread = new Store<APIKey>({onHandlerError: () => undefined});
  if (state === 'missing') unread.markMissing();
  Object.defineProperty(apiKeys, 'state', {value: unread.state});
  keyClaims.upsert(claim());
  expect(await reconcile()).toEqual(after(1000));
  expect(requests).toEqual([]);
});

test('lingers after its release, then is deleted', async () => {
  keyClaims.upsert(claim({releasedAt: ago(20_000)}));
  expect(await reconcile()).toEqual(after(LINGER_MS - 20_000));
  expect(requests).toEqual([]);
  keyClaims.upsert(claim({releasedAt: ago(LINGER_MS)}));
  expect(await reconcile()).toEqual(done());
  expect(requests).toEqual(['get', 'delete']);
});

test('of a replaced key is deleted even if its APIKey still exists', async () => {
  apiKeys.upsert(apiKey());
  keyClaims.upsert(claim({validUntil: ago(LINGER_MS)}));
  await reconcile();
  expect(requests).toEqual(['delete']);
});

// attack: stolen-key
test('a tenant that replaces its key endlessly leaves a thousand records, and nobody else loses one', async () => {
  apiKeys.upsert(apiKey());
  const hash = (n: number) => n.toString(16).padStart(64, '0');
  const others = claim({account: 'other', releasedAt: ago(30_000)}, 'f'.repeat(64));
  keyClaims.upsert(others);
  for (let n = 0; n < 3000; n++) {
    const released = claim({releasedAt: ago(0)}, hash(n));
    keyClaims.upsert(released);
    for (const name of [hash(n), crowdedOut({keyClaims}, released, NOW)]) await reconcile(name);
  }
  expect(keyClaims.size).toBe(1001);
  expect([keyClaims.get(others.metadata.name), keyClaims.get(hash(2999))], 'the latest linger').not.toContain(
    undefined,
  );
  expect(requests).toEqual(Array.from({length: 2000}, () => 'delete'));
});
