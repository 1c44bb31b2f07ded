/**
 * Counts the objects of a namespace that are older than a given one, and finds the oldest, without reading them all: a
 * tenant may create any number.
 */
import type {ReadonlyStore} from '../../runtime/cache/store.ts';
import {type DeepReadonly, type KubeObject, keyOf} from '../../runtime/kube/object.ts';

export class AgeRanks {
  readonly #byNamespace = new Map<string, SortedAges>();

  add(object: DeepReadonly<KubeObject>): void {
    const {namespace = ''} = object.metadata;
    const ages = this.#byNamespace.get(namespace) ?? new SortedAges();
    this.#byNamespace.set(namespace, ages);
    ages.add(object);
  }

  remove(object: DeepReadonly<KubeObject>): void {
    const {namespace = ''} = object.metadata;
    const ages = this.#byNamespace.get(namespace);
    ages?.remove(object);
    if (ages?.length === 0) this.#byNamespace.delete(namespace);
  }

  /** Stores the same object in a newer version. Otherwise, the former one would stay in memory. */
  replace(object: DeepReadonly<KubeObject>): void {
    this.#byNamespace.get(object.metadata.namespace ?? '')?.replace(object);
  }

  count(namespaces: readonly string[]): number {
    return namespaces.reduce((sum, namespace) => sum + (this.#byNamespace.get(namespace)?.length ?? 0), 0);
  }

  /** The keys of the oldest in all these namespaces together, or of those of them that are meant. */
  oldest(
    namespaces: readonly string[],
    count: number,
    isMeant: (object: DeepReadonly<KubeObject>) => boolean = () => true,
  ): string[] {
    const ages = namespaces.flatMap(namespace => this.#byNamespace.get(namespace)?.first(count, isMeant) ?? []);
    return ages
      .sort(compareAges)
      .slice(0, count)
      .map(object => keyOf(object));
  }

  /** How many objects in the namespace are older than this one, which may be in another namespace. */
  countOlder(namespace: string, object: DeepReadonly<KubeObject>): number {
    return this.#byNamespace.get(namespace)?.countBelow(object) ?? 0;
  }
}

/**
 * The ages of a store's objects, or of the selected ones. Call it before any controller subscribes, so that it is up to
 * date when the controllers are called.
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
    if (is && was) ages.replace(object);
  });
  return ages;
}

export function isOlder(a: DeepReadonly<KubeObject>, b: DeepReadonly<KubeObject>): boolean {
  return compareAges(a, b) < 0;
}

/** The key decides between objects of the same second. */
function compareAges(a: DeepReadonly<KubeObject>, b: DeepReadonly<KubeObject>): number {
  const [aMade = '', bMade = ''] = [a.metadata.creationTimestamp, b.metadata.creationTimestamp];
  return compareTexts(aMade, bMade) || compareTexts(keyOf(a), keyOf(b));
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Sorted when it is read, so that a long list costs one sort. New objects mostly come last, and need no sort. */
class SortedAges {
  readonly #objects: DeepReadonly<KubeObject>[] = [];
  #sorted = true;

  get length(): number {
    return this.#objects.length;
  }

  add(object: DeepReadonly<KubeObject>): void {
    const last = this.#objects.at(-1);
    if (last && isOlder(object, last)) this.#sorted = false;
    this.#objects.push(object);
  }

  remove(object: DeepReadonly<KubeObject>): void {
    const at = this.#find(object);
    if (at !== undefined) this.#objects.splice(at, 1);
  }

  replace(object: DeepReadonly<KubeObject>): void {
    const at = this.#find(object);
    if (at !== undefined) this.#objects[at] = object;
  }

  first(count: number, isMeant: (object: DeepReadonly<KubeObject>) => boolean): DeepReadonly<KubeObject>[] {
    this.#sort();
    return this.#objects.values().filter(isMeant).take(count).toArray();
  }

  countBelow(object: DeepReadonly<KubeObject>): number {
    this.#sort();
    let [low, high] = [0, this.#objects.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const other = this.#objects[middle];
      if (other && isOlder(other, object)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #find(object: DeepReadonly<KubeObject>): number | undefined {
    const at = this.countBelow(object);
    const found = this.#objects[at];
    return found && compareAges(found, object) === 0 ? at : undefined;
  }

  #sort(): void {
    if (!this.#sorted) this.#objects.sort(compareAges);
    this.#sorted = true;
  }
}
