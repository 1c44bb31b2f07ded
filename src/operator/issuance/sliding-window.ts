/** Counts what happened within a fixed time before now, by key. Time only moves forward. */
export class SlidingWindow {
  readonly #lengthMs: number;
  /** In chronological order; entries before `#first` have left the window. */
  readonly #entries: {readonly atMs: number; readonly keys: readonly string[]}[] = [];
  #first = 0;
  readonly #counts = new Map<string, number>();
  /**
   * When the oldest entry of each key leaves, as of the last change: computed in one pass, because thousands may wait
   * for it.
   */
  #exits: ReadonlyMap<string, number> | undefined;

  constructor(lengthMs: number) {
    this.#lengthMs = lengthMs;
  }

  /** Times must not decrease from one call to the next. */
  add(atMs: number, keys: readonly string[]): void {
    this.#entries.push({atMs, keys});
    this.#exits = undefined;
    for (const key of keys) this.#counts.set(key, this.count(key) + 1);
  }

  /** Calls `onExit` with each key of each entry that leaves. */
  advance(nowMs: number, onExit: (key: string) => void = () => undefined): void {
    for (let entry = this.#entries[this.#first]; entry; entry = this.#entries[++this.#first]) {
      if (entry.atMs > nowMs - this.#lengthMs) return;
      for (const key of entry.keys) {
        this.#counts.set(key, this.count(key) - 1);
        onExit(key);
      }
      this.#exits = undefined;
    }
  }

  count(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  /** When the oldest entry, or the oldest of a key, leaves the window; infinity if there is none. */
  nextExitMs(key?: string): number {
    if (key === undefined) return (this.#entries[this.#first]?.atMs ?? Number.POSITIVE_INFINITY) + this.#lengthMs;
    this.#exits ??= this.#findExits();
    return this.#exits.get(key) ?? Number.POSITIVE_INFINITY;
  }

  #findExits(): Map<string, number> {
    const exits = new Map<string, number>();
    for (let index = this.#entries.length - 1; index >= this.#first; index--) {
      const entry = this.#entries[index];
      for (const key of entry?.keys ?? []) exits.set(key, (entry?.atMs ?? 0) + this.#lengthMs);
    }
    return exits;
  }
}
