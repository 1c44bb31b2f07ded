import type {DeepReadonly, KubeObject} from './object.ts';

/**
 * - `syncing`: the first list has not been completed.
 * - `synced`: holds what the server held, moments ago.
 * - `missing`: the server does not know the kind (its CRD is not installed). The reflector keeps trying. Counts as
 *   settled, so that one absent kind does not keep a program from its work.
 */
export type StoreState = 'syncing' | 'synced' | 'missing';

export type DeltaType = 'added' | 'updated' | 'deleted';

/** A delete and recreate in a gap of the watch is both: `deleted` with the old object, then `added` with the new. */
export interface Delta<T extends KubeObject> {
  readonly type: DeltaType;
  /** The object as it is now; for `deleted`, as it was last seen. */
  readonly object: DeepReadonly<T>;
  /** For `updated`: what was cached before. */
  readonly old?: DeepReadonly<T>;
  /** Part of the first list, or replayed to a late subscriber: nothing has happened just now. */
  readonly initial: boolean;
}

export type DeltaHandler<T extends KubeObject> = (delta: Delta<T>) => void;

export type IndexFunction<T extends KubeObject> = (object: DeepReadonly<T>) => Iterable<string>;

/** What reconciles read. Everything is synchronous and in memory; keys are "namespace/name" or "name". */
export interface ReadonlyStore<T extends KubeObject> {
  readonly state: StoreState;
  readonly size: number;
  get(key: string): DeepReadonly<T> | undefined;
  list(): Iterable<DeepReadonly<T>>;
  /** The objects that the index function mapped to `value`. Throws when no index has that name. */
  byIndex(index: string, value: string): readonly DeepReadonly<T>[];
  /** Adds a named index; objects already held are indexed at once. */
  addIndex(name: string, fn: IndexFunction<T>): void;
  /** Replays what is held as initial `added` deltas, then reports every change. Returns the way to stop. */
  subscribe(handler: DeltaHandler<T>): () => void;
  /** Resolves once the state is no longer `syncing`. */
  settled(signal?: AbortSignal): Promise<void>;
}
