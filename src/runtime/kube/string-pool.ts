/** Longer ones hardly occur twice. */
const MAX_LENGTH = 128;
/** What is nested deeper is left as it is. */
const MAX_DEPTH = 32;

/**
 * Makes equal strings one string. `JSON.parse` makes a new one for every value, and of those in the objects of a cluster
 * three quarters by size have been there before: kinds, reasons, namespaces, the names and uids in owner references.
 *
 * Holds at most twice `size` strings, the ones met last.
 */
export class StringPool {
  readonly #size: number;
  #recent = new Map<string, string>();
  #former = new Map<string, string>();

  constructor(size = 32_768) {
    this.#size = size;
  }

  /** Replaces the strings in a value that came from JSON, in place, and returns it. */
  share<T>(value: T): T {
    return this.#share(value, MAX_DEPTH) as T;
  }

  #share(value: unknown, depth: number): unknown {
    if (typeof value === 'string') return value.length <= MAX_LENGTH ? this.#one(value) : value;
    if (typeof value !== 'object' || value === null || depth === 0) return value;
    const fields = value as Record<string, unknown>; // an array's keys are its indexes
    for (const key of Object.keys(fields)) fields[key] = this.#share(fields[key], depth - 1);
    return value;
  }

  #one(text: string): string {
    const recent = this.#recent.get(text);
    if (recent !== undefined) return recent;
    const one = this.#former.get(text) ?? text;
    if (this.#recent.size >= this.#size) {
      this.#former = this.#recent;
      this.#recent = new Map();
    }
    this.#recent.set(one, one);
    return one;
  }
}
