import {randomUUID} from 'node:crypto';
import {once} from 'node:events';
import type {Logger} from 'pino';
import type {Registry} from 'prom-client';
import type {Clock} from '../../time/clock.ts';
import {Reflector} from '../cache/reflector.ts';
import type {ReadonlyStore, Store} from '../cache/store.ts';
import {StringPool} from '../cache/string-pool.ts';
import type {Selector} from '../kube/calls.ts';
import type {KubeClient} from '../kube/client.ts';
import {createEventRecorder, type EventRecorder} from '../kube/events.ts';
import {type LeaderElectionOptions, LeaderElector} from '../kube/leader-election.ts';
import {type DeepReadonly, type KubeObject, type ResourceType, resourceName} from '../kube/object.ts';
import {type Controller, type ControllerOptions, ReconcileLoop} from './controller.ts';

export interface ManagerOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
  /** The lease's holder and the events' reporting instance. Unique to this process, usually the pod's name. */
  readonly identity: string;
  /** For example "nameplate.dev/operator". */
  readonly reportingController: string;
  /** Absent: this process always leads (a single replica, tests). */
  readonly leaderElection?: LeaderElectionOptions;
  /** How long running reconciles may take to end at shutdown, default 10 000 ms. */
  readonly shutdownGraceMs?: number;
  /**
   * A leader that gets no response for this long, except about its lease, ends. A cache that has no watch, and has heard
   * nothing for this long, is not ready. Default 120 000 ms.
   */
  readonly maxSilenceMs?: number;
  /** A key whose reconciles have failed for this long is reported in the log and in a metric. Default 300 000 ms. */
  readonly reportFailuresAfterMs?: number;
  /** In about this time, each controller reconciles all its objects again. Default 36 000 000 ms (ten hours). */
  readonly resyncMs?: number;
  /** In [0, 1). Default: `Math.random`. */
  readonly random?: () => number;
}

export interface CacheOptions<T extends KubeObject> extends Selector {
  /** Drops what the cache does not need. The object must not be frozen. managedFields are always dropped. */
  readonly transform?: (object: T) => T;
  /** Whether to hold the object, after the transform. An object that is no longer held counts as deleted. */
  readonly holds?: (object: DeepReadonly<T>) => boolean;
}

/** Runs only while this process leads, once all caches have settled. */
export interface Runnable {
  readonly name: string;
  /** Resolves when it is done or the signal aborts. A rejection ends the manager. */
  run(signal: AbortSignal): Promise<void>;
}

interface ManagerCheck {
  readonly name: string;
  readonly ok: boolean;
  readonly message: string;
}

export interface Health {
  /** All caches have settled, and none may be far behind the server. A standby can be ready too. */
  readonly ready: boolean;
  /** No reconcile is stuck past its deadline, and if this process leads, it renews its lease. */
  readonly live: boolean;
  readonly leader: boolean;
  readonly checks: readonly ManagerCheck[];
}

/** Why `start` returned: the signal aborted, the lease is lost and the process must exit, or a runnable failed. */
export type ManagerEnd =
  | {readonly reason: 'shutdown'}
  | {readonly reason: 'lease-lost'}
  | {readonly reason: 'failed'; readonly error: unknown};

/**
 * Holds a program together: add caches, controllers, and runnables, then start it.
 *
 * Caches start on every replica (a warm standby). Controllers and runnables run while this process leads, once all
 * caches have settled. When the signal aborts, running reconciles end within the grace, then the lease is
 * released. When the lease is lost, all writes are rejected immediately, and reconciles are aborted. A leader that the
 * API server does not answer gives up its lease and ends, because another replica may be better connected.
 */
export interface Manager {
  readonly events: EventRecorder;
  /** A cache of one kind. Each call opens its own watch: call it once per kind and pass the store around. */
  cache<T extends KubeObject>(resource: ResourceType<T>, options?: CacheOptions<T>): ReadonlyStore<T>;
  controller(options: ControllerOptions): Controller;
  run(runnable: Runnable): void;
  health(): Health;
  /** Reconciles that have failed for long, for a warning that makes nothing unready; undefined if there are none. */
  warning(): string | undefined;
  /** Call once. Resolves when everything has stopped. */
  start(signal: AbortSignal): Promise<ManagerEnd>;
}

const MAX_SILENCE_MS = 120_000;
/** How often the silence is measured before it is too long. */
const SILENCE_CHECKS = 20;
const REPORT_FAILURES_AFTER_MS = 300_000;
const RESYNC_MS = 36_000_000;
const SHUTDOWN_GRACE_MS = 10_000;
/** How long aborted reconciles may take to end. */
const ABANDON_GRACE_MS = 2_000;
/** How long the shutdown waits for events to be sent. */
const EVENTS_GRACE_MS = 2_000;

export function createManager(options: ManagerOptions): Manager {
  return new ProcessManager(options);
}

class ProcessManager implements Manager {
  readonly events: EventRecorder;
  readonly #options: ManagerOptions;
  readonly #random: () => number;
  readonly #elector: LeaderElector | undefined;
  readonly #strings = new StringPool();
  readonly #caches: {readonly resource: ResourceType; readonly reflector: Reflector<KubeObject>}[] = [];
  readonly #controllers: ReconcileLoop[] = [];
  readonly #runnables: Runnable[] = [];
  #leading = false;
  #started = false;

  constructor(options: ManagerOptions) {
    const {client, clock, logger, registry, identity, reportingController, leaderElection} = options;
    this.#options = options;
    this.#random = options.random ?? Math.random;
    this.events = createEventRecorder({
      client,
      clock,
      logger,
      registry,
      reportingController,
      reportingInstance: identity,
    });
    if (!leaderElection) return;
    // A container that restarts keeps its pod's name, so the name alone does not distinguish two processes.
    const holder = `${identity}_${randomUUID()}`;
    const shared = {clock, logger, registry, random: this.#random};
    this.#elector = new LeaderElector({...leaderElection, ...shared, client: client.forLease(), identity: holder});
    client.setWriteGate(this.#elector.gate);
  }

  cache<T extends KubeObject>(resource: ResourceType<T>, options: CacheOptions<T> = {}): ReadonlyStore<T> {
    this.#mustNotHaveStarted();
    const {client, clock, logger, registry} = this.#options;
    const shared = {clock, logger, registry, random: this.#random, strings: this.#strings};
    const reflector = new Reflector<T>({...options, ...shared, client, resource});
    this.#caches.push({resource, reflector: reflector as unknown as Reflector<KubeObject>});
    return reflector.store;
  }

  controller(options: ControllerOptions): Controller {
    this.#mustNotHaveStarted();
    const {client, clock, logger, registry} = this.#options;
    const storesOf = (resource: ResourceType): Store<KubeObject>[] => {
      const name = resourceName(resource);
      return this.#caches.filter(cache => resourceName(cache.resource) === name).map(cache => cache.reflector.store);
    };
    const {reportFailuresAfterMs = REPORT_FAILURES_AFTER_MS, resyncMs = RESYNC_MS} = this.#options;
    const shared = {client, clock, logger, registry, random: this.#random};
    const environment = {...shared, reportFailuresAfterMs, resyncMs, storesOf};
    const controller = new ReconcileLoop(options, environment);
    this.#controllers.push(controller);
    return controller;
  }

  run(runnable: Runnable): void {
    this.#mustNotHaveStarted();
    this.#runnables.push(runnable);
  }

  health(): Health {
    const {maxSilenceMs = MAX_SILENCE_MS} = this.#options;
    const caches = this.#caches.map(({resource, reflector}): ManagerCheck => {
      const {state} = reflector.store;
      const silentMs = reflector.silentMs(); // also before its watch was found dead
      const isBehind = state === 'synced' && reflector.lostSince !== undefined && silentMs >= maxSilenceMs;
      const seconds = Math.round(silentMs / 1000);
      const message = isBehind ? `it has no watch, has heard nothing for ${seconds} s, and may be out of date` : state;
      return {name: `cache ${resourceName(resource)}`, ok: state !== 'syncing' && !isBehind, message};
    });
    const loops = this.#controllers.map((controller): ManagerCheck => {
      const stuck = controller.stuck();
      return {name: `controller ${controller.name}`, ok: !stuck, message: stuck ? `${stuck} never ends` : 'alive'};
    });
    const renewed = !this.#leading || !this.#elector || this.#elector.leading;
    const message = this.#leading ? (renewed ? 'leader' : 'leader whose lease has run out') : 'standby';
    const checks = [...caches, ...loops, {name: 'election', ok: renewed, message}];
    const ready = caches.every(check => check.ok);
    return {ready, live: renewed && loops.every(check => check.ok), leader: this.#leading && renewed, checks};
  }

  warning(): string | undefined {
    const failing = this.#controllers.flatMap(controller => controller.failing() ?? []);
    if (failing.length === 0) return undefined;
    return `The reconciles of some keys have failed for minutes, and are retried: ${failing.join(', ')}. The log names an example of each.`;
  }

  async start(signal: AbortSignal): Promise<ManagerEnd> {
    this.#mustNotHaveStarted();
    this.#started = true;
    const endOfCaches = new AbortController(); // last: reconciles read them until they end
    const stop = new AbortController();
    const onSignal = (): void => stop.abort(signal.reason);
    if (signal.aborted) onSignal();
    else signal.addEventListener('abort', onSignal, {once: true});
    let failure: {readonly error: unknown} | undefined;
    const fail = (error: unknown): void => {
      failure ??= {error};
      stop.abort(error);
    };
    const caches = this.#caches.map(({reflector}) => reflector.run(endOfCaches.signal));
    let kept = true;
    try {
      const lead = (lost: AbortSignal) => this.#lead(stop.signal, lost, fail);
      if (this.#elector) kept = await this.#elector.run(stop.signal, lead);
      else await lead(new AbortController().signal);
    } catch (error) {
      fail(error);
    }
    endOfCaches.abort();
    await this.#endsWithin(ABANDON_GRACE_MS, Promise.all(caches));
    signal.removeEventListener('abort', onSignal);
    if (failure) return {reason: 'failed', error: failure.error};
    return {reason: kept ? 'shutdown' : 'lease-lost'};
  }

  /** Anything added later would never run. */
  #mustNotHaveStarted(): void {
    if (this.#started) throw new Error('the manager has started already');
  }

  /** Does what only the leader does, until `stop` or `lost` aborts. */
  async #lead(stop: AbortSignal, lost: AbortSignal, fail: (error: unknown) => void): Promise<{release: boolean}> {
    const {logger, shutdownGraceMs = SHUTDOWN_GRACE_MS} = this.#options;
    const ending = AbortSignal.any([stop, lost]);
    void this.#endInSilence(ending, fail);
    await Promise.all(this.#caches.map(({reflector}) => reflector.store.settled(ending))).catch(() => undefined);
    if (ending.aborted) return {release: true};
    this.#leading = true;
    const abandon = new AbortController();
    lost.addEventListener('abort', () => abandon.abort(lost.reason), {once: true});
    const work = Promise.all([
      ...this.#controllers.map(controller => controller.run(ending, abandon.signal)),
      ...this.#runnables.map(runnable => this.#start(runnable, ending, fail)),
    ]);
    if (!ending.aborted) await once(ending, 'abort');
    logger.info({shutdownGraceMs}, lost.aborted ? 'Stopping, because the lease is lost.' : 'Stopping.');
    const drained = !lost.aborted && (await this.#endsWithin(shutdownGraceMs, work));
    if (!drained) {
      abandon.abort(new Error('the shutdown grace period has ended'));
      if (!(await this.#endsWithin(ABANDON_GRACE_MS, work))) logger.error('A reconcile ignores its abort signal.');
    }
    await this.#endsWithin(EVENTS_GRACE_MS, this.events.flush(lost));
    this.#leading = false;
    return {release: drained};
  }

  /** Fails once no call has been answered for too long. Never rejects. */
  async #endInSilence(signal: AbortSignal, fail: (error: unknown) => void): Promise<void> {
    const {client, clock, logger, maxSilenceMs = MAX_SILENCE_MS} = this.#options;
    while (!signal.aborted && client.silentMs() < maxSilenceMs) {
      await clock.sleep(maxSilenceMs / SILENCE_CHECKS, signal).catch(() => undefined);
    }
    if (signal.aborted) return;
    const error = new Error(`the API server has not answered for ${maxSilenceMs / 1000} s`);
    logger.error({err: error}, 'Giving up the lease.');
    fail(error);
  }

  /** Whether the work ended in time. */
  async #endsWithin(ms: number, work: Promise<unknown>): Promise<boolean> {
    const over = new AbortController();
    const late = this.#options.clock.sleep(ms, over.signal).then(
      () => false,
      () => false,
    );
    const ended = await Promise.race([work.then(() => true), late]);
    over.abort();
    return ended;
  }

  async #start(runnable: Runnable, signal: AbortSignal, fail: (error: unknown) => void): Promise<void> {
    try {
      await runnable.run(signal);
    } catch (error) {
      if (signal.aborted) return;
      this.#options.logger.error({err: error, runnable: runnable.name}, 'A component of the program failed.');
      fail(error);
    }
  }
}
