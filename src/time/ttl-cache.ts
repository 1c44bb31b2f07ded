import type {Clock} from './clock.ts';

/** Keeps each value for its own time, and at most `limit` values. Drops the oldest first. */
export class TtlCache<T> {
  readonly #clock: Clock;
  readonly #limit: number;
  readonly #entries = new Map<string, {readonly value: T; readonly expires: number}>();

  constructor(clock: Clock, limit: number) {
    this.#clock = clock;
    this.#limit = limit;
  }

  get(key: string): T | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (entry.expires > this.#clock.monotonic()) return entry.value;
    this.#entries.delete(key);
    return undefined;
  }

  set(key: string, value: T, ttlMs: number): void {
    this.#entries.delete(key);
    this.#entries.set(key, {value, expires: this.#clock.monotonic() + ttlMs});
    const oldest = this.#entries.keys().next();
    if (this.#entries.size > this.#limit && !oldest.done) this.#entries.delete(oldest.value);
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }
}
