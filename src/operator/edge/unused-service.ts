/** Deletes our own Services that no route uses: those of Projects that are gone, and of former ports. */
import {LABEL} from '../../api/names.ts';
import type {Delta} from '../../runtime/cache/store.ts';
import type {Reconcile} from '../../runtime/controller/controller.ts';
import type {Manager} from '../../runtime/controller/manager.ts';
import {after, done} from '../../runtime/controller/outcome.ts';
import {type KubeObject, objectKey} from '../../runtime/kube/object.ts';
import {self} from '../caches/changes.ts';
import {BEHIND_MS} from '../caches/fresh.ts';
import {INDEX, inNamespace} from '../caches/stores.ts';
import {routeNameIn} from '../kinds/derived-names.ts';
import {SERVICE} from '../kinds/kinds.ts';
import type {EdgeContext, EdgeOperator} from './context.ts';

/** In this time, every replica of the edge has the routes that no longer use a Service. */
const UNUSED_MS = 60_000;

export function addUnusedServiceController(manager: Pick<Manager, 'controller'>, operator: EdgeOperator): void {
  const controller = manager.controller({
    name: 'unused-service',
    reconcile: reconcileUnusedService(operator),
    workers: 1,
  });
  for (const {resource, store} of operator.stores.routes) {
    const used = ({object, old}: Delta<KubeObject>) =>
      [object, old].flatMap(version =>
        version ? operator.edge.backends(version).map(name => inNamespace(version, name)) : [],
      );
    controller.watch(store, resource === SERVICE ? self : used);
  }
}

/** Keys are "namespace/name" of Services. */
export function reconcileUnusedService(operator: EdgeOperator): Reconcile {
  const {stores, clock} = operator;
  const services = stores.routes.find(({resource}) => resource === SERVICE)?.store;
  /** By key: the uid, and since when it is unused, on the monotonic clock. */
  const unused = new Map<string, {readonly uid: string | undefined; readonly sinceMs: number}>();
  return async (key, {client, signal}) => {
    const service = services?.get(key);
    const isUsed = stores.routes.some(({store}) => store.byIndex(INDEX.backend, key).length > 0);
    if (!service || service.metadata.deletionTimestamp || isUsed || !routeNameIn(service.metadata.name)) {
      unused.delete(key);
      return done();
    }
    if (stores.routes.some(({store}) => store.state !== 'synced')) return after(1000);
    const {uid} = service.metadata;
    const known = unused.get(key);
    const sinceMs = known && known.uid === uid ? known.sinceMs : clock.monotonic();
    unused.set(key, {uid, sinceMs});
    const leftMs = sinceMs + UNUSED_MS - clock.monotonic();
    if (leftMs > 0) return after(leftMs);
    if (await isUsedFresh({...operator, client, signal}, key)) return after(BEHIND_MS);
    await client.delete(SERVICE, objectKey(service), {...(uid && {preconditions: {uid}}), signal});
    return done();
  };
}

/** Whether a route at the API server uses the Service: a cache may lag behind. */
async function isUsedFresh({stores, edge, client, signal}: EdgeContext, key: string): Promise<boolean> {
  const [namespace = '', name = ''] = key.split('/');
  const labelSelector = `${LABEL.managedBy}=nameplate`;
  for (const {resource} of stores.routes.filter(route => route.resource !== SERVICE)) {
    for await (const {items} of client.list(resource, {namespace, labelSelector, signal})) {
      if (items.some(item => edge.backends(item).includes(name))) return true;
    }
  }
  return false;
}
