/** Which keys a change concerns, and whether it matters at all, for the controllers of several rooms. */
import {isDeepStrictEqual} from 'node:util';
import {objectNameOf} from '../../api/host-names.ts';
import {LABEL} from '../../api/names.ts';
import type {Delta, ReadonlyStore} from '../../runtime/cache/store.ts';
import type {Controller} from '../../runtime/controller/controller.ts';
import {type DeepReadonly, type KubeObject, keyOf} from '../../runtime/kube/object.ts';
import {accountId, waitsForPlan} from '../kinds/account.ts';
import type {EdgeProvider} from '../kinds/edge-provider.ts';
import type {Project} from '../kinds/kinds.ts';
import {listedHosts} from '../kinds/project-hosts.ts';
import {domainKeyOf, INDEX, inNamespace, projectKeyOf, type Stores} from './stores.ts';

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
  const keys = [object, old].flatMap(listedHosts).map(({host}) => inNamespace(object, objectNameOf(host)));
  return new Set(waits ? keys.filter(key => domains.get(key)) : keys);
}

/**
 * Its cached metadata has changed, or it is new or being deleted: the cache keeps only labels and annotations that we
 * read.
 */
function isRelabeled({type, object, old}: Delta<KubeObject>): boolean {
  const {labels, annotations, deletionTimestamp} = object.metadata;
  return (
    type !== 'updated' ||
    old?.metadata.deletionTimestamp !== deletionTimestamp ||
    !isDeepStrictEqual([old?.metadata.labels, old?.metadata.annotations], [labels, annotations])
  );
}

/** The objects of a namespace of which something has changed that we read. */
export function withinRelabeled(store: ReadonlyStore<KubeObject>, delta: Delta<KubeObject>): string[] {
  return isRelabeled(delta) ? store.byIndex(INDEX.namespace, delta.object.metadata.name).map(keyOf) : [];
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

/** All of them, if a change of the platform's edge may change what it can serve. */
export function watchPlatform(
  controller: Controller,
  {stores, edge}: {readonly stores: Pick<Stores, 'platform'>; readonly edge: Pick<EdgeProvider, 'reads'>},
  all: ReadonlyStore<KubeObject>,
): void {
  for (const store of stores.platform.stores) {
    controller.watch(store, delta =>
      edge.reads(delta.object) && changesContent(delta) ? Iterator.from(all.list()).map(keyOf) : [],
    );
  }
}

/** The Projects whose default host the object belongs to, now and before. */
export function labeledProjectsOf({object, old}: Delta<KubeObject>): string[] {
  return [object, old].flatMap(version => (version ? projectKeyOf(version) : []));
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
