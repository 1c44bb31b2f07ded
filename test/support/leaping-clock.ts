/**
 * A clock that a test moves forward for one program: a day passes in a minute. Whoever sleeps on it wakes up when its
 * time has come. Timeouts of the network stay real.
 */
import {readFile, rename, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {until} from '../cluster/wait.ts';
import {bundleOperator} from './operator-process.ts';

export interface LeapingClock {
  /** The operator with this clock. */
  readonly program: string;
  /** What has passed for the program, in addition to the real time. */
  readonly leapedMs: number;
  /** The program's wall clock. */
  now(): number;
  /** Also moves the wall clock. */
  leap(ms: number): Promise<void>;
  /** The wall clock stays where it is. */
  leapMonotonic(ms: number): Promise<void>;
  /** Stops the wall clock. It leaps nevertheless. */
  stand(): Promise<void>;
  /** The wall clock continues from where it stands. */
  run(): Promise<void>;
  /** Resolves once the program, of which only one process runs, has noticed, and whose time has come is awake. */
  noticed(): Promise<void>;
}

interface Time {
  /** By how much the monotonic clock is ahead of the real one. */
  readonly leapedMs: number;
  /** The same for the wall clock, while it runs. */
  readonly aheadMs: number;
  /** Since the epoch; absent: it runs. */
  readonly standsAtMs?: number;
}

export async function createLeapingClock(folder: string): Promise<LeapingClock> {
  const [file, seen, source] = [join(folder, 'time.json'), join(folder, 'time.seen'), join(folder, 'clock.mjs')];
  let time: Time = {leapedMs: 0, aheadMs: 0};
  const now = () => time.standsAtMs ?? Date.now() + time.aheadMs;
  const set = async (next: Time) => {
    time = next;
    await writeFile(`${file}.new`, JSON.stringify(time));
    await rename(`${file}.new`, file);
  };
  await set(time);
  await writeFile(source, clockReading(file, seen));
  return {
    program: await bundleOperator(folder, source),
    get leapedMs() {
      return time.leapedMs;
    },
    now,
    leap: ms => {
      const {leapedMs, aheadMs, standsAtMs} = time;
      const stands = standsAtMs === undefined ? {} : {standsAtMs: standsAtMs + ms};
      return set({leapedMs: leapedMs + ms, aheadMs: aheadMs + ms, ...stands});
    },
    leapMonotonic: ms => set({...time, leapedMs: time.leapedMs + ms}),
    stand: () => set({...time, standsAtMs: now()}),
    run: () => set({leapedMs: time.leapedMs, aheadMs: now() - Date.now()}),
    noticed: async () => {
      await until('the program has noticed', async () => (await readFile(seen, 'utf8')) === JSON.stringify(time), {
        intervalMs: LOOK_MS,
      });
    },
  };
}

/** How soon the program notices a change. */
const LOOK_MS = 20;

/** Takes the place of src/time/clock.ts. */
function clockReading(file: string, seen: string): string {
  return `
    import {readFileSync, writeFileSync} from 'node:fs';
    const MAX_TIMER_MS = 2 ** 31 - 1;
    let text = '';
    let time;
    /** Each sets the timer of one sleeper again. */
    const sleepers = new Set();
    const look = () => {
      const last = text;
      text = readFileSync(${JSON.stringify(file)}, 'utf8');
      if (text === last) return;
      time = JSON.parse(text);
      for (const set of [...sleepers]) set();
      // After the timers that are due now: Node calls timers of the same length in the order in which they were set.
      setTimeout(() => writeFileSync(${JSON.stringify(seen)}, text), 1);
    };
    look();
    setInterval(look, ${LOOK_MS}).unref();
    const monotonic = () => performance.now() + time.leapedMs;
    export const systemClock = {
      now: () => time.standsAtMs ?? Date.now() + time.aheadMs,
      monotonic,
      sleep: async (ms, signal) => {
        signal?.throwIfAborted();
        const due = monotonic() + ms;
        const {promise, resolve, reject} = Promise.withResolvers();
        let timer;
        const set = () => {
          clearTimeout(timer);
          const restMs = due - monotonic();
          timer = setTimeout(restMs > MAX_TIMER_MS ? set : resolve, Math.min(Math.max(0, restMs), MAX_TIMER_MS));
        };
        const abort = () => reject(signal?.reason);
        sleepers.add(set);
        signal?.addEventListener('abort', abort, {once: true});
        set();
        try {
          await promise;
        } finally {
          clearTimeout(timer);
          sleepers.delete(set);
          signal?.removeEventListener('abort', abort);
        }
      },
    };
  `;
}
