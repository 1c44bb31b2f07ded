import type {Logger} from 'pino';
import type {Registry} from 'prom-client';
import {type BackoffPolicy, backoffMs} from '../backoff.ts';
import type {Clock} from '../clock.ts';
import {Deadline} from '../deadline.ts';
import type {KubeClient} from '../kube/client.ts';
import {ApiError, isConflict, isFenced} from '../kube/errors.ts';
import type {KubeObject, ResourceType} from '../kube/object.ts';
import type {Delta, ReadonlyStore, Store} from '../kube/store.ts';
import {type ControllerMetrics, controllerMetrics} from './metrics.ts';
import {type Outcome, retry} from './outcome.ts';
import {OwnWrites} from './own-writes.ts';
import {WorkQueue} from './queue.ts';

export interface ReconcileContext {
  /** Aborted at the reconcile's deadline, at the end of the shutdown grace, and when the lease is lost. */
  readonly signal: AbortSignal;
  /** Bears the controller's name and the key. */
  readonly logger: Logger;
  /**
   * Write through this client: what it wrote, the caches must show before this key is reconciled again
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
  /** Of each key by itself after failures; default 5 ms doubling to 5 minutes. */
  readonly backoff?: BackoffPolicy;
}

/** Which keys a change concerns. If it throws, that is logged and the change is lost to this controller. */
export type KeyMapper<T extends KubeObject> = (delta: Delta<T>) => Iterable<string>;

export interface Controller {
  readonly name: string;
  /** Reconcile the keys that `mapper` names whenever the store changes. The controller waits for the store to settle. */
  watch<T extends KubeObject>(store: ReadonlyStore<T>, mapper: KeyMapper<T>): Controller;
  /** Reconcile `key` soon, or in `afterMs`. Before the controller runs the key waits in the queue. */
  enqueue(key: string, options?: {readonly afterMs?: number; readonly lowPriority?: boolean}): void;
}

export interface ControllerEnvironment {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
  /** In [0, 1). */
  readonly random: () => number;
  /** The caches of a kind, for read-your-writes. */
  readonly storesOf: (resource: ResourceType) => Iterable<Store<KubeObject>>;
}

const WORKERS = 4;
const RECONCILE_TIMEOUT_MS = 60_000;
const BACKOFF: BackoffPolicy = {initialMs: 5, maxMs: 300_000, factor: 2, jitter: 0};
/** How long a worker waits for the caches to show our own writes before the key is put back. */
const VISIBLE_TIMEOUT_MS = 1_000;

/** The loop: takes a key, reconciles it, and does with the key what the outcome says. */
export class ReconcileLoop implements Controller {
  readonly name: string;
  readonly #options: ControllerOptions;
  readonly #environment: ControllerEnvironment;
  readonly #logger: Logger;
  readonly #metrics: ControllerMetrics;
  readonly #queue: WorkQueue;
  readonly #ownWrites: OwnWrites;
  readonly #sources: {readonly store: ReadonlyStore<KubeObject>; readonly subscribe: () => () => void}[] = [];
  readonly #failures = new Map<string, number>();
  /** Keys being worked on, and since when. */
  readonly #running = new Map<string, number>();

  constructor(options: ControllerOptions, environment: ControllerEnvironment) {
    this.name = options.name;
    this.#options = options;
    this.#environment = environment;
    this.#logger = environment.logger.child({controller: options.name});
    this.#metrics = controllerMetrics(environment.registry);
    this.#ownWrites = new OwnWrites(environment.storesOf);
    const label = {name: options.name};
    this.#queue = new WorkQueue(environment.clock, {
      depth: depth => this.#metrics.depth.set(label, depth),
      added: () => this.#metrics.adds.inc(label),
      waited: ms => this.#metrics.queueSeconds.observe(label, ms / 1000),
    });
  }

  watch<T extends KubeObject>(store: ReadonlyStore<T>, mapper: KeyMapper<T>): Controller {
    const subscribe = (): (() => void) =>
      store.subscribe(delta => {
        for (const key of mapper(delta)) this.#queue.add(key, {lowPriority: delta.initial});
      });
    this.#sources.push({store: store as unknown as ReadonlyStore<KubeObject>, subscribe});
    return this;
  }

  enqueue(key: string, options: {readonly afterMs?: number; readonly lowPriority?: boolean} = {}): void {
    const {afterMs = 0, lowPriority = false} = options;
    if (afterMs > 0) this.#queue.addAfter(key, afterMs);
    else this.#queue.add(key, {lowPriority});
  }

  /** The key that has been worked on for longer than its deadline allows and some more: it will never end. */
  stuck(): string | undefined {
    const {reconcileTimeoutMs = RECONCILE_TIMEOUT_MS} = this.#options;
    const limit = this.#environment.clock.monotonic() - 2 * reconcileTimeoutMs;
    for (const [key, since] of this.#running) if (since < limit) return key;
    return undefined;
  }

  /**
   * Works until `stop` aborts and the reconciles then running have ended. `abandon` tells these to end at once.
   * Call once.
   */
  async run(stop: AbortSignal, abandon: AbortSignal): Promise<void> {
    for (const {store} of this.#sources) await store.settled(stop).catch(() => undefined);
    if (stop.aborted) {
      this.#queue.close();
      return;
    }
    const unsubscribe = this.#sources.map(({subscribe}) => subscribe());
    stop.addEventListener('abort', () => this.#queue.close(), {once: true});
    const workers = this.#options.workers ?? WORKERS;
    this.#metrics.maxWorkers.set({controller: this.name}, workers);
    this.#logger.info({workers}, 'controller started');
    await Promise.all(Array.from({length: workers}, () => this.#work(abandon)));
    for (const end of unsubscribe) end();
  }

  async #work(abandon: AbortSignal): Promise<void> {
    for (let key = await this.#queue.take(); key !== undefined; key = await this.#queue.take()) {
      this.#running.set(key, this.#environment.clock.monotonic());
      this.#metrics.activeWorkers.set({controller: this.name}, this.#running.size);
      const outcome = await this.#reconcile(key, abandon);
      this.#running.delete(key);
      this.#metrics.activeWorkers.set({controller: this.name}, this.#running.size);
      if (!abandon.aborted) this.#settle(key, outcome);
      this.#queue.done(key);
    }
  }

  /** One reconcile, from start to outcome; never throws. */
  async #reconcile(key: string, abandon: AbortSignal): Promise<Outcome> {
    const {client, logger, reconcileTimeoutMs = RECONCILE_TIMEOUT_MS} = {...this.#environment, ...this.#options};
    const observe = this.#metrics.reconcileSeconds.startTimer({controller: this.name});
    using deadline = new Deadline(reconcileTimeoutMs, abandon);
    try {
      await this.#ownWrites.visible(key, VISIBLE_TIMEOUT_MS, deadline.signal);
      return await this.#options.reconcile(key, {
        signal: deadline.signal,
        logger: logger.child({controller: this.name, key}),
        client: client.recording(write => this.#ownWrites.record(key, write)),
        failures: this.#failures.get(key) ?? 0,
      });
    } catch (error) {
      // The kinds of error that a mistake in the program makes; everything else is thrown by those we call.
      if (error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError) {
        this.#metrics.panics.inc({controller: this.name});
      }
      return retry(error);
    } finally {
      observe();
    }
  }

  #settle(key: string, outcome: Outcome): void {
    const failures = outcome.kind === 'retry' ? (this.#failures.get(key) ?? 0) + 1 : 0;
    if (failures > 0) this.#failures.set(key, failures);
    else this.#failures.delete(key);
    switch (outcome.kind) {
      case 'done':
        this.#count('success');
        break;
      case 'after':
        this.#count('requeue_after');
        this.#queue.addAfter(key, outcome.ms);
        break;
      case 'retry':
        this.#count('error');
        this.#retry(key, outcome.error, failures);
        break;
      case 'terminal':
        this.#count('error');
        this.#metrics.terminalErrors.inc({controller: this.name});
        this.#logger.error({key, err: outcome.error}, 'reconcile failed; not tried again until something changes');
        break;
    }
  }

  #retry(key: string, error: unknown, failures: number): void {
    const asked = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
    const ms = Math.max(backoffMs(this.#options.backoff ?? BACKOFF, failures, this.#environment.random), asked);
    this.#metrics.errors.inc({controller: this.name});
    this.#metrics.retries.inc({name: this.name});
    // That somebody else wrote first is everyday life, and that we may not write any more is told by the election.
    const level = isConflict(error) || isFenced(error) ? 'debug' : 'warn';
    this.#logger[level]({key, err: error, failures, ms: Math.round(ms)}, 'reconcile failed; trying again');
    this.#queue.addAfter(key, ms);
  }

  #count(result: string): void {
    this.#metrics.reconciles.inc({controller: this.name, result});
  }
}
