import {isDeepStrictEqual} from 'node:util';
import type {WriteRecord} from '../kube/calls.ts';
import {compareResourceVersions, type DeepReadonly, type KubeObject, keyOf} from '../kube/object.ts';
import {type IndexFunction, StoreIndex} from './store-index.ts';

/**
 * - `syncing`: the first list is not complete.
 * - `synced`: the store has what the server had a moment ago.
 * - `missing`: the server does not know the kind (its CRD is not installed). The reflector keeps trying. Counts as
 *   settled, so one absent kind does not stop a program from working.
 */
type StoreState = 'syncing' | 'synced' | 'missing';

type DeltaType = 'added' | 'updated' | 'deleted';

/** An object deleted and recreated while no watch was open gives both: `deleted`, then `added` with the new object. */
export interface Delta<T extends KubeObject> {
  readonly type: DeltaType;
  /** The object as it is now, or for `deleted`, as it was last seen. */
  readonly object: DeepReadonly<T>;
  /** For `updated`: the object cached before. */
  readonly old?: DeepReadonly<T>;
  /** From the first list, or replayed to a late subscriber: nothing has just happened. */
  readonly initial: boolean;
}

type DeltaHandler<T extends KubeObject> = (delta: Delta<T>) => void;

/** The objects that reconciles read, synchronously and from memory. Keys are "namespace/name" or "name". */
export interface ReadonlyStore<T extends KubeObject> {
  readonly state: StoreState;
  readonly size: number;
  get(key: string): DeepReadonly<T> | undefined;
  list(): Iterable<DeepReadonly<T>>;
  /** The objects that the index function maps to `value`. Throws if no index has that name. */
  byIndex(index: string, value: string): readonly DeepReadonly<T>[];
  /** How many objects these are, without a copy of the list. */
  countByIndex(index: string, value: string): number;
  /** Adds a named index, with the objects that are already in the store. */
  addIndex(name: string, fn: IndexFunction<T>): void;
  /** Replays the objects as initial `added` deltas, then reports every change. Returns the unsubscribe function. */
  subscribe(handler: DeltaHandler<T>): () => void;
  /** Calls the handler when a kind that was missing is installed, once the store has its objects. */
  onInstalled(handler: () => void): void;
  /** Resolves once the state is no longer `syncing`. Rejects with the signal's reason. */
  settled(signal?: AbortSignal): Promise<void>;
}

/** Met once the store has the write's resourceVersion or no longer the deleted object, or the server was restored. */
export type Expectation = {readonly epoch: number; readonly key: string} & (
  | {readonly resourceVersion: string}
  | {readonly deletedUid: string}
);

interface StoreOptions {
  /** Called when a subscriber or an index function throws. Nothing else is affected. */
  readonly onHandlerError: (error: unknown, key: string) => void;
  /** Whether an object belongs in this store. False if its selector excludes the object, or may exclude it. */
  readonly covers?: (object: DeepReadonly<KubeObject>) => boolean;
}

/**
 * The objects of one kind as the server last reported them. Only the reflector writes to it.
 *
 * Invariants: handlers see each change once, in the order of the server, and when a handler is called, the store
 * already has the change. Every update has the same uid before and after.
 */
export class Store<T extends KubeObject> implements ReadonlyStore<T> {
  readonly #options: StoreOptions;
  readonly #objects = new Map<string, DeepReadonly<T>>();
  readonly #indexes = new Map<string, StoreIndex<T>>();
  readonly #handlers = new Set<DeltaHandler<T>>();
  readonly #waiters = new Set<() => void>();
  readonly #installed = new Set<() => void>();
  #state: StoreState = 'syncing';
  #resourceVersion = '0';
  /** Counts how often the server went back in time, restored from a backup. */
  #epoch = 0;

  constructor(options: StoreOptions) {
    this.#options = options;
  }

  get state(): StoreState {
    return this.#state;
  }

  get size(): number {
    return this.#objects.size;
  }

  /** The resourceVersion up to which it has everything; undefined before it is synced, or if that is no number. */
  get reached(): number | undefined {
    const version = Number(this.#resourceVersion);
    return this.#state === 'synced' && Number.isSafeInteger(version) ? version : undefined;
  }

  get(key: string): DeepReadonly<T> | undefined {
    return this.#objects.get(key);
  }

  list(): Iterable<DeepReadonly<T>> {
    // Not the iterator itself, which works only once.
    return {[Symbol.iterator]: () => this.#objects.values()};
  }

  byIndex(name: string, value: string): readonly DeepReadonly<T>[] {
    return this.#indexNamed(name).get(value);
  }

  countByIndex(name: string, value: string): number {
    return this.#indexNamed(name).count(value);
  }

  addIndex(name: string, fn: IndexFunction<T>): void {
    if (this.#indexes.has(name)) throw new Error(`there already is an index named ${name}`);
    const index = new StoreIndex(fn);
    for (const object of this.#objects.values()) index.add(object);
    this.#indexes.set(name, index);
  }

  subscribe(handler: DeltaHandler<T>): () => void {
    for (const object of [...this.#objects.values()]) this.#call(handler, {type: 'added', object, initial: true});
    this.#handlers.add(handler);
    return () => this.#handlers.delete(handler);
  }

  onInstalled(handler: () => void): void {
    this.#installed.add(handler);
  }

  async settled(signal?: AbortSignal): Promise<void> {
    await this.#until(() => this.#state !== 'syncing', signal);
  }

  /** The event that must precede a new write in this store. Undefined if the store does not hold such objects. */
  expect(write: WriteRecord): Expectation | undefined {
    const epoch = this.#epoch;
    if ('deletedUid' in write) return {epoch, key: write.key, deletedUid: write.deletedUid};
    const {resourceVersion} = write.object.metadata;
    if (resourceVersion === undefined || this.#options.covers?.(write.object) === false) return undefined;
    return {epoch, key: write.key, resourceVersion};
  }

  reflects(expectation: Expectation): boolean {
    if (this.#state === 'missing' || this.#epoch !== expectation.epoch) return true;
    if ('deletedUid' in expectation) {
      const held = this.#objects.get(expectation.key);
      return held?.metadata.uid !== expectation.deletedUid || held.metadata.deletionTimestamp !== undefined;
    }
    const order = compareResourceVersions(this.#resourceVersion, expectation.resourceVersion);
    return order === undefined || order >= 0;
  }

  /** Resolves once `reflects` is true. Rejects with the signal's reason. */
  async reflecting(expectation: Expectation, signal: AbortSignal): Promise<void> {
    await this.#until(() => this.reflects(expectation), signal);
  }

  /** Replaces the content with a complete list and reports the differences. */
  replace(objects: ReadonlyMap<string, T>, resourceVersion: string): void {
    const [initial, wasMissing] = [this.#state === 'syncing', this.#state === 'missing'];
    const order = compareResourceVersions(resourceVersion, this.#resourceVersion);
    const wentBack = order !== undefined && order < 0;
    if (wentBack) this.#epoch += 1;
    this.#state = 'synced';
    this.#resourceVersion = resourceVersion;
    for (const [key, held] of [...this.#objects]) if (!objects.has(key)) this.#drop(key, held);
    // A restored server uses resourceVersions a second time, so only the content shows a difference.
    const isSame = wentBack ? isDeepStrictEqual : hasSameVersion;
    for (const [key, object] of objects) this.#put(key, object as DeepReadonly<T>, initial, isSame);
    this.#wake();
    if (wasMissing) for (const handler of this.#installed) handler();
  }

  /** An object was added or changed. */
  upsert(object: T): void {
    const held = object as DeepReadonly<T>;
    this.#put(keyOf(object), held, false);
    this.advance(object.metadata.resourceVersion ?? this.#resourceVersion);
  }

  remove(object: T): void {
    const key = keyOf(object);
    if (this.#objects.has(key)) this.#drop(key, object as DeepReadonly<T>);
    this.advance(object.metadata.resourceVersion ?? this.#resourceVersion);
  }

  /** The object still exists, but the cache no longer holds it, which is reported as its deletion. */
  release(object: T): void {
    const key = keyOf(object);
    const held = this.#objects.get(key);
    if (held) this.#drop(key, held);
    this.advance(object.metadata.resourceVersion ?? this.#resourceVersion);
  }

  /** The server has reported everything up to this resourceVersion. */
  advance(resourceVersion: string): void {
    this.#resourceVersion = resourceVersion;
    this.#wake();
  }

  /** The server does not know the kind. */
  markMissing(): void {
    this.#state = 'missing';
    for (const [key, held] of [...this.#objects]) this.#drop(key, held);
    this.#wake();
  }

  #put(key: string, object: DeepReadonly<T>, initial: boolean, isSame: typeof hasSameVersion = hasSameVersion): void {
    const old = this.#objects.get(key);
    if (old && old.metadata.uid !== object.metadata.uid) {
      this.#drop(key, old);
      this.#put(key, object, initial);
      return;
    }
    if (old && isSame(old, object)) return;
    this.#objects.set(key, object);
    if (old) this.#index('remove', key, old);
    this.#index('add', key, object);
    this.#emit(old ? {type: 'updated', object, old, initial} : {type: 'added', object, initial});
  }

  /** `last` is the object as the server last knew it. From an event, it is newer than the cached one. */
  #drop(key: string, last: DeepReadonly<T>): void {
    const held = this.#objects.get(key);
    this.#objects.delete(key);
    if (held) this.#index('remove', key, held);
    this.#emit({type: 'deleted', object: last, initial: false});
  }

  #indexNamed(name: string): StoreIndex<T> {
    const index = this.#indexes.get(name);
    if (!index) throw new Error(`no index named ${name}`);
    return index;
  }

  /** An index whose function throws does not find the object. */
  #index(change: 'add' | 'remove', key: string, object: DeepReadonly<T>): void {
    for (const index of this.#indexes.values()) {
      try {
        index[change](object);
      } catch (error) {
        this.#options.onHandlerError(error, key);
      }
    }
  }

  #emit(delta: Delta<T>): void {
    for (const handler of this.#handlers) this.#call(handler, delta);
  }

  #call(handler: DeltaHandler<T>, delta: Delta<T>): void {
    try {
      handler(delta);
    } catch (error) {
      this.#options.onHandlerError(error, keyOf(delta.object as KubeObject));
    }
  }

  #wake(): void {
    for (const waiter of [...this.#waiters]) waiter();
  }

  async #until(condition: () => boolean, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (condition()) return;
    const {promise, resolve, reject} = Promise.withResolvers<void>();
    const check = (): void => {
      if (condition()) resolve();
    };
    const abort = (): void => reject(signal?.reason);
    this.#waiters.add(check);
    signal?.addEventListener('abort', abort, {once: true});
    try {
      await promise;
    } finally {
      this.#waiters.delete(check);
      signal?.removeEventListener('abort', abort);
    }
  }
}

function hasSameVersion(a: DeepReadonly<KubeObject>, b: DeepReadonly<KubeObject>): boolean {
  return a.metadata.resourceVersion === b.metadata.resourceVersion;
}
