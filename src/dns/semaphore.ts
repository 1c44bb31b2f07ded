/** Lets a fixed number of tasks run at the same time; the others wait in order of arrival. */
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

  /** Rejects with the signal's reason when it aborts while the task still waits. */
  async run<T>(task: () => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    if (this.#running < this.#limit) this.#running++;
    else await this.#turn(signal);
    try {
      return await task();
    } finally {
      // The place is handed over, never given up in between: nobody can slip in, and no waiter is forgotten.
      const next = this.#waiting.shift();
      if (next === undefined) this.#running--;
      else next();
    }
  }

  #turn(signal: AbortSignal): Promise<void> {
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
