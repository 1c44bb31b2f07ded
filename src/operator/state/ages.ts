/**
 * Finds how many Domains of a namespace are older than one, without reading them all: a tenant may create any number.
 */
import {type DeepReadonly, type KubeObject, keyOf} from '../../runtime/kube/object.ts';

export class Ages {
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

  /** How many in the namespace are older than the object, which may be in another namespace. */
  countOlder(namespace: string, object: DeepReadonly<KubeObject>): number {
    return this.#byNamespace.get(namespace)?.countBelow(ageOf(object)) ?? 0;
  }
}

export function isOlder(a: DeepReadonly<KubeObject>, b: DeepReadonly<KubeObject>): boolean {
  return ageOf(a) < ageOf(b);
}

/** Unique, and ordered by age; the key decides between objects of the same second. */
function ageOf(object: DeepReadonly<KubeObject>): string {
  return `${object.metadata.creationTimestamp ?? ''} ${keyOf(object)}`;
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

  countBelow(age: string): number {
    if (!this.#sorted) this.#ages.sort();
    this.#sorted = true;
    let [low, high] = [0, this.#ages.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#ages[middle] ?? '') < age) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
