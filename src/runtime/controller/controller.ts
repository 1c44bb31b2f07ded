import type {Logger} from 'pino';
import type {KubeClient} from '../kube/client.ts';
import type {KubeObject} from '../kube/object.ts';
import type {Delta, ReadonlyStore} from '../kube/store.ts';
import type {Outcome} from './outcome.ts';

export interface ReconcileContext {
  /** Aborted at the reconcile's deadline and at the end of the shutdown grace. */
  readonly signal: AbortSignal;
  /** Bears the controller's name and the key. */
  readonly logger: Logger;
  /**
   * Write through this client: what it wrote, the caches must have seen before this key is reconciled again
   * (read-your-writes).
   */
  readonly client: KubeClient;
  /** How many times in a row this key has failed before; 0 the first time. */
  readonly failures: number;
}

export type Reconcile = (key: string, context: ReconcileContext) => Promise<Outcome>;

export interface ControllerOptions {
  /** Lower-case, for logs and the `controller` label of the metrics. */
  readonly name: string;
  readonly reconcile: Reconcile;
  /** How many keys are worked on at once, default 4. One key is never worked on twice at once. */
  readonly workers?: number;
  /** Deadline of one reconcile, default 60 000 ms. */
  readonly reconcileTimeoutMs?: number;
}

/** Which keys a change concerns. Must not throw; if it does, it is logged and the change is lost to this controller. */
export type KeyMapper<T extends KubeObject> = (delta: Delta<T>) => Iterable<string>;

export interface Controller {
  readonly name: string;
  /** Reconcile the keys that `mapper` names whenever the store changes. The controller waits for the store to settle. */
  watch<T extends KubeObject>(store: ReadonlyStore<T>, mapper: KeyMapper<T>): Controller;
  /** Reconcile `key` soon, or in `afterMs`. Before the controller runs the key waits in the queue. */
  enqueue(key: string, options?: {readonly afterMs?: number; readonly lowPriority?: boolean}): void;
}
