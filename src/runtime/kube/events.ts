import {randomBytes} from 'node:crypto';
import type {Logger} from 'pino';
import type {Registry} from 'prom-client';
import {FairQueue, isFairShare} from '../../fairness/fair-queue.ts';
import {RateLimit} from '../../fairness/rate-limit.ts';
import {cutText} from '../../operations/untrusted-text.ts';
import type {Clock} from '../../time/clock.ts';
import type {KubeClient} from './client.ts';
import {isFenced, isNotFound} from './errors.ts';
import {type KubeMetrics, kubeMetrics} from './metrics.ts';
import {type DeepReadonly, type KubeObject, microTime, resourceType} from './object.ts';

/** https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/ */
interface KubeEvent extends KubeObject {
  eventTime?: string;
  reportingController?: string;
  reportingInstance?: string;
  action?: string;
  reason?: string;
  regarding?: {
    apiVersion?: string;
    kind?: string;
    name?: string;
    namespace?: string;
    uid?: string;
    resourceVersion?: string;
  };
  note?: string;
  type?: string;
  series?: {count: number; lastObservedTime: string};
}

export const EVENT = resourceType<KubeEvent>('events.k8s.io/v1', 'Event', 'events');

interface EventRecorderOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
  /** Who reports, for example "nameplate.dev/operator". */
  readonly reportingController: string;
  /** Which instance, usually the pod's name. */
  readonly reportingInstance: string;
}

/** Reports to `kubectl describe` and `kubectl get events`. Never throws, never waits, and may drop events. */
export interface EventRecorder {
  /**
   * @param reason why, in CamelCase: "CertificateIssued".
   * @param action what was done or tried, in CamelCase: "Issue".
   * @param note one sentence, cut at 1 kB.
   */
  event(
    regarding: DeepReadonly<KubeObject>,
    type: 'Normal' | 'Warning',
    reason: string,
    action: string,
    note: string,
  ): void;
  /** Sends the waiting events. Never rejects. */
  flush(signal?: AbortSignal): Promise<void>;
}

export function createEventRecorder(options: EventRecorderOptions): EventRecorder {
  return new Recorder(options);
}

/** Something that happened, perhaps repeatedly. The first time creates an event, and further times its series. */
interface Series {
  readonly event: KubeEvent;
  count: number;
  created: boolean;
  lastSeenAt: number;
  lastSentAt: number;
}

/** After a pause this long, the same thing is a new event (as in client-go). */
const SERIES_GAP_MS = 360_000;
/** A series is updated at most this often. */
const SERIES_UPDATE_MS = 60_000;
/** Per object: this many immediately, then one every five minutes (like the spam filter of client-go). */
const BURST = 25;
const REFILL_MS = 300_000;
/** For all namespaces, which have fair shares: a storm in one never fills more than half. */
const MAX_WAITING = 2_000;
const MAX_SERIES = 4_000;
/** The API's limit, in bytes. */
const NOTE_BYTES = 1_024;
const SEND_TIMEOUT_MS = 5_000;

class Recorder implements EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #metrics: KubeMetrics;
  /** Least recently seen first. */
  readonly #series = new Map<string, Series>();
  /** Of objects. */
  readonly #limit = new RateLimit(BURST * REFILL_MS);
  /** Events to send. Namespaces take turns. */
  #waiting = new FairQueue<Series>();
  #sending: Promise<void> | undefined;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#metrics = kubeMetrics(options.registry);
  }

  event(regarding: DeepReadonly<KubeObject>, type: 'Normal' | 'Warning', reason: string, action: string, note: string) {
    const now = this.#options.clock.monotonic();
    const object = regarding.metadata.uid ?? regarding.metadata.name;
    const key = [object, type, reason, action, note].join('\n');
    const known = this.#series.get(key);
    const repeated = known !== undefined && now - known.lastSeenAt < SERIES_GAP_MS;
    if (!repeated) {
      if (this.#limit.waitMs(object, REFILL_MS, now) > 0) return this.#count('dropped');
      this.#limit.spend(object, REFILL_MS, now);
    }
    const series: Series = repeated
      ? known
      : {
          event: this.#describe(regarding, type, reason, action, note),
          count: 0,
          created: false,
          lastSeenAt: now,
          lastSentAt: Number.NEGATIVE_INFINITY,
        };
    series.count += 1;
    series.lastSeenAt = now;
    this.#series.delete(key);
    this.#series.set(key, series);
    if (this.#series.size > MAX_SERIES) this.#series.delete(this.#series.keys().next().value as string);
    const {name, namespace = ''} = series.event.metadata;
    if (now - series.lastSentAt < SERIES_UPDATE_MS || this.#waiting.has(namespace, name)) return this.#count('merged');
    const left = MAX_WAITING - this.#waiting.size - 1;
    if (!isFairShare(this.#waiting.sizeOf(namespace) + 1, left)) return this.#count('dropped');
    this.#waiting.add(namespace, name, series);
    this.#sending ??= this.#send();
  }

  async flush(signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) this.#waiting = new FairQueue();
    await this.#sending;
  }

  /** Sends events one by one until none waits. Never rejects. */
  async #send(): Promise<void> {
    for (let next = this.#waiting.takeFirst(); next; next = this.#waiting.takeFirst()) {
      const [, series] = next;
      series.lastSentAt = this.#options.clock.monotonic();
      try {
        await this.#write(series);
        this.#count('sent');
      } catch (err) {
        this.#count(isFenced(err) ? 'dropped' : 'failed');
        this.#options.logger.debug({err, event: series.event.note}, 'an event could not be reported');
      }
    }
    this.#sending = undefined;
  }

  async #write(series: Series): Promise<void> {
    const {client, clock} = this.#options;
    const {name, namespace} = series.event.metadata;
    if (series.created) {
      const lastObservedTime = microTime(clock.now());
      const patch = {series: {count: series.count, lastObservedTime}};
      try {
        await client.patch(EVENT, {namespace, name}, patch, {timeoutMs: SEND_TIMEOUT_MS});
        return;
      } catch (error) {
        if (!isNotFound(error)) throw error; // Events expire after an hour: create it again.
      }
    }
    await client.create(EVENT, series.event, {timeoutMs: SEND_TIMEOUT_MS});
    series.created = true;
  }

  #describe(
    regarding: DeepReadonly<KubeObject>,
    type: string,
    reason: string,
    action: string,
    note: string,
  ): KubeEvent {
    const {clock, reportingController, reportingInstance} = this.#options;
    const {name, namespace, uid, resourceVersion} = regarding.metadata;
    const {apiVersion, kind} = regarding;
    const stem = name.slice(0, 200).replace(/[^a-z0-9]+$/, '');
    return {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      // Events of cluster-scoped objects live in the namespace "default".
      metadata: {name: `${stem}.${randomBytes(8).toString('hex')}`, namespace: namespace ?? 'default'},
      eventTime: microTime(clock.now()),
      reportingController,
      reportingInstance: reportingInstance.slice(0, 128),
      type,
      reason,
      action,
      note: cutText(note, NOTE_BYTES, '...'),
      regarding: {
        apiVersion,
        kind,
        name,
        ...(namespace !== undefined && {namespace}),
        ...(uid !== undefined && {uid}),
        ...(resourceVersion !== undefined && {resourceVersion}),
      },
    };
  }

  #count(result: string): void {
    this.#metrics.events.inc({result});
  }
}
