import {classifyFailure} from '../kube/errors.ts';
import type {Reconcile} from './controller.ts';

/** The last refusal of each key's writes, for the controller of another kind that must report it. Empty on a standby. */
export class Refusals {
  readonly #messages = new Map<string, string>();
  readonly #handlers = new Set<(key: string) => void>();

  /** Undefined if the API server did not refuse what the last reconcile of the key wrote. */
  get(key: string): string | undefined {
    return this.#messages.get(key);
  }

  /** Calls `handler` with each key for which the answer of `get` changes. */
  subscribe(handler: (key: string) => void): void {
    this.#handlers.add(handler);
  }

  /** The same reconcile. An outage or a race says nothing about a key, so the last refusal stays. */
  of(reconcile: Reconcile): Reconcile {
    return async (key, context) => {
      try {
        const outcome = await reconcile(key, context);
        this.#set(key, undefined);
        return outcome;
      } catch (error) {
        if (classifyFailure(error) === 'refusal') this.#set(key, (error as Error).message);
        throw error;
      }
    };
  }

  #set(key: string, message: string | undefined): void {
    if (this.get(key) === message) return;
    if (message === undefined) this.#messages.delete(key);
    else this.#messages.set(key, message);
    for (const handler of this.#handlers) handler(key);
  }
}
