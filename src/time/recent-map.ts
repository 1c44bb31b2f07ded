/** Keeps the most recent entries, at most twice `size`: for pools of what occurs often. */
export class RecentMap<V> {
  readonly #size: number;
  #recent = new Map<string, V>();
  #former = new Map<string, V>();

  constructor(size: number) {
    this.#size = size;
  }

  get(key: string): V | undefined {
    const recent = this.#recent.get(key);
    if (recent !== undefined) return recent;
    const former = this.#former.get(key);
    if (former !== undefined) this.set(key, former);
    return former;
  }

  set(key: string, value: V): void {
    if (this.#recent.size >= this.#size) {
      this.#former = this.#recent;
      this.#recent = new Map();
    }
    this.#recent.set(key, value);
  }
}
