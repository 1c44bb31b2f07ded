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

  takeFirst(): [string, V] | undefined {
    const first = this.#first();
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

/** A group that has keys, in the ring of groups. */
class Group<V> {
  readonly name: string;
  readonly keys = new Fifo<V>();
  next: Group<V> = this;
  previous: Group<V> = this;

  constructor(name: string) {
    this.name = name;
  }
}

/**
 * Keys with values, in groups that take turns: a thousand keys of one group delay a key of another group by one turn.
 * Within a group, the key that was added first is taken first.
 *
 * The groups are a ring. In the order of a Map, a turn would mean to remove a group and add it again, and V8 allocates
 * the tables that this takes in the old generation.
 */
export class FairQueue<V extends {}> {
  readonly #groups = new Map<string, Group<V>>();
  /** The next group. The one before it is the last. */
  #first: Group<V> | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The number of keys in the group. */
  sizeOf(group: string): number {
    return this.#groups.get(group)?.keys.size ?? 0;
  }

  has(group: string, key: string): boolean {
    return this.#groups.get(group)?.keys.get(key) !== undefined;
  }

  /** The queue must not have the key yet. */
  add(group: string, key: string, value: V): void {
    const {keys} = this.#groups.get(group) ?? this.#append(group);
    keys.add(key, value);
    this.#size += 1;
  }

  /** Returns the key's value, or undefined if the queue does not have the key. */
  remove(group: string, key: string): V | undefined {
    const found = this.#groups.get(group);
    const value = found?.keys.get(key);
    if (!found || value === undefined) return undefined;
    found.keys.remove(key);
    this.#size -= 1;
    if (found.keys.size === 0) this.#drop(found);
    return value;
  }

  /**
   * Takes the first key of the next group, with its value; undefined if there is none. A group that `mayTake` rejects
   * is skipped and keeps its place; the search then takes longer the more groups there are.
   */
  takeFirst(mayTake?: (group: string) => boolean): [string, V] | undefined {
    const group = this.#next(mayTake);
    const taken = group?.keys.takeFirst();
    if (!group || !taken) return undefined;
    this.#size -= 1;
    if (group.keys.size === 0) this.#drop(group);
    else if (group === this.#first) this.#first = group.next;
    else {
      this.#unlink(group);
      this.#link(group);
    }
    return taken;
  }

  #next(mayTake?: (group: string) => boolean): Group<V> | undefined {
    if (!mayTake) return this.#first;
    for (let group = this.#first; group; group = group.next === this.#first ? undefined : group.next) {
      if (mayTake(group.name)) return group;
    }
    return undefined;
  }

  #append(name: string): Group<V> {
    const group = new Group<V>(name);
    this.#groups.set(name, group);
    this.#link(group);
    return group;
  }

  #drop(group: Group<V>): void {
    this.#groups.delete(group.name);
    this.#unlink(group);
  }

  /** As the last. */
  #link(group: Group<V>): void {
    this.#first ??= group;
    const next = this.#first;
    group.next = next;
    group.previous = next === group ? group : next.previous;
    group.previous.next = group;
    next.previous = group;
  }

  #unlink(group: Group<V>): void {
    group.previous.next = group.next;
    group.next.previous = group.previous;
    if (this.#first === group) this.#first = group.next === group ? undefined : group.next;
  }
}
