/** Brings the route objects of one host to what a flavour builds, without a moment in which nothing answers. */
import {ANNOTATION} from '../../api/names.ts';
import {applyIfChanged} from '../../runtime/kube/apply.ts';
import type {KubeClient} from '../../runtime/kube/client.ts';
import {type DeepReadonly, type KubeObject, objectKey} from '../../runtime/kube/object.ts';
import {INDEX, type RouteStore, type Stores} from '../stores.ts';
import type {RouteObject} from './flavour.ts';

/** `routeKey`: "namespace/np-…". All objects of a route are found by their names, which nobody can edit. */
export function routeObjects(stores: Stores, routeKey: string): DeepReadonly<KubeObject>[] {
  return stores.routes.flatMap(({store}) => store.byIndex(INDEX.route, routeKey));
}

/** Applies in the given order, then deletes the host's objects that are no longer wanted, in reverse order. */
export async function publishRoute(
  client: KubeClient,
  stores: Stores,
  routeKey: string,
  wanted: readonly RouteObject[],
  signal: AbortSignal,
): Promise<void> {
  for (const {resource, intent} of wanted) {
    const {store} = storeOf(stores, resource.kind);
    await applyIfChanged(client, store, resource, intent, {hashAnnotation: ANNOTATION.appliedHash, signal});
  }
  const kept = new Set(wanted.map(({resource, intent}) => `${resource.kind}/${intent.metadata.name}`));
  await deleteRoutes(client, stores, routeKey, signal, object => kept.has(`${object.kind}/${object.metadata.name}`));
}

/** Stops traffic: the objects that match requests first, what they refer to last. */
export async function deleteRoutes(
  client: KubeClient,
  stores: Stores,
  routeKey: string,
  signal: AbortSignal,
  keep: (object: DeepReadonly<KubeObject>) => boolean = () => false,
): Promise<void> {
  for (const {resource, store} of stores.routes.toReversed()) {
    for (const object of store.byIndex(INDEX.route, routeKey)) {
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
