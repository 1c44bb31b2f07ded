import {Heap} from './heap.ts';

interface Due {
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

/** Items by due time: it finds a due item without reading the others. */
export class DueHeap<T extends Due> {
  readonly #slots = new Heap<Slot<T>>((a, b) => a.dueAt < b.dueAt);
  /** The number of slots after dead ones were last removed. */
  #cleared = 0;

  /** Includes dead slots. */
  get size(): number {
    return this.#slots.size;
  }

  add(item: T): void {
    if (item.dueAt === Number.POSITIVE_INFINITY) return;
    if (this.size >= 2 * this.#cleared + SPARE) {
      // An item that is rescheduled repeatedly must not fill the heap.
      this.#slots.keep(isLive);
      this.#cleared = this.size;
    }
    this.#slots.add({item, dueAt: item.dueAt});
  }

  /** When the first item is due; infinity if there is none. */
  get nextDueAt(): number {
    const slots = this.#slots;
    while (slots.first !== undefined && !isLive(slots.first)) slots.removeFirst();
    return slots.first?.dueAt ?? Number.POSITIVE_INFINITY;
  }

  /** Removes and returns the earliest due item, if there is one. */
  take(now: number): T | undefined {
    return this.nextDueAt <= now ? this.#slots.removeFirst()?.item : undefined;
  }
}

function isLive({item, dueAt}: Slot<Due>): boolean {
  return item.dueAt === dueAt;
}
