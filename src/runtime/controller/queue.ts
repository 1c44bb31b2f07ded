import {FairQueue} from '../../fairness/fair-queue.ts';
import {Alarm} from '../../time/alarm.ts';
import type {Clock} from '../../time/clock.ts';
import {DueHeap} from '../../time/due-heap.ts';

interface QueueObserver {
  added(): void;
  /** A worker took a key that had waited this long. */
  waited(ms: number): void;
}

interface AddOptions {
  /** After all other keys. For the initial list and other work that nothing waits for. */
  readonly lowPriority?: boolean;
}

interface Working {
  readonly key: string;
  /** The options if the key was added again meanwhile. */
  again: AddOptions | undefined;
}

interface Delayed {
  readonly key: string;
  /** The earliest time that the key was given. */
  dueAt: number;
}

/** While other keys keep coming, every eighth key taken has low priority, so nothing starves. */
const LOW_PRIORITY_EVERY = 8;

/**
 * A work queue of keys, like that of client-go. A key is in it only once, no matter how often it is added. A key that
 * is added while a worker has it returns to the queue when the worker is done, so no key is reconciled twice at the
 * same time. There are two priorities. In each, namespaces take turns, and within a namespace, the first key is served
 * first.
 */
export class WorkQueue {
  readonly #clock: Clock;
  readonly #observer: QueueObserver;
  /** Waiting keys, each with the time since it has waited. No key is in both. */
  readonly #high = new FairQueue<number>();
  readonly #low = new FairQueue<number>();
  /** What workers have: few keys. Not a Map, for the reason given at the reconciles in progress. */
  readonly #working: Working[] = [];
  /** Workers waiting for a key. While there are any, no key waits. */
  readonly #takers: ((key: string | undefined) => void)[] = [];
  readonly #delayed = new DueHeap<Delayed>();
  readonly #delayedByKey = new Map<string, Delayed>();
  readonly #alarm: Alarm;
  #taken = 0;
  #closed = false;

  constructor(clock: Clock, observer: QueueObserver) {
    this.#clock = clock;
    this.#observer = observer;
    this.#alarm = new Alarm(clock, () => this.#ring());
  }

  get depth(): number {
    return this.#high.size + this.#low.size;
  }

  add(key: string, options: AddOptions = {}): void {
    if (this.#closed) return;
    const working = this.#working.find(each => each.key === key);
    if (working) {
      working.again = {lowPriority: (working.again?.lowPriority ?? true) && (options.lowPriority ?? false)};
      return;
    }
    const taker = this.#takers.shift();
    if (taker) {
      this.#observer.added();
      this.#handOver(key, 0);
      taker(key);
      return;
    }
    const namespace = namespaceOf(key);
    if (this.#high.has(namespace, key) || (options.lowPriority && this.#low.has(namespace, key))) return;
    const since = this.#low.remove(namespace, key) ?? this.#clock.monotonic();
    (options.lowPriority ? this.#low : this.#high).add(namespace, key, since);
    this.#observer.added();
  }

  /** Adds the key in `ms`, or earlier if an earlier call says so. */
  addAfter(key: string, ms: number): void {
    if (this.#closed) return;
    if (ms <= 0) {
      this.add(key);
      return;
    }
    const dueAt = this.#clock.monotonic() + ms;
    const delayed = this.#delayedByKey.get(key) ?? {key, dueAt: Number.POSITIVE_INFINITY};
    if (delayed.dueAt <= dueAt) return;
    delayed.dueAt = dueAt;
    this.#delayedByKey.set(key, delayed);
    this.#delayed.add(delayed);
    this.#alarm.set(dueAt);
  }

  /** Resolves with the next key, for which you must then call `done`, or with undefined once the queue is closed. */
  take(): Promise<string | undefined> {
    if (this.#closed) return Promise.resolve(undefined);
    const next = this.#next();
    if (!next) return new Promise(resolve => this.#takers.push(resolve));
    const [key, since] = next;
    this.#handOver(key, this.#clock.monotonic() - since);
    return Promise.resolve(key);
  }

  /** The worker no longer has the key. */
  done(key: string): void {
    const at = this.#working.findIndex(each => each.key === key);
    const [{again} = {}] = at < 0 ? [] : this.#working.splice(at, 1);
    if (again) this.add(key, again);
  }

  /** Hands out no more keys. */
  close(): void {
    this.#closed = true;
    this.#alarm.cancel();
    for (const taker of this.#takers.splice(0)) taker(undefined);
  }

  #handOver(key: string, waitedMs: number): void {
    this.#working.push({key, again: undefined});
    this.#observer.waited(waitedMs);
  }

  #next(): [string, number] | undefined {
    this.#taken += 1;
    const low = this.#high.size === 0 || (this.#low.size > 0 && this.#taken % LOW_PRIORITY_EVERY === 0);
    return (low ? this.#low : this.#high).takeFirst();
  }

  #ring(): void {
    const now = this.#clock.monotonic();
    for (let delayed = this.#delayed.take(now); delayed; delayed = this.#delayed.take(now)) {
      this.#delayedByKey.delete(delayed.key);
      this.add(delayed.key);
    }
    this.#alarm.set(this.#delayed.nextDueAt);
  }
}

/** Keys are `namespace/name`. All others are one group. */
function namespaceOf(key: string): string {
  return key.slice(0, Math.max(key.indexOf('/'), 0));
}
