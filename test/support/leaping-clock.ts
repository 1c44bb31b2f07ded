/**
 * A clock that a test moves forward for one program, the wall clock and the monotonic one together: a day passes in a
 * minute. Whoever sleeps on it wakes up when its time has come. Timeouts of the network stay real.
 */
import {writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {bundleOperator} from './operator-process.ts';

export interface LeapingClock {
  /** The operator with this clock. */
  readonly program: string;
  /** What has passed for the program, in addition to the real time. */
  readonly leapedMs: number;
  /** The program's wall clock. */
  now(): number;
  leap(ms: number): Promise<void>;
}

export async function createLeapingClock(folder: string): Promise<LeapingClock> {
  const [file, source] = [join(folder, 'leaped'), join(folder, 'clock.mjs')];
  let leapedMs = 0;
  await writeFile(file, '0');
  await writeFile(source, clockReading(file));
  return {
    program: await bundleOperator(folder, source),
    get leapedMs() {
      return leapedMs;
    },
    now: () => Date.now() + leapedMs,
    leap: async ms => {
      leapedMs += ms;
      await writeFile(file, `${leapedMs}`);
    },
  };
}

/** How soon a sleeper notices a leap. */
const LOOK_MS = 20;

/** Takes the place of src/time/clock.ts. */
function clockReading(file: string): string {
  return `
    import {readFileSync} from 'node:fs';
    import {setTimeout as delay} from 'node:timers/promises';
    let leaped = 0;
    const look = () => (leaped = Number(readFileSync(${JSON.stringify(file)}, 'utf8') || leaped));
    setInterval(look, ${LOOK_MS}).unref();
    const monotonic = () => performance.now() + leaped;
    export const systemClock = {
      now: () => Date.now() + leaped,
      monotonic,
      sleep: async (ms, signal) => {
        const due = monotonic() + ms;
        try {
          do await delay(Math.min(Math.max(due - monotonic(), 0), ${LOOK_MS}), undefined, signal ? {signal} : {});
          while (monotonic() < due);
        } catch {
          throw signal?.reason;
        }
      },
    };
  `;
}
