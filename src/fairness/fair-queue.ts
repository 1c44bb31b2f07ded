/** Keys with values, in order of arrival. Every operation takes the same time, no matter how many keys wait. */
class Fifo<V> {
  readonly #waiting = new Map<string, V>();
  /**
   * Points before the first key. A Map's iterator sees keys that are added later. A new iterator for each key would be
   * slow, because it steps over the places of all removed keys.
   */
  #front: MapIterator<[string, V]> | undefined;

  get size(): number {
    return this.#waiting.size;
  }

  get(key: string): V | undefined {
    return this.#waiting.get(key);
  }

  add(key: string, value: V): void {
    this.#waiting.set(key, value);
  }

  remove(key: string): void {
    this.#waiting.delete(key);
  }

  takeFirst(mayTake?: (key: string) => boolean): [string, V] | undefined {
    const first = mayTake ? this.#waiting.entries().find(([key]) => mayTake(key)) : this.#first();
    if (first) this.#waiting.delete(first[0]);
    return first;
  }

  #first(): [string, V] | undefined {
    let first = this.#front?.next();
    if (!first || first.done) {
      this.#front = this.#waiting.entries();
      first = this.#front.next();
    }
    return first.done ? undefined : first.value;
  }
}

/**
 * Whether one of many may have `own`, if that leaves this much to all others: at most `times` as much. So nobody takes
 * everything, and the first one that comes later finds something (dynamic thresholds: Choudhury and Hahne, IEEE/ACM
 * Transactions on Networking 6(2), 1998).
 */
export function isFairShare(own: number, left: number, times = 1): boolean {
  return own <= times * left;
}

/**
 * Keys with values, in groups that take turns: a thousand keys of one group delay a key of another group by one turn.
 * Within a group, the key that was added first is taken first.
 */
export class FairQueue<V extends {}> {
  /** The groups that have keys. The first one is next. */
  readonly #groups = new Fifo<Fifo<V>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The number of keys in the group. */
  sizeOf(group: string): number {
    return this.#groups.get(group)?.size ?? 0;
  }

  has(group: string, key: string): boolean {
    return this.#groups.get(group)?.get(key) !== undefined;
  }

  /** The queue must not have the key yet. */
  add(group: string, key: string, value: V): void {
    let keys = this.#groups.get(group);
    if (!keys) {
      keys = new Fifo();
      this.#groups.add(group, keys);
    }
    keys.add(key, value);
    this.#size += 1;
  }

  /** Returns the key's value, or undefined if the queue does not have the key. */
  remove(group: string, key: string): V | undefined {
    const keys = this.#groups.get(group);
    const value = keys?.get(key);
    if (!keys || value === undefined) return undefined;
    keys.remove(key);
    this.#size -= 1;
    if (keys.size === 0) this.#groups.remove(group);
    return value;
  }

  /**
   * Takes the first key of the next group, with its value; undefined if there is none. A group that `mayTake` rejects
   * is skipped and keeps its place; the search then takes longer the more groups there are.
   */
  takeFirst(mayTake?: (group: string) => boolean): [string, V] | undefined {
    const [group, keys] = this.#groups.takeFirst(mayTake) ?? [];
    const first = keys?.takeFirst();
    if (group === undefined || !keys || !first) return undefined;
    this.#size -= 1;
    if (keys.size > 0) this.#groups.add(group, keys);
    return first;
  }
}
