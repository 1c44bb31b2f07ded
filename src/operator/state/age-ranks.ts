/**
 * Counts the objects of a namespace that are older than one, and finds the oldest, without reading them all: a tenant
 * may create any number.
 */
import type {ReadonlyStore} from '../../runtime/cache/store.ts';
import {type DeepReadonly, type KubeObject, keyOf} from '../../runtime/kube/object.ts';

export class AgeRanks {
  readonly #byNamespace = new Map<string, SortedAges>();

  add(object: DeepReadonly<KubeObject>): void {
    const {namespace = ''} = object.metadata;
    const ages = this.#byNamespace.get(namespace) ?? new SortedAges();
    this.#byNamespace.set(namespace, ages);
    ages.add(ageOf(object));
  }

  remove(object: DeepReadonly<KubeObject>): void {
    const {namespace = ''} = object.metadata;
    const ages = this.#byNamespace.get(namespace);
    ages?.remove(ageOf(object));
    if (ages?.length === 0) this.#byNamespace.delete(namespace);
  }

  count(namespaces: readonly string[]): number {
    return namespaces.reduce((sum, namespace) => sum + (this.#byNamespace.get(namespace)?.length ?? 0), 0);
  }

  /** The keys of the oldest in all these namespaces together. */
  oldest(namespaces: readonly string[], count: number): string[] {
    const ages = namespaces.flatMap(namespace => this.#byNamespace.get(namespace)?.first(count) ?? []);
    return ages.sort().slice(0, count).map(keyIn);
  }

  /** How many in the namespace are older than the object, which may be in another namespace. */
  countOlder(namespace: string, object: DeepReadonly<KubeObject>): number {
    return this.#byNamespace.get(namespace)?.countBelow(ageOf(object)) ?? 0;
  }
}

/**
 * The ages of the objects of a store, or of those that are meant. Call it before any controller subscribes, so that it
 * is up to date when the controllers are called.
 */
export function agesOf<T extends KubeObject>(
  store: ReadonlyStore<T>,
  isMeant: (object: DeepReadonly<T>) => boolean = () => true,
): AgeRanks {
  const ages = new AgeRanks();
  store.subscribe(({type, object, old}) => {
    const was = type === 'deleted' || (old !== undefined && isMeant(old));
    const is = type !== 'deleted' && isMeant(object);
    if (was && !is) ages.remove(object);
    if (is && !was) ages.add(object);
  });
  return ages;
}

export function isOlder(a: DeepReadonly<KubeObject>, b: DeepReadonly<KubeObject>): boolean {
  return ageOf(a) < ageOf(b);
}

/** Unique, and ordered by age; the key decides between objects of the same second. */
function ageOf(object: DeepReadonly<KubeObject>): string {
  return [object.metadata.creationTimestamp, keyOf(object)].join(' ');
}

function keyIn(age: string): string {
  return age.slice(age.indexOf(' ') + 1);
}

/** Sorted when it is read, so that a long list costs one sort. New objects mostly come last, and need no sort. */
class SortedAges {
  readonly #ages: string[] = [];
  #sorted = true;

  get length(): number {
    return this.#ages.length;
  }

  add(age: string): void {
    const last = this.#ages.at(-1);
    if (last !== undefined && last > age) this.#sorted = false;
    this.#ages.push(age);
  }

  remove(age: string): void {
    const at = this.countBelow(age);
    if (this.#ages[at] === age) this.#ages.splice(at, 1);
  }

  first(count: number): string[] {
    this.#sort();
    return this.#ages.slice(0, count);
  }

  countBelow(age: string): number {
    this.#sort();
    let [low, high] = [0, this.#ages.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#ages[middle] ?? '') < age) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #sort(): void {
    if (!this.#sorted) this.#ages.sort();
    this.#sorted = true;
  }
}
