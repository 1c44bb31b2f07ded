import {Deadline} from '../../time/deadline.ts';
import type {Expectation, Store} from '../cache/store.ts';
import type {WriteRecord} from '../kube/calls.ts';
import {StaleCacheError} from '../kube/errors.ts';
import {type KubeObject, type ResourceType, resourceName} from '../kube/object.ts';

interface Awaited {
  readonly store: Store<KubeObject>;
  readonly expectation: Expectation;
}

/**
 * Read-your-writes. A watch lags behind the server, so a reconcile that wrote an object and runs again immediately
 * would read an old cache and, for example, create the object a second time. This remembers what the reconciles of each
 * key wrote. Before the key is reconciled again, every cache of those kinds must have reached these writes. It does not
 * wait for the writes of other keys or programs: they trigger another reconcile later.
 */
export class OwnWrites {
  readonly #storesOf: (resource: ResourceType) => Iterable<Store<KubeObject>>;
  readonly #awaited = new Map<string, Map<string, Awaited>>();

  constructor(storesOf: (resource: ResourceType) => Iterable<Store<KubeObject>>) {
    this.#storesOf = storesOf;
  }

  /** A reconcile of `key` made this write. A later write to the same object replaces an earlier one. */
  record(key: string, write: WriteRecord): void {
    const awaited = this.#awaited.get(key) ?? new Map<string, Awaited>();
    let number = 0;
    for (const store of this.#storesOf(write.resource)) {
      const expectation = store.expect(write);
      const name = `${resourceName(write.resource)}/${write.key} #${number++}`;
      if (expectation) awaited.set(name, {store, expectation});
    }
    if (awaited.size > 0) this.#awaited.set(key, awaited);
  }

  /** Whether there are writes that `visible` may have to wait for. */
  has(key: string): boolean {
    return this.#awaited.has(key);
  }

  /** Resolves once the caches show what reconciles of `key` wrote. Throws `StaleCacheError` after `timeoutMs`. */
  async visible(key: string, timeoutMs: number, signal: AbortSignal): Promise<void> {
    const awaited = this.#awaited.get(key);
    if (!awaited) return;
    using deadline = new Deadline(timeoutMs, signal);
    try {
      for (const {store, expectation} of awaited.values()) await store.reflecting(expectation, deadline.signal);
    } catch (error) {
      if (signal.aborted) throw error;
      const missing = [...awaited].filter(([, {store, expectation}]) => !store.reflects(expectation));
      throw new StaleCacheError(missing.map(([name]) => name));
    }
    this.#awaited.delete(key);
  }
}
