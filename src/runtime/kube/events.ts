import {randomBytes} from 'node:crypto';
import type {Logger} from 'pino';
import type {Registry} from 'prom-client';
import {FairQueue, isFairShare} from '../../fairness/fair-queue.ts';
import {RateLimit} from '../../fairness/rate-limit.ts';
import {cutText} from '../../operations/untrusted-text.ts';
import type {Clock} from '../../time/clock.ts';
import {TtlCache} from '../../time/ttl-cache.ts';
import type {KubeClient} from './client.ts';
import {isFenced} from './errors.ts';
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

/** The same thing is not reported again within this time; then it is a new event (as in client-go). */
const REPEAT_MS = 360_000;
const REPEATS = 4_000;
/** Per object: this many immediately, then one every five minutes (like the spam filter of client-go). */
const BURST = 25;
const REFILL_MS = 300_000;
/** For all namespaces, which have fair shares: a storm in one never fills more than half. */
const MAX_WAITING = 2_000;
/** The API's limit, in bytes. */
const NOTE_BYTES = 1_024;
const SEND_TIMEOUT_MS = 5_000;

interface Waiting {
  /** The same for everything that counts as a repetition. */
  readonly id: string;
  readonly event: KubeEvent;
}

class Recorder implements EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #metrics: KubeMetrics;
  /** Ids of events that wait, or were sent recently. */
  readonly #reported: TtlCache<true>;
  /** Of objects. */
  readonly #limit = new RateLimit(BURST * REFILL_MS);
  /** Events to send. Namespaces take turns. */
  #waiting = new FairQueue<Waiting>();
  #sending: Promise<void> | undefined;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#metrics = kubeMetrics(options.registry);
    this.#reported = new TtlCache(options.clock, REPEATS);
  }

  event(regarding: DeepReadonly<KubeObject>, type: 'Normal' | 'Warning', reason: string, action: string, note: string) {
    const object = regarding.metadata.uid ?? regarding.metadata.name;
    const id = [object, type, reason, action, note].join('\n');
    if (this.#reported.get(id)) return this.#count('repeated');
    const event = this.#describe(regarding, type, reason, action, note);
    const {name, namespace = ''} = event.metadata;
    const isTooOften = this.#limit.take([[object, REFILL_MS]], this.#options.clock.monotonic()) > 0;
    const left = MAX_WAITING - this.#waiting.size - 1;
    if (isTooOften || !isFairShare(this.#waiting.sizeOf(namespace) + 1, left)) return this.#count('dropped');
    this.#reported.set(id, true, REPEAT_MS);
    this.#waiting.add(namespace, name, {id, event});
    this.#sending ??= this.#send();
  }

  async flush(signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) this.#waiting = new FairQueue();
    await this.#sending;
  }

  /** Sends events one by one until none waits. Never rejects. */
  async #send(): Promise<void> {
    for (let next = this.#waiting.takeFirst(); next; next = this.#waiting.takeFirst()) {
      const [, {id, event}] = next;
      try {
        await this.#options.client.create(EVENT, event, {timeoutMs: SEND_TIMEOUT_MS});
        this.#count('sent');
      } catch (err) {
        this.#reported.delete(id);
        this.#count(isFenced(err) ? 'dropped' : 'failed');
        this.#options.logger.debug({err, event: event.note}, 'an event could not be reported');
      }
    }
    this.#sending = undefined;
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
