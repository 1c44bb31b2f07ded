import type {Clock} from '../../time/clock.ts';

/** An account pauses this many times as long as its last turn kept the event loop busy. */
const PAUSE_FACTOR = 4;

/** With more work waiting, an account takes its average rate divided by this, in each process. */
const RATE_FACTOR = 2;

/** The cost of a turn. */
export interface Taken {
  /** How long it has kept the event loop busy. */
  readonly busyMs: number;
  /** How long the bytes take at the account's whole average rate. */
  readonly rateMs: number;
}

/**
 * Turns at work that keeps the event loop busy. An account has one turn at a time, and pauses after it if it has more
 * work waiting, so that it never takes more than a part of the loop. It also takes no more than half of its average rate
 * then, because most of the cost of a long response comes later: garbage, and copies in the kernel. An account without
 * more work does not pause: its next turn comes only after it has received a response.
 */
export class Pacer {
  readonly #clock: Pick<Clock, 'sleep'>;
  /** For each account that has a turn or pauses: functions that start its waiting turns. */
  readonly #waiting = new Map<string, (() => void)[]>();

  constructor(clock: Pick<Clock, 'sleep'>) {
    this.#clock = clock;
  }

  /** True: it is the account's turn; call `end` after it. False: the signal was aborted first. */
  begin(account: string, patience: () => AbortSignal): Promise<boolean> {
    const waiting = this.#waiting.get(account);
    if (waiting === undefined) {
      this.#waiting.set(account, []);
      return Promise.resolve(true);
    }
    const signal = patience();
    if (signal.aborted) return Promise.resolve(false);
    return new Promise(resolve => {
      const start = () => resolve(true);
      waiting.push(start);
      signal.addEventListener('abort', () => {
        const place = waiting.indexOf(start);
        if (place !== -1) waiting.splice(place, 1);
        resolve(false); // Without effect on a turn that has begun.
      });
    });
  }

  /** Without `taken`, the account does not pause. */
  async end(account: string, {busyMs, rateMs}: Taken = {busyMs: 0, rateMs: 0}): Promise<void> {
    const waiting = this.#waiting.get(account);
    const pauseMs = Math.max(PAUSE_FACTOR * busyMs, RATE_FACTOR * rateMs);
    if (waiting && waiting.length > 0 && pauseMs > 0) await this.#clock.sleep(pauseMs);
    const next = waiting?.shift();
    if (next) next();
    else this.#waiting.delete(account);
  }
}
