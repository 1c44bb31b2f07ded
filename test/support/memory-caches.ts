import {Store} from '../../src/runtime/cache/store.ts';
import type {CacheOptions, Manager} from '../../src/runtime/controller/manager.ts';
import type {KubeObject, ResourceType} from '../../src/runtime/kube/object.ts';

interface Cache {
  readonly store: Store<KubeObject>;
  readonly transform: (object: KubeObject) => KubeObject;
}

/** Synced caches without an API server, for `createStores`. If a kind has several, `put` and `store` mean the last. */
export function memoryCaches() {
  const caches = new Map<string, Cache>();
  const cache = ({kind}: ResourceType, {transform = object => object}: CacheOptions<KubeObject> = {}) => {
    const store = new Store<KubeObject>({
      onHandlerError: error => {
        throw error;
      },
    });
    store.replace(new Map(), '0');
    caches.set(kind, {store, transform});
    return store;
  };
  return {
    manager: {cache} as unknown as Manager,
    store: (kind: string) => caches.get(kind)?.store,
    /** As if a watch had received it. Ignored if no cache is for its kind. */
    put(object: KubeObject): void {
      const {store, transform} = caches.get(object.kind) ?? {};
      if (store && transform) store.upsert(transform(object));
    },
  };
}
