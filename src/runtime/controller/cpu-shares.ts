/**
 * Which controller uses the CPU. A program has one thread for all reconciles, which take turns at every await, and
 * nothing shows whose turn it is. So the CPU time of the process is divided equally among those that run at the time.
 */
export class CpuShares {
  readonly #usedSeconds: () => number;
  /** How many reconciles of each controller run now. */
  readonly #running = new Map<string, number>();
  readonly #shares = new Map<string, number>();
  #total = 0;
  #last = 0;

  /** `usedSeconds`: the CPU time of the process since its start. */
  constructor(usedSeconds: () => number = processSeconds) {
    this.#usedSeconds = usedSeconds;
  }

  begin(controller: string): void {
    this.#settle();
    this.#change(controller, 1);
  }

  end(controller: string): void {
    this.#settle();
    this.#change(controller, -1);
  }

  /** In seconds, by controller. */
  read(): ReadonlyMap<string, number> {
    this.#settle();
    return this.#shares;
  }

  #change(controller: string, by: 1 | -1): void {
    this.#running.set(controller, (this.#running.get(controller) ?? 0) + by);
    if (!this.#shares.has(controller)) this.#shares.set(controller, 0);
    this.#total += by;
  }

  #settle(): void {
    const now = this.#usedSeconds();
    const used = now - this.#last;
    this.#last = now;
    if (this.#total === 0) return;
    for (const [controller, count] of this.#running) {
      if (count > 0) this.#shares.set(controller, (this.#shares.get(controller) ?? 0) + (used * count) / this.#total);
    }
  }
}

function processSeconds(): number {
  const {user, system} = process.cpuUsage();
  return (user + system) / 1e6;
}
