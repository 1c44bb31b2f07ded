/** Longer strings rarely occur twice. */
const MAX_LENGTH = 128;
/** Strings that are nested deeper are not replaced. */
const MAX_DEPTH = 32;

/**
 * Makes equal strings one string. `JSON.parse` creates a new string for every value, and in the objects of a cluster,
 * three quarters of them by size are repeated: kinds, reasons, namespaces, the names and uids in owner references.
 *
 * Keeps at most twice `size` strings, the most recent ones.
 */
export class StringPool {
  readonly #size: number;
  #recent = new Map<string, string>();
  #former = new Map<string, string>();

  constructor(size = 32_768) {
    this.#size = size;
  }

  /** Replaces the strings in a JSON value in place, and returns the value. */
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
