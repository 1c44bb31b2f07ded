/**
 * One lane of waiting items per owner. Owners are served in turn, one item each; each lane is first in, first out. Not a
 * FairQueue: with a Map of items that change with every request, V8 promotes three times as many of them (see app.ts).
 */
export class Turns<T> {
  /** In the order in which they are served. None is empty. */
  readonly #lanes = new Map<string, T[]>();
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(owner: string, item: T): void {
    const lane = this.#lanes.get(owner);
    if (lane) lane.push(item);
    else this.#lanes.set(owner, [item]);
    this.#length += 1;
  }

  /** Undefined if nothing is waiting. */
  shift(): T | undefined {
    for (const [owner, lane] of this.#lanes) {
      const item = lane.shift();
      this.#length -= 1;
      this.#lanes.delete(owner);
      if (lane.length > 0) this.#lanes.set(owner, lane);
      return item;
    }
    return undefined;
  }
}
