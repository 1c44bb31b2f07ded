/** Takes waiting items of many owners in turn. */

/** Read items are dropped in batches of this size, because dropping each one would move all others. */
const COMPACT_AT = 1024;

/** A lane, read up to `head`. */
interface Lane<T> {
  readonly items: T[];
  head: number;
}

/** One lane of waiting items per owner. Owners are served in turn, one item each; each lane is first in, first out. */
export class Turns<T> {
  /** In the order in which they are served. None is empty. */
  readonly #lanes = new Map<string, Lane<T>>();
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(owner: string, item: T): void {
    const lane = this.#lanes.get(owner);
    if (lane) lane.items.push(item);
    else this.#lanes.set(owner, {items: [item], head: 0});
    this.#length += 1;
  }

  /** Undefined if nothing is waiting. */
  shift(): T | undefined {
    for (const [owner, lane] of this.#lanes) {
      const item = lane.items[lane.head++];
      this.#length -= 1;
      this.#endTurn(owner, lane);
      return item;
    }
    return undefined;
  }

  #endTurn(owner: string, lane: Lane<T>): void {
    const isEmpty = lane.head === lane.items.length;
    if (this.#lanes.size > 1 || isEmpty) this.#lanes.delete(owner);
    if (isEmpty) return;
    this.#lanes.set(owner, lane.head < COMPACT_AT ? lane : {items: lane.items.slice(lane.head), head: 0});
  }
}
