/** Which keys a change concerns, and whether it matters at all. Pure. */
import {isDeepStrictEqual} from 'node:util';
import {LABEL} from '../../api/names.ts';
import {type APIKey, hashesOf} from '../../apikey/apikey.ts';
import type {KeyWaiters} from '../../apikey/key-waiters.ts';
import type {KeyClaim} from '../../apikey/keyclaim.ts';
import type {Delta} from '../../runtime/cache/store.ts';
import {type DeepReadonly, type KubeObject, keyOf} from '../../runtime/kube/object.ts';
import {accountId, waitsForPlan} from '../kinds/account.ts';
import type {Project} from '../kinds/kinds.ts';
import {listedHosts} from '../kinds/project-hosts.ts';
import {domainKeyOf, INDEX, inNamespace, type Stores} from './stores.ts';

export function self({object}: Delta<KubeObject>): string[] {
  return [keyOf(object)];
}

/**
 * The status of a Project summarizes its Domains. If each change to that status triggered all its Domains, n Domains
 * would cause n² reconciles. But a Project that gets or loses its place in the plan also gets or loses its hosts.
 */
export function isOwnSummary({object, old}: Delta<Project>): boolean {
  return (
    old !== undefined &&
    old.metadata.generation === object.metadata.generation &&
    waitsForPlan(old) === waitsForPlan(object) &&
    isDeepStrictEqual(old.metadata.annotations, object.metadata.annotations)
  );
}

/**
 * The hosts that a Project lists, or listed before: other Projects and Domains may claim them. While it waits for its
 * plan, only those with a Domain, which it may own: a tenant may create any number of such Projects.
 */
export function hostKeysOf({domains}: Pick<Stores, 'domains'>, {object, old = object}: Delta<Project>): Set<string> {
  const waits = waitsForPlan(object) && waitsForPlan(old);
  const keys = [object, old].flatMap(listedHosts).map(({host}) => inNamespace(object, host));
  return new Set(waits ? keys.filter(key => domains.get(key)) : keys);
}

/**
 * Its cached metadata has changed, or it is new or being deleted: the cache keeps only labels and annotations that we
 * read.
 */
export function isRelabeled({type, object, old}: Delta<KubeObject>): boolean {
  const {labels, annotations, deletionTimestamp} = object.metadata;
  return (
    type !== 'updated' ||
    old?.metadata.deletionTimestamp !== deletionTimestamp ||
    !isDeepStrictEqual([old?.metadata.labels, old?.metadata.annotations], [labels, annotations])
  );
}

/** The new account must claim the hosts of the namespace again. */
export function changesAccount({object, old}: Delta<KubeObject>): boolean {
  return old !== undefined && accountId(old) !== accountId(object);
}

export function inside({object}: Delta<KubeObject>, objects: readonly DeepReadonly<KubeObject>[]): string[] {
  return objects.filter(({metadata}) => metadata.namespace === object.metadata.name).map(keyOf);
}

/** The cache keeps only what is read: for example, the status of a Gateway changes with every host. */
export function changesContent({type, object, old}: Delta<KubeObject>): boolean {
  const {metadata: _, ...now} = object;
  const {metadata: __, ...before} = old ?? {metadata: {}};
  return type !== 'updated' || !isDeepStrictEqual(now, before);
}

export function projectKeysOf({object, old}: Delta<KubeObject>): string[] {
  return [object, old].flatMap(version => {
    const project = version?.metadata.labels?.[LABEL.project];
    return version && project !== undefined ? [inNamespace(version, project)] : [];
  });
}

/** The Projects whose routes use the Service, now and before. */
export function backendProjectsOf({object, old}: Delta<KubeObject>): string[] {
  return [object, old].flatMap(version => {
    const project = version?.metadata.labels?.[LABEL.backend];
    return version && project !== undefined ? [inNamespace(version, project)] : [];
  });
}

/** The Domain that owns the object, and the one that owned it before a change of the annotation. */
export function domainKeysOf({object, old}: Delta<KubeObject>): string[] {
  return [object, old].flatMap(version => (version && domainKeyOf(version)) ?? []);
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
  {apiKeys}: Stores,
  waiters: KeyWaiters,
  {type, object, old}: Delta<APIKey>,
): Set<string> {
  const [now, before] = [hashesOf(object), old ? hashesOf(old) : []];
  const shown = type === 'deleted' ? [] : now.filter(hash => !before.includes(hash));
  const freed = type === 'deleted' ? now : before.filter(hash => !now.includes(hash));
  const others = shown.flatMap(hash => apiKeys.byIndex(INDEX.sha256, hash));
  return new Set([...[object, ...others].map(keyOf), ...freed.flatMap(hash => waiters.of(hash))]);
}
