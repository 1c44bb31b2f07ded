import {type APIKey, hashesOf, type KeyClaim} from '../../apikey/apikey.ts';
import type {Delta} from '../../runtime/cache/store.ts';
import type {Manager} from '../../runtime/controller/manager.ts';
import {keyOf} from '../../runtime/kube/object.ts';
import {withinRelabeled} from '../caches/changes.ts';
import {apiKeyKeysOf, INDEX, type Stores} from '../caches/stores.ts';
import type {ApiKeyOperator} from './context.ts';
import type {KeyWaiters} from './key-waiters.ts';
import {reconcileApiKey} from './reconcile.ts';
import {crowdedOut, reconcileKeyClaim} from './release.ts';

export function addApiKeyControllers(manager: Pick<Manager, 'controller'>, operator: ApiKeyOperator): void {
  const {stores, config, keyWaiters, places} = operator;
  const controller = manager
    .controller({name: 'apikey', reconcile: reconcileApiKey(operator), workers: config.controller.workers})
    .watch(stores.apiKeys, delta => apiKeyAndWhoShares(stores, keyWaiters, delta))
    .watch(stores.keyClaims, delta => holdersOf(keyWaiters, delta))
    .watch(stores.secrets, ({object, old}) => [object, old].flatMap(secret => (secret ? apiKeyKeysOf(secret) : [])))
    .watch(stores.namespaces, delta => withinRelabeled(stores.apiKeys, delta));
  places.apiKeys.onMove(key => controller.enqueue(key));
  manager
    .controller({name: 'key-claim', reconcile: reconcileKeyClaim(operator), workers: 1})
    .watch(stores.keyClaims, ({object}) => [
      keyOf(object),
      ...[crowdedOut(stores, object, operator.clock.now()) ?? []].flat(),
    ])
    .watch(stores.apiKeys, ({object: {metadata}}) => stores.keyClaims.byIndex(INDEX.uid, metadata.uid ?? '').map(keyOf))
    .watch(stores.namespaces, ({object: {metadata}}) =>
      metadata.deletionTimestamp ? stores.keyClaims.byIndex(INDEX.namespace, metadata.name).map(keyOf) : [],
    );
}

/** The APIKeys of the record, now and before, and, if its key may have become free, those that were refused that key. */
export function holdersOf(waiters: KeyWaiters, {type, object, old}: Delta<KeyClaim>): Set<string> {
  if (type === 'added') return new Set(); // the reconcile of its APIKey added it
  const holders = [object, old].flatMap(claim => (claim ? [`${claim.spec.namespace}/${claim.spec.name}`] : []));
  const isFreed = type === 'deleted' || object.spec.releasedAt !== undefined;
  return new Set([...holders, ...(isFreed ? waiters.of(object.metadata.name) : [])]);
}

/** The APIKey and, if it shows other keys than before, those that show the same one, or were refused one of them. */
export function apiKeyAndWhoShares(
  {apiKeys}: {readonly apiKeys: Pick<Stores['apiKeys'], 'byIndex'>},
  waiters: KeyWaiters,
  {type, object, old}: Delta<APIKey>,
): Set<string> {
  const [now, before] = [hashesOf(object), old ? hashesOf(old) : []];
  const shown = type === 'deleted' ? [] : now.filter(hash => !before.includes(hash));
  const freed = type === 'deleted' ? now : before.filter(hash => !now.includes(hash));
  const others = shown.flatMap(hash => apiKeys.byIndex(INDEX.sha256, hash));
  return new Set([...[object, ...others].map(keyOf), ...freed.flatMap(hash => waiters.of(hash))]);
}
