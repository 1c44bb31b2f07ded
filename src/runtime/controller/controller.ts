import {setImmediate} from 'node:timers/promises';
import type {Logger} from 'pino';
import type {Registry} from 'prom-client';
import {Alarm} from '../../time/alarm.ts';
import {type BackoffPolicy, retryDelayMs} from '../../time/backoff.ts';
import type {Clock} from '../../time/clock.ts';
import {DeadlineError} from '../../time/deadline.ts';
import type {Delta, ReadonlyStore, Store} from '../cache/store.ts';
import type {KubeClient} from '../kube/client.ts';
import {ApiError, classifyFailure} from '../kube/errors.ts';
import {type DeepReadonly, type KubeObject, keyOf, type ResourceType} from '../kube/object.ts';
import {FailingKeys} from './failing-keys.ts';
import {type ControllerMetrics, controllerMetrics, queueLabels} from './metrics.ts';
import {after, type Outcome, RequeueError, retry} from './outcome.ts';
import {OwnWrites} from './own-writes.ts';
import {WorkQueue} from './queue.ts';

export interface ReconcileContext {
  /** Aborts at the reconcile's deadline, at the end of the shutdown grace, and when the lease is lost. */
  readonly signal: AbortSignal;
  /** Adds the controller's name and the key. Each access makes a new one. */
  readonly logger: Logger;
  /**
   * Write through this client: before this key is reconciled again, the caches must show what it wrote
   * (read-your-writes).
   */
  readonly client: KubeClient;
  /** Every attempt for this key has failed for five minutes (`reportFailuresAfterMs`). */
  readonly keepsFailing: boolean;
}

export type Reconcile = (key: string, context: ReconcileContext) => Promise<Outcome>;

export interface ControllerOptions {
  /** Lower-case, for logs and the `controller` label of the metrics. */
  readonly name: string;
  readonly reconcile: Reconcile;
  /** How many keys are reconciled at the same time, default 4. No key is reconciled twice at the same time. */
  readonly workers?: number;
  /** The deadline of one reconcile, default 60 000 ms. */
  readonly reconcileTimeoutMs?: number;
  /** For each key separately, after failures. Default: 5 ms, doubling up to 5 minutes, or to one after an outage. */
  readonly backoff?: BackoffPolicy;
}

/** The keys that a change concerns. If it throws, the error is logged and the controller misses the change. */
type KeyMapper<T extends KubeObject> = (delta: Delta<T>) => Iterable<string>;

export interface Controller {
  readonly name: string;
  /**
   * Reconciles the keys that `mapper` names when the store changes. The controller waits for the store to settle. The
   * first store is the one of the controller's own objects: they are also reconciled about every ten hours (`resyncMs`),
   * and more often if they are few.
   */
  watch<T extends KubeObject>(store: ReadonlyStore<T>, mapper: KeyMapper<T>): Controller;
  /** Reconciles `key` soon, or in `afterMs`. The key waits in the queue until the controller runs. */
  enqueue(key: string, options?: {readonly afterMs?: number; readonly lowPriority?: boolean}): void;
}

interface ControllerEnvironment {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
  /** In [0, 1). */
  readonly random: () => number;
  /** A key that has failed for this long is reported once. */
  readonly reportFailuresAfterMs: number;
  /** In about this time, every key of the first store is reconciled again, even if nothing changes. */
  readonly resyncMs: number;
  /** The caches of a kind, for read-your-writes. */
  readonly storesOf: (resource: ResourceType) => Iterable<Store<KubeObject>>;
}

const WORKERS = 4;
/**
 * Reconciles that change nothing wait for nothing either, so after a restart they follow one another without a turn of
 * the event loop. After this long, timers and sockets have their turn, above all the renewal of the lease.
 */
const MAX_TURN_MS = 20;
const RECONCILE_TIMEOUT_MS = 60_000;
const BACKOFF: BackoffPolicy = {initialMs: 5, maxMs: 300_000, factor: 2, jitter: 0.5};
/** After an outage, everything should work again soon. */
const MAX_OUTAGE_BACKOFF_MS = 60_000;
/** A store of fewer objects is looked at as often as one of so many, because it may grow meanwhile. */
const FEW = 100;
/** How long a worker waits for the caches to show our own writes before it requeues the key. */
const VISIBLE_TIMEOUT_MS = 1_000;

interface Source {
  readonly store: ReadonlyStore<KubeObject>;
  readonly subscribe: () => () => void;
  /** Reports the object as if it were new. */
  readonly repeat: (object: DeepReadonly<KubeObject>) => void;
}

interface Run {
  readonly key: string;
  readonly startedAt: number;
  /** Aborts it. */
  readonly controller: AbortController;
}

/** A class, because V8 puts a getter of an object literal into the old generation, a new one for each object. */
class Context implements ReconcileContext {
  readonly signal: AbortSignal;
  readonly client: KubeClient;
  readonly keepsFailing: boolean;
  readonly #bindings: {readonly controller: string; readonly key: string};
  readonly #logger: Logger;

  constructor(given: Omit<ReconcileContext, 'logger'>, logger: Logger, controller: string, key: string) {
    this.signal = given.signal;
    this.client = given.client;
    this.keepsFailing = given.keepsFailing;
    this.#logger = logger;
    this.#bindings = {controller, key};
  }

  get logger(): Logger {
    return this.#logger.child(this.#bindings); // Most reconciles log nothing.
  }
}

/** The loop: takes a key, reconciles it, and requeues it as the outcome says. */
export class ReconcileLoop implements Controller {
  readonly name: string;
  readonly #options: ControllerOptions;
  readonly #environment: ControllerEnvironment;
  readonly #logger: Logger;
  readonly #metrics: ControllerMetrics;
  readonly #queue: WorkQueue;
  readonly #ownWrites: OwnWrites;
  readonly #sources: Source[] = [];
  readonly #failing: FailingKeys;
  /**
   * The reconciles in progress, at most one for each worker. Not a Map: it would allocate a table in the old generation
   * again and again, because keys come and go.
   */
  readonly #running: Run[] = [];
  /**
   * Rings no later than the deadline of the oldest run. One timer for each run would mean setting and clearing thousands
   * after the program starts.
   */
  readonly #overdue: Alarm;

  constructor(options: ControllerOptions, environment: ControllerEnvironment) {
    this.name = options.name;
    this.#options = options;
    this.#environment = environment;
    this.#logger = environment.logger.child({controller: options.name});
    this.#metrics = controllerMetrics(environment.registry);
    this.#failing = new FailingKeys({
      ...{clock: environment.clock, logger: this.#logger, reportAfterMs: environment.reportFailuresAfterMs},
      gauge: (kind, count) => this.#metrics.failingKeys.set({controller: options.name, kind}, count),
    });
    this.#ownWrites = new OwnWrites(environment.storesOf);
    const label = queueLabels(options.name);
    this.#overdue = new Alarm(environment.clock, () => this.#abortOverdue());
    const secondsSince = (ms: number) => (environment.clock.monotonic() - ms) / 1000;
    this.#metrics.loads.set(options.name, () => ({
      depth: this.#queue.depth,
      runningSeconds: this.#running.map(({startedAt}) => secondsSince(startedAt)),
    }));
    this.#queue = new WorkQueue(environment.clock, {
      added: () => this.#metrics.adds.inc(label),
      waited: ms => this.#metrics.queueSeconds.observe(label, ms / 1000),
    });
  }

  watch<T extends KubeObject>(store: ReadonlyStore<T>, mapper: KeyMapper<T>): Controller {
    const take = (delta: Delta<T>) => {
      for (const key of mapper(delta)) this.#queue.add(key, {lowPriority: delta.initial});
    };
    this.#sources.push({
      store: store as unknown as ReadonlyStore<KubeObject>,
      subscribe: () => store.subscribe(take),
      repeat: object => take({type: 'added', object: object as DeepReadonly<T>, initial: true}),
    });
    return this;
  }

  enqueue(key: string, options: {readonly afterMs?: number; readonly lowPriority?: boolean} = {}): void {
    const {afterMs = 0, lowPriority = false} = options;
    if (afterMs > 0) this.#queue.addAfter(key, afterMs);
    else this.#queue.add(key, {lowPriority});
  }

  get #timeoutMs(): number {
    return this.#options.reconcileTimeoutMs ?? RECONCILE_TIMEOUT_MS;
  }

  /** Its keys that have failed for long, for people; undefined if there are none. */
  failing(): string | undefined {
    const counts = [...this.#failing.reported].filter(([, count]) => count > 0);
    if (counts.length === 0) return undefined;
    return `${this.name} ${counts.map(([kind, count]) => `${count} (${kind})`).join(' and ')}`;
  }

  /** A key whose reconcile has taken twice its deadline, so it will never end. */
  stuck(): string | undefined {
    const limit = this.#environment.clock.monotonic() - 2 * this.#timeoutMs;
    return this.#running.find(({startedAt}) => startedAt < limit)?.key;
  }

  /** Reconciles until `stop` aborts and the running reconciles have ended. `abandon` aborts those. Call once. */
  async run(stop: AbortSignal, abandon: AbortSignal): Promise<void> {
    for (const {store} of this.#sources) await store.settled(stop).catch(() => undefined);
    if (stop.aborted) {
      this.#queue.close();
      return;
    }
    stop.addEventListener('abort', () => this.#queue.close(), {once: true});
    const unsubscribe: (() => void)[] = [];
    for (const {subscribe} of this.#sources) {
      unsubscribe.push(subscribe());
      await setImmediate(); // each replays all its objects
    }
    const workers = this.#options.workers ?? WORKERS;
    this.#metrics.maxWorkers.set({controller: this.name}, workers);
    this.#logger.info({workers}, 'The controller started.');
    void this.#resync(stop);
    abandon.addEventListener('abort', () => this.#abortAll(abandon.reason), {once: true});
    await Promise.all(Array.from({length: workers}, () => this.#work(abandon)));
    this.#overdue.cancel();
    for (const end of unsubscribe) end();
  }

  /**
   * Repeats the objects of the first store one by one, at random intervals, as if they were new, so that anything lost
   * by a mistake is eventually found. A round does not wait for objects added since it began, so a tenant that keeps
   * adding some cannot make it endless. Never rejects.
   */
  async #resync(stop: AbortSignal): Promise<void> {
    const {clock, resyncMs, random, logger} = this.#environment;
    const [source] = this.#sources;
    let round: Iterator<DeepReadonly<KubeObject>> | undefined;
    let left = 0;
    while (source) {
      const {store, repeat} = source;
      const pauseMs = resyncMs / Math.max(store.size, FEW);
      await clock.sleep(pauseMs * (0.5 + random()), stop).catch(() => undefined);
      if (stop.aborted) return;
      if (!round || left === 0) [round, left] = [store.list()[Symbol.iterator](), store.size];
      const {value: object} = round.next(); // skips deleted objects; added ones come last
      left = object ? left - 1 : 0;
      try {
        if (object) repeat(object);
      } catch (err) {
        logger.error({err, key: keyOf(object)}, 'A key mapper threw an error.');
      }
    }
  }

  async #work(abandon: AbortSignal): Promise<void> {
    let yieldedAt = performance.now();
    for (let key = await this.#queue.take(); key !== undefined; key = await this.#queue.take()) {
      const run = {key, startedAt: this.#environment.clock.monotonic(), controller: new AbortController()};
      this.#running.push(run);
      this.#overdue.set(run.startedAt + this.#timeoutMs);
      if (abandon.aborted) run.controller.abort(abandon.reason);
      this.#metrics.cpu.begin(this.name);
      const outcome = await this.#reconcile(key, run.controller.signal);
      this.#running.splice(this.#running.indexOf(run), 1);
      this.#metrics.cpu.end(this.name);
      const seconds = (this.#environment.clock.monotonic() - run.startedAt) / 1000;
      this.#metrics.reconcileSeconds.observe({controller: this.name}, seconds);
      this.#metrics.workSeconds.observe(queueLabels(this.name), seconds);
      if (!abandon.aborted) this.#settle(key, outcome);
      this.#queue.done(key);
      if (performance.now() - yieldedAt < MAX_TURN_MS) continue;
      await setImmediate();
      yieldedAt = performance.now();
    }
  }

  /** One reconcile, from start to outcome. Never throws. */
  async #reconcile(key: string, signal: AbortSignal): Promise<Outcome> {
    const {name} = this;
    const {client, logger} = this.#environment;
    try {
      if (this.#ownWrites.has(key)) await this.#ownWrites.visible(key, VISIBLE_TIMEOUT_MS, signal);
      const given = {
        signal,
        client: client.recording(write => this.#ownWrites.record(key, write)),
        keepsFailing: this.#failing.keepsFailing(key),
      };
      return await this.#options.reconcile(key, new Context(given, logger, name, key));
    } catch (error) {
      if (error instanceof RequeueError) return after(error.ms);
      // These types mean a mistake in the program. All other errors come from what we call.
      if (error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError) {
        this.#metrics.panics.inc({controller: this.name});
      }
      return retry(error);
    }
  }

  #abortOverdue(): void {
    const now = this.#environment.clock.monotonic();
    for (const {startedAt, controller} of this.#running) {
      const dueAt = startedAt + this.#timeoutMs;
      if (dueAt <= now) controller.abort(new DeadlineError(this.#timeoutMs));
      else this.#overdue.set(dueAt);
    }
  }

  #abortAll(reason: unknown): void {
    for (const {controller} of this.#running) controller.abort(reason);
  }

  #settle(key: string, outcome: Outcome): void {
    if (outcome.kind !== 'retry') this.#failing.forget(key);
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
        this.#retry(key, outcome.error);
        break;
    }
  }

  #retry(key: string, error: unknown): void {
    const kind = classifyFailure(error);
    const failures = this.#failing.add(key, kind, error);
    const {backoff = BACKOFF} = this.#options;
    const policy = kind === 'outage' ? {...backoff, maxMs: Math.min(backoff.maxMs, MAX_OUTAGE_BACKOFF_MS)} : backoff;
    const asked = error instanceof ApiError ? error.retryAfterMs : undefined;
    const ms = retryDelayMs(policy, failures, asked, this.#environment.random);
    this.#metrics.errors.inc({controller: this.name});
    this.#metrics.retries.inc(queueLabels(this.name));
    // A race is normal, an outage fails every key, and leader election logs that we may no longer write.
    const level = kind === 'refusal' || kind === 'unknown' ? 'warn' : 'debug';
    this.#logger[level]({key, err: error, failures, ms: Math.round(ms)}, 'The reconcile failed; retrying.');
    this.#queue.addAfter(key, ms);
  }

  #count(result: string): void {
    this.#metrics.reconciles.inc({controller: this.name, result});
  }
}
