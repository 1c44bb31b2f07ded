/**
 * Managed Domains that differ from what their Projects list. The change usually follows within a second, so judging
 * such a Domain at first would mislead. But anything may delay the change, so after a moment the spec in force counts.
 */
import type {Clock} from '../../time/clock.ts';

/** How long a change may take before the spec in force counts again. */
const GRACE_MS = 5_000;
/** When the status says so although no cause is known: in a backlog of thousands, it would only add writes. */
const LATE_MS = 60_000;

export class Outdated {
  readonly #clock: Clock;
  /** Since when each Domain has differed, by "namespace/host", on the monotonic clock. */
  readonly #sinceMs = new Map<string, number>();
  readonly #inForce = new Set<string>();
  readonly #handlers = new Set<(key: string) => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether the spec of a Domain counts although its Projects list something else. */
  isInForce(key: string): boolean {
    return this.#inForce.has(key);
  }

  /** Calls `handler` with each key for which the answer of `isInForce` changes. */
  subscribe(handler: (key: string) => void): void {
    this.#handlers.add(handler);
  }

  /**
   * The Domain differs now. Returns in how many milliseconds its spec counts. A pause holds back the change, so the
   * spec counts immediately; the change has its time once the pause ends.
   */
  differs(key: string, isPaused: boolean): number {
    const nowMs = this.#clock.monotonic();
    const sinceMs = isPaused ? nowMs : (this.#sinceMs.get(key) ?? nowMs);
    this.#sinceMs.set(key, sinceMs);
    const leftMs = isPaused ? 0 : Math.max(sinceMs + GRACE_MS - nowMs, 0);
    this.#set(key, leftMs === 0);
    return leftMs;
  }

  /** In how many milliseconds the change is late; 0: it is. */
  lateInMs(key: string): number {
    const nowMs = this.#clock.monotonic();
    return Math.max((this.#sinceMs.get(key) ?? nowMs) + LATE_MS - nowMs, 0);
  }

  /** The Domain is gone, or as its Projects list it. */
  forget(key: string): void {
    this.#sinceMs.delete(key);
    this.#set(key, false);
  }

  #set(key: string, isInForce: boolean): void {
    if (this.isInForce(key) === isInForce) return;
    if (isInForce) this.#inForce.add(key);
    else this.#inForce.delete(key);
    for (const handler of this.#handlers) handler(key);
  }
}
