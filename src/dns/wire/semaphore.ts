/** Runs a fixed number of tasks at the same time. The others wait in order of arrival. */
export class Semaphore {
  readonly #limit: number;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  get idle(): boolean {
    return this.#running === 0;
  }

  /** Rejects with the signal's reason if the signal aborts before the task starts. */
  async run<T>(task: () => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    if (this.#running < this.#limit) this.#running++;
    else await this.#slot(signal);
    try {
      return await task();
    } finally {
      // Hands its slot to the next waiter directly, so no other task can take it and no waiter is forgotten.
      const next = this.#waiting.shift();
      if (next === undefined) this.#running--;
      else next();
    }
  }

  #slot(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(enter), 1);
        reject(signal.reason);
      };
      const enter = () => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      signal.addEventListener('abort', leave, {once: true});
      this.#waiting.push(enter);
    });
  }
}
