interface Entry {
  readonly key: string;
  readonly dueAt: number;
}

/** Keys that wait for their time. A key has one time, the earliest that it was given. A binary heap, earliest first. */
export class DelayHeap {
  readonly #entries: Entry[] = [];
  readonly #dueAt = new Map<string, number>();

  get size(): number {
    return this.#dueAt.size;
  }

  /** When the earliest key is due. */
  get nextDueAt(): number | undefined {
    this.#skipSuperseded();
    return this.#entries[0]?.dueAt;
  }

  add(key: string, dueAt: number): void {
    const present = this.#dueAt.get(key);
    if (present !== undefined && present <= dueAt) return;
    this.#dueAt.set(key, dueAt);
    this.#entries.push({key, dueAt});
    this.#siftUp(this.#entries.length - 1);
  }

  /** Takes out the keys that are due. */
  takeDue(now: number): string[] {
    const keys: string[] = [];
    for (let dueAt = this.nextDueAt; dueAt !== undefined && dueAt <= now; dueAt = this.nextDueAt) {
      const {key} = this.#pop();
      this.#dueAt.delete(key);
      keys.push(key);
    }
    return keys;
  }

  /** An entry whose key was given an earlier time since is dead; it stays in the heap until it comes to the top. */
  #skipSuperseded(): void {
    for (let top = this.#entries[0]; top && this.#dueAt.get(top.key) !== top.dueAt; top = this.#entries[0]) this.#pop();
  }

  #pop(): Entry {
    const top = this.#at(0);
    const last = this.#entries.pop();
    if (last && this.#entries.length > 0) {
      this.#entries[0] = last;
      this.#siftDown(0);
    }
    return top;
  }

  #siftUp(start: number): void {
    for (let child = start; child > 0; ) {
      const parent = (child - 1) >> 1;
      if (this.#at(parent).dueAt <= this.#at(child).dueAt) return;
      this.#swap(parent, child);
      child = parent;
    }
  }

  #siftDown(start: number): void {
    for (let parent = start; ; ) {
      const left = 2 * parent + 1;
      let least = parent;
      for (const child of [left, left + 1]) {
        if (child < this.#entries.length && this.#at(child).dueAt < this.#at(least).dueAt) least = child;
      }
      if (least === parent) return;
      this.#swap(parent, least);
      parent = least;
    }
  }

  #swap(a: number, b: number): void {
    const entry = this.#at(a);
    this.#entries[a] = this.#at(b);
    this.#entries[b] = entry;
  }

  #at(index: number): Entry {
    const entry = this.#entries[index];
    if (!entry) throw new RangeError(`the heap has no entry ${index}`);
    return entry;
  }
}
