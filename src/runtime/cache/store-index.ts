import {type DeepReadonly, type KubeObject, keyOf} from '../kube/object.ts';

/** Must depend only on the object: the same object must always give the same values. */
export type IndexFunction<T extends KubeObject> = (object: DeepReadonly<T>) => Iterable<string>;

/**
 * From a value to the objects that have it. Most values have one object, which is stored without a Map of its own. An
 * object must be removed before another is added under its key.
 */
export class StoreIndex<T extends KubeObject> {
  readonly #fn: IndexFunction<T>;
  readonly #byValue = new Map<string, DeepReadonly<T> | Map<string, DeepReadonly<T>>>();

  constructor(fn: IndexFunction<T>) {
    this.#fn = fn;
  }

  get(value: string): readonly DeepReadonly<T>[] {
    const held = this.#byValue.get(value);
    if (held === undefined) return [];
    return held instanceof Map ? [...held.values()] : [held];
  }

  add(key: string, object: DeepReadonly<T>): void {
    for (const value of this.#fn(object)) {
      const held = this.#byValue.get(value);
      if (held === undefined) this.#byValue.set(value, object);
      else if (held instanceof Map) held.set(key, object);
      else this.#byValue.set(value, new Map([held, object].map(each => [keyOf(each), each])));
    }
  }

  remove(key: string, object: DeepReadonly<T>): void {
    for (const value of this.#fn(object)) {
      const held = this.#byValue.get(value);
      if (held instanceof Map) held.delete(key);
      if (!(held instanceof Map) || held.size === 0) this.#byValue.delete(value);
    }
  }
}
