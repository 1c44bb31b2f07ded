import type {DeepReadonly, KubeObject} from './object.ts';

/** Must depend on nothing but the object: the same object must always give the same values. */
export type IndexFunction<T extends KubeObject> = (object: DeepReadonly<T>) => Iterable<string>;

/** From a value to the objects that have it. */
export class StoreIndex<T extends KubeObject> {
  readonly #fn: IndexFunction<T>;
  readonly #byValue = new Map<string, Map<string, DeepReadonly<T>>>();

  constructor(fn: IndexFunction<T>) {
    this.#fn = fn;
  }

  get(value: string): readonly DeepReadonly<T>[] {
    return [...(this.#byValue.get(value)?.values() ?? [])];
  }

  add(key: string, object: DeepReadonly<T>): void {
    for (const value of this.#fn(object)) {
      const objects = this.#byValue.get(value) ?? new Map<string, DeepReadonly<T>>();
      objects.set(key, object);
      this.#byValue.set(value, objects);
    }
  }

  remove(key: string, object: DeepReadonly<T>): void {
    for (const value of this.#fn(object)) {
      const objects = this.#byValue.get(value);
      objects?.delete(key);
      if (objects?.size === 0) this.#byValue.delete(value);
    }
  }
}
