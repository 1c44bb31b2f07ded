import type {Clock} from './clock.ts';

/** Node's timers hold 31 bits of milliseconds. An alarm further ahead rings early, and its owner sets it again. */
const MAX_SLEEP_MS = 3_600_000;

/**
 * One timer for the earliest of many due times: a timer for each would cost an AbortController, a promise, and a
 * Timeout each. When it rings, take what is due, if anything, and set it to the next due time.
 */
export class Alarm {
  readonly #clock: Clock;
  readonly #ring: () => void;
  #pending: {readonly dueAt: number; readonly cancel: AbortController} | undefined;

  constructor(clock: Clock, ring: () => void) {
    this.#clock = clock;
    this.#ring = ring;
  }

  /** On the monotonic clock; infinite: never. An alarm that is already set to an earlier time stays. */
  set(dueAt: number): void {
    if (dueAt === Number.POSITIVE_INFINITY || (this.#pending && this.#pending.dueAt <= dueAt)) return;
    this.cancel();
    const cancel = new AbortController();
    this.#pending = {dueAt, cancel};
    const ring = (): void => {
      if (cancel.signal.aborted) return;
      this.#pending = undefined;
      this.#ring();
    };
    const ms = Math.min(Math.max(0, dueAt - this.#clock.monotonic()), MAX_SLEEP_MS);
    this.#clock.sleep(ms, cancel.signal).then(ring, () => undefined);
  }

  cancel(): void {
    this.#pending?.cancel.abort();
    this.#pending = undefined;
  }
}
