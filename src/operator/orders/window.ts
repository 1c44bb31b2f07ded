/** Counts what happened within a time before now, by keys. Time only goes forward. */
export class SlidingWindow {
  readonly #lengthMs: number;
  /** In the order of time; those before `#first` have left the window. */
  readonly #entries: {readonly atMs: number; readonly keys: readonly string[]}[] = [];
  #first = 0;
  readonly #counts = new Map<string, number>();

  constructor(lengthMs: number) {
    this.#lengthMs = lengthMs;
  }

  /** Not earlier than what was added before. */
  add(atMs: number, keys: readonly string[]): void {
    this.#entries.push({atMs, keys});
    for (const key of keys) this.#counts.set(key, this.count(key) + 1);
  }

  advance(nowMs: number): void {
    for (let entry = this.#entries[this.#first]; entry; entry = this.#entries[++this.#first]) {
      if (entry.atMs > nowMs - this.#lengthMs) return;
      for (const key of entry.keys) this.#counts.set(key, this.count(key) - 1);
    }
  }

  count(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  /** When the oldest entry, or the oldest of a key, leaves the window; infinity where there is none. */
  nextExitMs(key?: string): number {
    for (let index = this.#first; index < this.#entries.length; index++) {
      const entry = this.#entries[index];
      if (entry && (key === undefined || entry.keys.includes(key))) return entry.atMs + this.#lengthMs;
    }
    return Number.POSITIVE_INFINITY;
  }
}
