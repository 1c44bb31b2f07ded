/** Brings the route objects of one host to what a flavour builds, without a moment in which nothing answers. */
import {ANNOTATION} from '../../api/names.ts';
import {applyIfChanged} from '../../runtime/kube/apply.ts';
import type {KubeClient} from '../../runtime/kube/client.ts';
import {type DeepReadonly, type KubeObject, objectKey} from '../../runtime/kube/object.ts';
import type {INDEX, RouteStore, Stores} from '../stores.ts';
import type {RouteObject} from './flavour.ts';

/** `index` and `value` find the host's objects: INDEX.host with "namespace/host", INDEX.project for a default host. */
export interface RouteQuery {
  readonly index: typeof INDEX.host | typeof INDEX.project;
  readonly value: string;
}

export function routeObjects(stores: Stores, query: RouteQuery): DeepReadonly<KubeObject>[] {
  return stores.routes.flatMap(({store}) => store.byIndex(query.index, query.value));
}

/** Applies in the given order, then deletes the host's objects that are no longer wanted, in reverse order. */
export async function publishRoute(
  client: KubeClient,
  stores: Stores,
  query: RouteQuery,
  wanted: readonly RouteObject[],
  signal: AbortSignal,
): Promise<void> {
  for (const {resource, intent} of wanted) {
    const {store} = storeOf(stores, resource.kind);
    await applyIfChanged(client, store, resource, intent, {hashAnnotation: ANNOTATION.appliedHash, signal});
  }
  const kept = new Set(wanted.map(({resource, intent}) => `${resource.kind}/${intent.metadata.name}`));
  await deleteRoutes(client, stores, query, signal, object => kept.has(`${object.kind}/${object.metadata.name}`));
}

/** Stops traffic: the objects that match requests first, what they refer to last. */
export async function deleteRoutes(
  client: KubeClient,
  stores: Stores,
  query: RouteQuery,
  signal: AbortSignal,
  keep: (object: DeepReadonly<KubeObject>) => boolean = () => false,
): Promise<void> {
  for (const {resource, store} of stores.routes.toReversed()) {
    for (const object of store.byIndex(query.index, query.value)) {
      if (keep(object) || object.metadata.deletionTimestamp) continue;
      const {uid} = object.metadata;
      await client.delete(resource, objectKey(object), {...(uid && {preconditions: {uid}}), signal});
    }
  }
}

function storeOf(stores: Stores, kind: string): RouteStore {
  const found = stores.routes.find(route => route.resource.kind === kind);
  if (!found) throw new Error(`no cache for route objects of kind ${kind}`);
  return found;
}
