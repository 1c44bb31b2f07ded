/** Keeps one copy of each string that cached objects repeat, which saves much of the memory of a large cache. */
import {RecentMap} from '../../time/recent-map.ts';

/** V8 itself makes strings of up to this length one string when it parses JSON. */
const MIN_LENGTH = 9;
/** Longer strings rarely occur twice. */
const MAX_LENGTH = 256;
/** Strings that are nested deeper are not replaced. */
const MAX_DEPTH = 32;

/**
 * Makes equal strings one string. `JSON.parse` creates a new string for every value, and in the objects of a cluster,
 * three quarters of them by size are repeated: kinds, reasons, namespaces, the names and uids in owner references.
 *
 * Keeps at most twice `size` strings, the most recent ones.
 */
export class StringPool {
  readonly #strings: RecentMap<string>;

  constructor(size = 32_768) {
    this.#strings = new RecentMap(size);
  }

  /** Replaces the strings in a JSON value in place, and returns the value. */
  share<T>(value: T): T {
    return this.#share(value, MAX_DEPTH) as T;
  }

  /** The string that is equal to this one in all values. */
  one(text: string): string {
    if (text.length <= MIN_LENGTH || text.length > MAX_LENGTH) return text;
    const known = this.#strings.get(text);
    if (known !== undefined) return known;
    this.#strings.set(text, text);
    return text;
  }

  #share(value: unknown, depth: number): unknown {
    if (typeof value === 'string') return this.one(value);
    if (typeof value !== 'object' || value === null || depth === 0) return value;
    const fields = value as Record<string, unknown>; // an array's keys are its indexes
    for (const key of Object.keys(fields)) fields[key] = this.#share(fields[key], depth - 1);
    return value;
  }
}
