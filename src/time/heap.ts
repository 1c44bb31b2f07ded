/** A binary heap: finds the first item in an order without sorting the others. */
export class Heap<T> {
  readonly #isBefore: (a: T, b: T) => boolean;
  #items: T[] = [];

  constructor(isBefore: (a: T, b: T) => boolean) {
    this.#isBefore = isBefore;
  }

  get size(): number {
    return this.#items.length;
  }

  get first(): T | undefined {
    return this.#items[0];
  }

  add(item: T): void {
    const items = this.#items;
    let at = items.push(item) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = items[parent] as T;
      if (!this.#isBefore(item, above)) break;
      items[at] = above;
      at = parent;
    }
    items[at] = item;
  }

  removeFirst(): T | undefined {
    const items = this.#items;
    const [first] = items;
    const last = items.pop();
    if (last === undefined || items.length === 0) return first;
    let at = 0;
    for (let child = 1; child < items.length; child = 2 * at + 1) {
      const [left, right] = [items[child] as T, items[child + 1]];
      const least = right !== undefined && this.#isBefore(right, left) ? child + 1 : child;
      if (!this.#isBefore(items[least] as T, last)) break;
      items[at] = items[least] as T;
      at = least;
    }
    items[at] = last;
    return first;
  }

  /** Removes all other items. */
  keep(isKept: (item: T) => boolean): void {
    const kept = this.#items.filter(isKept);
    this.#items = [];
    for (const item of kept) this.add(item);
  }
}
