import type {Clock} from '../clock.ts';
import {Lines} from '../lines.ts';
import {DelayHeap} from './delay-heap.ts';

export interface QueueObserver {
  depth(depth: number): void;
  added(): void;
  /** A key leaves the queue for a worker after so long. */
  waited(ms: number): void;
}

export interface AddOptions {
  /** Behind everything that is not; for the initial list and other work that nobody is waiting for. */
  readonly lowPriority?: boolean;
}

/** While urgent keys keep coming, every eighth turn goes to a low one, so that nothing starves. */
const LOW_TURN = 8;
/** Timers hold 31 bits; after this long we look again. */
const MAX_SLEEP_MS = 3_600_000;

/**
 * A work queue of keys, after client-go's: a key is in it once however often it is added; a key that is being worked on
 * and is added again comes back when the work is done, so that no key is ever worked on twice at once. There are two
 * priorities; in each the namespaces take turns, and within one, first come is first served.
 */
export class WorkQueue {
  readonly #clock: Clock;
  readonly #observer: QueueObserver;
  /** Waiting keys, each with the time since when. No key is in both. */
  readonly #high = new Lines<number>();
  readonly #low = new Lines<number>();
  /** Keys handed out; true when added again meanwhile. */
  readonly #working = new Map<string, AddOptions | undefined>();
  readonly #takers: ((key: string | undefined) => void)[] = [];
  readonly #delayed = new DelayHeap();
  #alarm: {readonly dueAt: number; readonly abort: AbortController} | undefined;
  #turn = 0;
  #closed = false;

  constructor(clock: Clock, observer: QueueObserver) {
    this.#clock = clock;
    this.#observer = observer;
  }

  get depth(): number {
    return this.#high.size + this.#low.size;
  }

  add(key: string, options: AddOptions = {}): void {
    if (this.#closed) return;
    if (this.#working.has(key)) {
      const again = this.#working.get(key);
      this.#working.set(key, {lowPriority: (again?.lowPriority ?? true) && (options.lowPriority ?? false)});
      return;
    }
    if (this.#high.has(key) || (options.lowPriority && this.#low.has(key))) return;
    const since = this.#low.remove(key) ?? this.#clock.monotonic();
    (options.lowPriority ? this.#low : this.#high).add(key, since);
    this.#observer.added();
    this.#serve();
  }

  /** Adds the key in `ms`, or earlier when it has been given an earlier time before. */
  addAfter(key: string, ms: number): void {
    if (this.#closed) return;
    if (ms > 0) {
      this.#delayed.add(key, this.#clock.monotonic() + ms);
      this.#setAlarm();
    } else {
      this.add(key);
    }
  }

  /** Resolves with a key to work on, once there is one; with undefined once the queue is closed. Then call `done`. */
  async take(): Promise<string | undefined> {
    if (this.#closed) return undefined;
    const {promise, resolve} = Promise.withResolvers<string | undefined>();
    this.#takers.push(resolve);
    this.#serve();
    return await promise;
  }

  /** The work on a key that was taken is over. */
  done(key: string): void {
    const again = this.#working.get(key);
    this.#working.delete(key);
    if (again) this.add(key, again);
  }

  /** Nothing is handed out any more. */
  close(): void {
    this.#closed = true;
    this.#alarm?.abort.abort();
    for (const taker of this.#takers.splice(0)) taker(undefined);
  }

  #serve(): void {
    while (this.#takers.length > 0) {
      const next = this.#next();
      if (!next) break;
      const [key, since] = next;
      this.#working.set(key, undefined);
      this.#observer.waited(this.#clock.monotonic() - since);
      this.#takers.shift()?.(key);
    }
    this.#observer.depth(this.depth);
  }

  #next(): [string, number] | undefined {
    this.#turn += 1;
    const low = this.#high.size === 0 || (this.#low.size > 0 && this.#turn % LOW_TURN === 0);
    return (low ? this.#low : this.#high).takeFirst();
  }

  /** One timer, for the earliest of the delayed keys. */
  #setAlarm(): void {
    const dueAt = this.#delayed.nextDueAt;
    if (dueAt === undefined || this.#closed || (this.#alarm && this.#alarm.dueAt <= dueAt)) return;
    this.#alarm?.abort.abort();
    const alarm = {dueAt, abort: new AbortController()};
    this.#alarm = alarm;
    const ms = Math.min(Math.max(0, dueAt - this.#clock.monotonic()), MAX_SLEEP_MS);
    this.#clock.sleep(ms, alarm.abort.signal).then(
      () => this.#ring(),
      () => undefined, // Superseded by an earlier one, or closed.
    );
  }

  #ring(): void {
    this.#alarm = undefined;
    for (const key of this.#delayed.takeDue(this.#clock.monotonic())) this.add(key);
    this.#setAlarm();
  }
}
