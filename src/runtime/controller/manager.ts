import type {Logger} from 'pino';
import type {Registry} from 'prom-client';
import type {Clock} from '../clock.ts';
import type {KubeClient, Selector} from '../kube/client.ts';
import type {EventRecorder} from '../kube/events.ts';
import type {KubeObject, ObjectKey, ResourceType} from '../kube/object.ts';
import type {ReadonlyStore} from '../kube/store.ts';
import type {Controller, ControllerOptions} from './controller.ts';

export interface LeaderElectionOptions {
  readonly lease: ObjectKey & {readonly namespace: string};
  /** Default 15 000 / 10 000 / 2 000 ms; duration > renew deadline > retry period. */
  readonly leaseDurationMs?: number;
  readonly renewDeadlineMs?: number;
  readonly retryPeriodMs?: number;
}

export interface ManagerOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
  /** Unique to this process: the lease's holder and the events' reporting instance; usually the pod's name. */
  readonly identity: string;
  /** For example "nameplate.dev/operator". */
  readonly reportingController: string;
  /** Absent: this process always leads (a single replica, tests). */
  readonly leaderElection?: LeaderElectionOptions;
  /** How long running reconciles may take to finish at shutdown, default 10 000 ms. */
  readonly shutdownGraceMs?: number;
}

export interface CacheOptions<T extends KubeObject> extends Selector {
  /** Drop what is not needed before it is kept. managedFields are always dropped. */
  readonly transform?: (object: T) => T;
}

export interface Runnable {
  readonly name: string;
  /** Resolves when done or when the signal aborts; a rejection ends the manager. */
  run(signal: AbortSignal): Promise<void>;
  /** Default true: only while leading, after all caches settled. Otherwise on every replica, from the start. */
  readonly leaderOnly?: boolean;
}

export interface HealthCheck {
  readonly name: string;
  readonly ok: boolean;
  readonly message: string;
}

export interface Health {
  /** All caches settled. Holds for a standby too. */
  readonly ready: boolean;
  /** No worker is stuck past its deadline and, when leading, the lease is being renewed. */
  readonly live: boolean;
  readonly leader: boolean;
  readonly checks: readonly HealthCheck[];
}

/** Why `start` returned: asked to; or the lease went to somebody else and the process must exit; or a runnable failed. */
export type ManagerEnd =
  | {readonly reason: 'shutdown'}
  | {readonly reason: 'lease-lost'}
  | {readonly reason: 'failed'; readonly error: unknown};

/**
 * Holds a program together. Caches start on every replica (a warm standby); controllers and leader-only runnables run
 * while this process leads and after their caches have settled. When the signal aborts, running reconciles finish
 * within the grace, then the lease is released. When the lease is lost, writes are refused from that moment.
 */
export interface Manager {
  readonly events: EventRecorder;
  /** A cache of one kind. Each call makes a watch of its own: ask once per kind and pass the store around. */
  cache<T extends KubeObject>(resource: ResourceType<T>, options?: CacheOptions<T>): ReadonlyStore<T>;
  controller(options: ControllerOptions): Controller;
  run(runnable: Runnable): void;
  health(): Health;
  /** Call once. Resolves when everything has stopped. */
  start(signal: AbortSignal): Promise<ManagerEnd>;
}

export function createManager(options: ManagerOptions): Manager {
  throw new Error(`not built yet: ${options.identity}`);
}
