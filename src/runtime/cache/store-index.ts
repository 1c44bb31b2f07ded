import type {DeepReadonly, KubeObject} from '../kube/object.ts';

/** Must depend only on the object: the same object must always give the same values. */
export type IndexFunction<T extends KubeObject> = (object: DeepReadonly<T>) => Iterable<string>;

/** A Set takes four times the memory of an array, which is as fast up to this many objects. */
const MAX_ARRAY = 64;

type Group<T extends KubeObject> = DeepReadonly<T>[] | Set<DeepReadonly<T>>;

/**
 * Maps a value to the objects that have it. Most values have one object, which is stored without a group. Objects are
 * distinguished by identity.
 */
export class StoreIndex<T extends KubeObject> {
  readonly #fn: IndexFunction<T>;
  readonly #byValue = new Map<string, DeepReadonly<T> | Group<T>>();

  constructor(fn: IndexFunction<T>) {
    this.#fn = fn;
  }

  get(value: string): readonly DeepReadonly<T>[] {
    const held = this.#byValue.get(value);
    if (held === undefined) return [];
    return isGroup(held) ? [...held] : [held];
  }

  count(value: string): number {
    const held = this.#byValue.get(value);
    if (held === undefined) return 0;
    return held instanceof Set ? held.size : isGroup(held) ? held.length : 1;
  }

  add(object: DeepReadonly<T>): void {
    for (const value of this.#fn(object)) this.#add(value, object);
  }

  remove(object: DeepReadonly<T>): void {
    for (const value of this.#fn(object)) this.#remove(value, object);
  }

  #add(value: string, object: DeepReadonly<T>): void {
    const held = this.#byValue.get(value);
    if (held === undefined) this.#byValue.set(value, object);
    else if (held instanceof Set) held.add(object);
    else if (this.#has(held, object))
      return; // the function named the value twice
    else if (!isGroup(held)) this.#byValue.set(value, [held, object]);
    else if (held.length < MAX_ARRAY)
      this.#byValue.set(value, [...held, object]); // a push would leave room for 16 more
    else this.#byValue.set(value, new Set([...held, object]));
  }

  #remove(value: string, object: DeepReadonly<T>): void {
    const held = this.#byValue.get(value);
    if (held instanceof Set) held.delete(object);
    else if (held === undefined || !this.#has(held, object)) return;
    else if (isGroup(held)) held.splice(held.indexOf(object), 1);
    if (held === object || (held instanceof Set ? held.size : isGroup(held) && held.length) === 0)
      this.#byValue.delete(value);
  }

  #has(held: DeepReadonly<T> | DeepReadonly<T>[], object: DeepReadonly<T>): boolean {
    return isGroup(held) ? held.includes(object) : held === object;
  }
}

function isGroup<T extends KubeObject>(held: DeepReadonly<T> | Group<T>): held is Group<T> {
  return Array.isArray(held) || held instanceof Set;
}
