export interface Due {
  /** When it is due; infinite: never. After it changes, call `add` again. */
  readonly dueAt: number;
}

interface Slot<T> {
  readonly item: T;
  /** The item's time when it was added. The slot is dead once the item has another time. */
  readonly dueAt: number;
}

/** The heap may have this many dead slots, in addition to one for each live slot. */
const SPARE = 64;

/** Items by due time, in a binary heap: it finds a due item without reading the others. */
export class DueHeap<T extends Due> {
  #slots: Slot<T>[] = [];
  /** The number of slots after dead ones were last removed. */
  #cleared = 0;

  /** Includes dead slots. */
  get size(): number {
    return this.#slots.length;
  }

  add(item: T): void {
    if (item.dueAt === Number.POSITIVE_INFINITY) return;
    if (this.#slots.length >= 2 * this.#cleared + SPARE) this.#clear();
    this.#push({item, dueAt: item.dueAt});
  }

  /** When the first item is due; infinity if there is none. */
  get nextDueAt(): number {
    for (let top = this.#slots[0]; top && top.item.dueAt !== top.dueAt; top = this.#slots[0]) this.#pop();
    return this.#slots[0]?.dueAt ?? Number.POSITIVE_INFINITY;
  }

  /** Removes and returns the earliest due item, if there is one. */
  take(now: number): T | undefined {
    return this.nextDueAt <= now ? this.#pop() : undefined;
  }

  /** An item that is rescheduled repeatedly must not fill the heap. */
  #clear(): void {
    const living = this.#slots.filter(({item, dueAt}) => item.dueAt === dueAt);
    this.#cleared = living.length;
    this.#slots = [];
    for (const slot of living) this.#push(slot);
  }

  #push(slot: Slot<T>): void {
    const slots = this.#slots;
    let at = slots.push(slot) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = slots[parent];
      if (above === undefined || above.dueAt <= slot.dueAt) break;
      slots[at] = above;
      at = parent;
    }
    slots[at] = slot;
  }

  #pop(): T | undefined {
    const slots = this.#slots;
    const [top] = slots;
    const last = slots.pop();
    if (last !== undefined && slots.length > 0) this.#sink(last);
    return top?.item;
  }

  /** Puts the slot at the top and sinks it to its position. */
  #sink(slot: Slot<T>): void {
    const slots = this.#slots;
    let at = 0;
    for (;;) {
      const [left, right] = [slots[2 * at + 1], slots[2 * at + 2]];
      const isRight = left !== undefined && right !== undefined && right.dueAt < left.dueAt;
      const least = isRight ? right : left;
      if (least === undefined || least.dueAt >= slot.dueAt) break;
      slots[at] = least;
      at = 2 * at + (isRight ? 2 : 1);
    }
    slots[at] = slot;
  }
}
