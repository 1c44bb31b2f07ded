/**
 * Managed Domains that differ from what their Projects list. The change usually follows within a second, so judging
 * such a Domain at first would mislead. But anything may delay the change, so after a moment the spec in force counts.
 * Empty on a standby.
 */
import type {Reconcile} from '../../runtime/controller/controller.ts';
import {classifyFailure} from '../../runtime/kube/errors.ts';
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
  /** Why the API server refused the last change of each Domain, which may not exist yet and then has no conditions. */
  readonly #refusals = new Map<string, string>();
  readonly #handlers = new Set<(key: string) => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether the spec of a Domain counts although its Projects list something else. */
  isInForce(key: string): boolean {
    return this.#inForce.has(key);
  }

  /** Undefined if the API server did not refuse the last change. */
  refusalOf(key: string): string | undefined {
    return this.#refusals.get(key);
  }

  /** Calls `handler` with each key for which the answer of `isInForce` or `refusalOf` changes. */
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

  /** The same reconcile of managed Domains. An outage or a race says nothing about a key, so the last refusal stays. */
  observing(reconcile: Reconcile): Reconcile {
    return async (key, context) => {
      try {
        const outcome = await reconcile(key, context);
        this.#setRefusal(key, undefined);
        return outcome;
      } catch (error) {
        if (classifyFailure(error) === 'refusal') this.#setRefusal(key, (error as Error).message);
        throw error;
      }
    };
  }

  #setRefusal(key: string, message: string | undefined): void {
    if (this.refusalOf(key) === message) return;
    if (message === undefined) this.#refusals.delete(key);
    else this.#refusals.set(key, message);
    for (const handler of this.#handlers) handler(key);
  }

  #set(key: string, isInForce: boolean): void {
    if (this.isInForce(key) === isInForce) return;
    if (isInForce) this.#inForce.add(key);
    else this.#inForce.delete(key);
    for (const handler of this.#handlers) handler(key);
  }
}
