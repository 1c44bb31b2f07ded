/** Keys that wait, each with a value: first come, first served. All steps take the same time in a long line. */
class Line<V> {
  readonly #waiting = new Map<string, V>();
  /**
   * Stands before the first key: all before it have been taken. A Map's iterator sees what is added later. A new one for
   * each key would be slow, since it has to step over the places of those already taken.
   */
  #front = this.#waiting.entries();

  get size(): number {
    return this.#waiting.size;
  }

  get(key: string): V | undefined {
    return this.#waiting.get(key);
  }

  add(key: string, value: V): void {
    this.#waiting.set(key, value);
  }

  remove(key: string): void {
    this.#waiting.delete(key);
  }

  takeFirst(): [string, V] | undefined {
    let first = this.#front.next();
    if (first.done) {
      this.#front = this.#waiting.entries();
      first = this.#front.next();
    }
    if (first.done) return undefined;
    this.#waiting.delete(first.value[0]);
    return first.value;
  }
}

/**
 * A line for each namespace, which take turns: a thousand keys of one hold up no other by more than one of them. Keys are
 * "namespace/name", all others share one line; each waits with a value.
 */
export class Lines<V extends {}> {
  /** Of the namespaces that have keys waiting, the one whose turn it is first. */
  readonly #lines = new Line<Line<V>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** How many wait in the line that the key has, or would have. */
  lengthFor(key: string): number {
    return this.#lineOf(key)?.size ?? 0;
  }

  has(key: string): boolean {
    return this.#lineOf(key)?.get(key) !== undefined;
  }

  /** A key that is not waiting yet. */
  add(key: string, value: V): void {
    let line = this.#lineOf(key);
    if (!line) {
      line = new Line();
      this.#lines.add(namespaceOf(key), line);
    }
    line.add(key, value);
    this.#size += 1;
  }

  /** Returns the value with which it waited; undefined when it did not. */
  remove(key: string): V | undefined {
    const line = this.#lineOf(key);
    const value = line?.get(key);
    if (!line || value === undefined) return undefined;
    line.remove(key);
    this.#size -= 1;
    if (line.size === 0) this.#lines.remove(namespaceOf(key));
    return value;
  }

  /** The first key of the namespace whose turn it is, and its value; undefined where none waits. */
  takeFirst(): [string, V] | undefined {
    const [namespace, line] = this.#lines.takeFirst() ?? [];
    const first = line?.takeFirst();
    if (namespace === undefined || !line || !first) return undefined;
    this.#size -= 1;
    if (line.size > 0) this.#lines.add(namespace, line);
    return first;
  }

  #lineOf(key: string): Line<V> | undefined {
    return this.#lines.get(namespaceOf(key));
  }
}

function namespaceOf(key: string): string {
  return key.slice(0, Math.max(key.indexOf('/'), 0));
}
