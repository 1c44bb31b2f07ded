import type {Logger} from 'pino';
import type {Registry} from 'prom-client';
import {type BackoffPolicy, retryDelayMs} from '../../time/backoff.ts';
import type {Clock} from '../../time/clock.ts';
import type {Selector, WatchEvent} from '../kube/calls.ts';
import type {KubeClient} from '../kube/client.ts';
import {ApiError, classifyFailure, isExpired, isForbidden, isInvalid, isNotFound} from '../kube/errors.ts';
import {type KubeMetrics, kubeMetrics} from '../kube/metrics.ts';
import {
  compareResourceVersions,
  type DeepReadonly,
  type KubeObject,
  keyOf,
  type ResourceType,
  resourceName,
} from '../kube/object.ts';
import {surelySelects} from '../kube/selector.ts';
import {Store} from './store.ts';
import type {StringPool} from './string-pool.ts';

export interface ReflectorOptions<T extends KubeObject> extends Selector {
  readonly client: KubeClient;
  readonly resource: ResourceType<T>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
  /** In [0, 1). Default: `Math.random`. */
  readonly random?: () => number;
  /** Drops what the cache does not need. The object must not be frozen. managedFields are always dropped. */
  readonly transform?: (object: T) => T;
  /** Whether to hold the object, after the transform. An object that is no longer held counts as deleted. */
  readonly holds?: (object: DeepReadonly<T>) => boolean;
  /** Shared by all reflectors of a program, because the same names occur in many kinds. */
  readonly strings?: StringPool;
  /** A watch lasts this long, or up to twice as long. Default: 5 minutes. */
  readonly watchTimeoutMs?: number;
  /**
   * A watch that receives nothing for this long is dead. Default: 150 s; bookmarks arrive every minute, or every other
   * one while the kind does not change.
   */
  readonly idleTimeoutMs?: number;
  /** Between attempts after failures. Default: 0.8 s, doubling up to 30 s. */
  readonly backoff?: BackoffPolicy;
}

/**
 * The next step.
 * - `sync`: get all objects, streamed if the server can (WatchList, KEP-3157), otherwise listed page by page.
 * - `watch`: continue from a resourceVersion. `suspect`, after a failure: the server may have been restored since.
 */
type State =
  | {readonly phase: 'sync'}
  | {readonly phase: 'watch'; readonly resourceVersion: string; readonly suspect: boolean};

/** The result of a step. Errors are data: a step does not throw. */
interface Step {
  readonly next: State;
  /** The step worked long enough or received something, so the backoff starts over. */
  readonly progressed: boolean;
  /** Wait before the next step. */
  readonly pause: boolean;
  readonly error?: unknown;
}

const SYNC: State = {phase: 'sync'};
const BACKOFF: BackoffPolicy = {initialMs: 800, maxMs: 30_000, factor: 2, jitter: 0.5};
/** We list a kind that is not installed at least this often. */
const MISSING_RETRY_MS = 10_000;
/** A watch that lasted this long counts as progress even if it received nothing. */
const LASTING_MS = 10_000;
/** A watch that the server ended sooner than this is not repeated immediately. */
const SHORT_MS = 1_000;

/**
 * Keeps a store equal to the server's objects of one kind. A state machine with two states and one step function, like
 * the watcher of kube-rs. Only its signal ends it.
 */
export class Reflector<T extends KubeObject> {
  readonly store: Store<T>;
  readonly #options: ReflectorOptions<T>;
  readonly #name: string;
  readonly #logger: Logger;
  readonly #metrics: KubeMetrics;
  readonly #random: () => number;
  /** Whether the server may support WatchList. */
  #streaming = true;
  #lostSince: number | undefined;
  /** When the server last said what the store shows, on the monotonic clock. */
  #heardAt: number;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#name = resourceName(options.resource);
    this.#logger = options.logger.child({resource: this.#name});
    this.#metrics = kubeMetrics(options.registry);
    this.#random = options.random ?? Math.random;
    this.#heardAt = options.clock.monotonic();
    this.#lostSince = this.#heardAt;
    this.#metrics.caches.push({
      resource: this.#name,
      selector: options.labelSelector ?? '',
      seconds: () => this.silentMs() / 1000,
      version: () => this.store.reached,
    });
    this.store = new Store<T>({
      onHandlerError: (err, key) =>
        this.#logger.error({err, key}, 'A subscriber or an index of the cache threw an error.'),
      covers: object => surelySelects(options, object),
    });
  }

  /**
   * Since when (monotonic milliseconds) the store may be behind the server: before it is first filled, and while no
   * watch is open. Undefined while a watch is open.
   */
  get lostSince(): number | undefined {
    return this.#lostSince;
  }

  /**
   * For how many milliseconds the server has said nothing, so that the store may be behind it: no event and no
   * bookmark, and it has opened no watch. For a kind that does not change, two minutes are normal.
   */
  silentMs(): number {
    return this.store.state === 'missing' ? 0 : this.#options.clock.monotonic() - this.#heardAt;
  }

  /** Runs until the signal aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    let state: State = SYNC;
    let failures = 0;
    while (!signal.aborted) {
      const step = await this.#step(state, signal);
      if (signal.aborted) return;
      this.#metrics.cacheObjects.set({resource: this.#name}, this.store.size);
      if (step.progressed) failures = 0;
      if (step.pause) await this.#pause(step, ++failures, signal);
      state = step.next;
    }
  }

  async #step(state: State, signal: AbortSignal): Promise<Step> {
    if (state.phase === 'watch') return await this.#watch(state, signal);
    const step = this.#streaming ? await this.#stream(signal) : await this.#list(signal);
    if (isNotFound(step.error)) this.#missing();
    return step;
  }

  /** Gets all objects with a watch that begins with them and continues as an ordinary watch. */
  async #stream(signal: AbortSignal): Promise<Step> {
    const step = await this.#follow(undefined, signal);
    if (!isInvalid(step.error)) return step;
    // The server is too old for it, or has it disabled: from now on, list page by page.
    this.#streaming = false;
    return {next: SYNC, progressed: false, pause: false};
  }

  async #list(signal: AbortSignal): Promise<Step> {
    const {client, resource} = this.#options;
    const objects = new Map<string, T>();
    let resourceVersion = '';
    try {
      for await (const page of client.list(resource, {...this.#selector(), signal})) {
        for (const object of page.items) this.#put(objects, object);
        resourceVersion = page.resourceVersion;
      }
    } catch (error) {
      this.#metrics.lists.inc({resource: this.#name, result: 'error'});
      return {next: SYNC, progressed: false, pause: true, error};
    }
    this.#replace(objects, resourceVersion);
    return {next: {phase: 'watch', resourceVersion, suspect: false}, progressed: false, pause: false};
  }

  async #watch(state: State & {phase: 'watch'}, signal: AbortSignal): Promise<Step> {
    if (!state.suspect) return await this.#follow(state.resourceVersion, signal);
    try {
      if (await this.#wentBack(state.resourceVersion, signal)) {
        this.#logger.warn(
          {resourceVersion: state.resourceVersion},
          'The server was restored to an earlier state; listing again.',
        );
        return {next: SYNC, progressed: false, pause: false};
      }
    } catch (error) {
      return {next: keepsPlace(error) ? state : SYNC, progressed: false, pause: true, error};
    }
    return await this.#follow(state.resourceVersion, signal);
  }

  /** Follows one watch to its end. Without a resourceVersion, it first collects all objects and replaces the store. */
  async #follow(from: string | undefined, signal: AbortSignal): Promise<Step> {
    const {client, resource, clock, watchTimeoutMs = 300_000, idleTimeoutMs = 150_000} = this.#options;
    const startedAt = clock.monotonic();
    const timeoutMs = watchTimeoutMs * (1 + this.#random());
    const found = (): void => {
      this.#lostSince = undefined;
      this.#heardAt = clock.monotonic();
    };
    const continued = from !== undefined && {resourceVersion: from, onOpen: found};
    const options = {...this.#selector(), timeoutMs, idleTimeoutMs, signal, ...continued};
    let resourceVersion = from;
    let collected = from === undefined ? new Map<string, T>() : undefined;
    let events = 0;
    let error: unknown;
    const onEvent = (event: WatchEvent<T>): void => {
      events += 1;
      if (!collected) {
        resourceVersion = this.#take(event);
      } else if (this.#collect(collected, event)) {
        resourceVersion = eventVersion(event);
        this.#replace(collected, resourceVersion);
        found();
        collected = undefined;
      }
    };
    try {
      await client.watch(resource, options, onEvent);
    } catch (cause) {
      error = cause;
    }
    this.#lostSince ??= clock.monotonic();
    const lastedMs = clock.monotonic() - startedAt;
    this.#metrics.watchEnds.inc({resource: this.#name, reason: endReason(error)});
    const progressed = collected === undefined && (events > 0 || lastedMs >= LASTING_MS);
    const pause = error !== undefined || lastedMs < SHORT_MS;
    const lost = resourceVersion === undefined || (error !== undefined && !keepsPlace(error));
    const next: State = lost ? SYNC : {phase: 'watch', resourceVersion: resourceVersion ?? '', suspect: pause};
    return {next, progressed, pause, ...(error !== undefined && {error})};
  }

  /** Applies one event to the store and returns the resourceVersion to continue from. */
  #take(event: WatchEvent<T>): string {
    const resourceVersion = eventVersion(event);
    this.#heardAt = this.#options.clock.monotonic();
    if (event.type === 'BOOKMARK') this.store.advance(resourceVersion);
    else if (event.type === 'DELETED') this.store.remove(this.#prepare(event.object));
    else this.#hold(this.#prepare(event.object));
    return resourceVersion;
  }

  #hold(object: T): void {
    if (this.#holds(object)) this.store.upsert(object);
    else this.store.release(object);
  }

  #holds(object: T): boolean {
    return this.#options.holds?.(object as DeepReadonly<T>) ?? true;
  }

  /** An API server restored from a backup would silently wait until it reaches the version that we continue from. */
  async #wentBack(resourceVersion: string, signal: AbortSignal): Promise<boolean> {
    const {client, resource} = this.#options;
    for await (const page of client.list(resource, {...this.#selector(), pageSize: 1, signal})) {
      const order = compareResourceVersions(page.resourceVersion, resourceVersion);
      return order !== undefined && order < 0;
    }
    return false;
  }

  #replace(objects: ReadonlyMap<string, T>, resourceVersion: string): void {
    this.#metrics.lists.inc({resource: this.#name, result: 'success'});
    if (this.store.state === 'missing') this.#logger.info('The kind is installed now.');
    this.store.replace(objects, resourceVersion);
    this.#logger.debug({objects: objects.size, resourceVersion}, 'cache filled');
  }

  #missing(): void {
    if (this.store.state !== 'missing') this.#logger.info('The kind is not installed.');
    this.store.markMissing();
  }

  /** Whether the event ends the initial objects. */
  #collect(objects: Map<string, T>, event: WatchEvent<T>): boolean {
    if (event.type === 'BOOKMARK') return event.initialEventsEnd;
    if (event.type === 'DELETED') objects.delete(this.#keyOf(event.object));
    else this.#put(objects, event.object);
    return false;
  }

  #put(objects: Map<string, T>, given: T): void {
    const object = this.#prepare(given);
    if (this.#holds(object)) objects.set(this.#keyOf(object), object);
    else objects.delete(this.#keyOf(object)); // it changed before the initial objects ended
  }

  /** Objects of several kinds often have the same key. */
  #keyOf(object: T): string {
    const key = keyOf(object as KubeObject);
    return this.#options.strings?.one(key) ?? key;
  }

  #prepare(given: T): T {
    // Not with `delete`, which turns the object into a dictionary that takes three times the memory.
    const {managedFields: _, ...metadata}: KubeObject['metadata'] & {managedFields?: unknown} = given.metadata;
    const object = this.#transformed({...given, metadata});
    return this.#options.strings?.share(object) ?? object;
  }

  #transformed(object: T): T {
    const {transform} = this.#options;
    if (!transform) return object;
    try {
      return transform(object);
    } catch (err) {
      this.#logger.error({err, key: keyOf(object as KubeObject)}, 'The transform failed; keeping the whole object.');
      return object;
    }
  }

  async #pause(step: Step, failures: number, signal: AbortSignal): Promise<void> {
    const {clock, backoff = BACKOFF} = this.#options;
    const missing = this.store.state === 'missing';
    const policy = missing ? {...backoff, maxMs: MISSING_RETRY_MS} : backoff;
    const asked = step.error instanceof ApiError ? step.error.retryAfterMs : undefined;
    const ms = Math.round(retryDelayMs(policy, failures, asked, this.#random));
    const level = missing || step.error === undefined ? 'debug' : 'warn';
    this.#logger[level]({err: step.error, failures, ms}, 'The cache lost its watch; retrying.');
    await clock.sleep(ms, signal).catch(() => undefined);
  }

  #selector(): Selector {
    const {namespace, labelSelector, fieldSelector, metadataOnly} = this.#options;
    return {namespace, labelSelector, fieldSelector, metadataOnly};
  }
}

/** Whether a watch can continue where it was: after an outage, and while rights are being fixed. */
function keepsPlace(error: unknown): boolean {
  return !isExpired(error) && (classifyFailure(error) === 'outage' || isForbidden(error));
}

function eventVersion<T extends KubeObject>(event: WatchEvent<T>): string {
  return event.type === 'BOOKMARK' ? event.resourceVersion : (event.object.metadata.resourceVersion ?? '');
}

function endReason(error: unknown): string {
  if (error === undefined) return 'server';
  return error instanceof ApiError ? error.reason || String(error.status) : 'transport';
}
