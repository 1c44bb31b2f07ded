import type {Clock} from '../../src/time/clock.ts';

/** Node's timers hold 31 bits. A longer one fires after 1 ms. */
const MAX_TIMER_MS = 2 ** 31 - 1;

interface Sleeper {
  readonly wakeAt: number;
  readonly wake: () => void;
}

/** A clock for tests: time stands still until `advance` moves it. */
export class ManualClock implements Clock {
  readonly #sleepers = new Set<Sleeper>();
  #ms: number;
  #steppedMs = 0;

  constructor(startMs = 0) {
    this.#ms = startMs;
  }

  /** The number of callers that are sleeping. */
  get sleepers(): number {
    return this.#sleepers.size;
  }

  now(): number {
    return this.#ms + this.#steppedMs;
  }

  monotonic(): number {
    return this.#ms;
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const {promise, resolve, reject} = Promise.withResolvers<void>();
    const sleeper: Sleeper = {wakeAt: this.#ms + (ms > MAX_TIMER_MS ? 1 : ms), wake: resolve};
    const abort = (): void => reject(signal?.reason);
    this.#sleepers.add(sleeper);
    signal?.addEventListener('abort', abort, {once: true});
    try {
      await promise;
    } finally {
      this.#sleepers.delete(sleeper);
      signal?.removeEventListener('abort', abort);
    }
  }

  /** Sets the wall clock forward or, if negative, back; no time passes. */
  step(ms: number): void {
    this.#steppedMs += ms;
  }

  /** Moves the time forward and wakes each due sleeper in turn, with time for it to run before the next. */
  async advance(ms: number): Promise<void> {
    const target = this.#ms + ms;
    for (let next = this.#next(target); next; next = this.#next(target)) {
      this.#ms = next.wakeAt;
      this.#sleepers.delete(next);
      next.wake();
      await settle();
    }
    this.#ms = target;
    await settle();
  }

  #next(target: number): Sleeper | undefined {
    let earliest: Sleeper | undefined;
    for (const sleeper of this.#sleepers) {
      if (sleeper.wakeAt <= target && (!earliest || sleeper.wakeAt < earliest.wakeAt)) earliest = sleeper;
    }
    return earliest;
  }
}

/** Runs all code that is ready to run. */
async function settle(): Promise<void> {
  await new Promise<void>(resolve => setImmediate(resolve));
}
