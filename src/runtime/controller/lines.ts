/** Keys that wait, each with the time since when: first come, first served. All steps take the same time in a long line. */
class Line {
  readonly #since = new Map<string, number>();
  /**
   * Stands before the first key: all before it have been taken. A Map's iterator sees what is added later. A new one for
   * each key would be slow, since it has to step over the places of those already taken.
   */
  #front = this.#since.entries();

  get size(): number {
    return this.#since.size;
  }

  has(key: string): boolean {
    return this.#since.has(key);
  }

  add(key: string, since: number): void {
    this.#since.set(key, since);
  }

  /** Returns since when it waited. */
  remove(key: string): number | undefined {
    const since = this.#since.get(key);
    this.#since.delete(key);
    return since;
  }

  takeFirst(): [string, number] {
    let first = this.#front.next();
    if (first.done) {
      this.#front = this.#since.entries();
      first = this.#front.next();
    }
    if (first.done) throw new Error('the line is empty');
    this.#since.delete(first.value[0]);
    return first.value;
  }
}

/** A line for each namespace, which take turns: a thousand keys of one hold up no other by more than one of them. */
export class Lines {
  /** Of the namespaces that have keys waiting. */
  readonly #lines = new Map<string, Line>();
  readonly #turns = new Line();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  has(key: string): boolean {
    return this.#lines.get(namespaceOf(key))?.has(key) ?? false;
  }

  /** A key that is not waiting yet. */
  add(key: string, since: number): void {
    const namespace = namespaceOf(key);
    let line = this.#lines.get(namespace);
    if (!line) {
      line = new Line();
      this.#lines.set(namespace, line);
      this.#turns.add(namespace, since);
    }
    line.add(key, since);
    this.#size += 1;
  }

  /** Returns since when it waited; undefined when it did not. */
  remove(key: string): number | undefined {
    const namespace = namespaceOf(key);
    const line = this.#lines.get(namespace);
    const since = line?.remove(key);
    if (!line || since === undefined) return undefined;
    this.#size -= 1;
    if (line.size === 0) {
      this.#lines.delete(namespace);
      this.#turns.remove(namespace);
    }
    return since;
  }

  /** The first key of the namespace whose turn it is, and since when it waited. Throws where none waits. */
  takeFirst(): [string, number] {
    const [namespace, turn] = this.#turns.takeFirst();
    const line = this.#lines.get(namespace);
    if (!line) throw new Error(`no line for namespace ${namespace}`);
    const first = line.takeFirst();
    this.#size -= 1;
    if (line.size > 0) this.#turns.add(namespace, turn);
    else this.#lines.delete(namespace);
    return first;
  }
}

/** Of a key "namespace/name"; all others share one place. */
function namespaceOf(key: string): string {
  return key.slice(0, Math.max(key.indexOf('/'), 0));
}
