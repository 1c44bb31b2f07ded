/** Items that were read are dropped so many at a time, because dropping them one by one would move all others. */
const COMPACT_AT = 1024;

/** A lane that has been read up to `head`. */
interface Lane<T> {
  readonly items: T[];
  head: number;
}

/** Items that wait in a lane of each owner. Owners take turns, one item each; within a lane the first comes first. */
export class Lanes<T> {
  /** In the order of their turns. None is empty. */
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

  /** Undefined when nothing waits. */
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
