import {expect, test} from 'vitest';
import {ManualClock} from '../../../test/support/manual-clock.ts';
import {Corrections} from './corrections.ts';

const OBJECT = 'Ingress/acme/np-a';

/** Another program undoes each write immediately. Returns the seconds at which the content is written. */
async function fight(clock: ManualClock, corrections: Corrections, writes: number): Promise<number[]> {
  const startMs = clock.now();
  const seconds: number[] = [];
  while (seconds.length < writes) {
    await clock.advance(corrections.pauseMs(OBJECT, 'wanted'));
    seconds.push((clock.now() - startMs) / 1000);
    corrections.wrote(OBJECT, 'wanted');
  }
  return seconds;
}

test('a few corrections are immediate, and the pauses between the following ones grow to a minute', async () => {
  const clock = new ManualClock();
  const seconds = await fight(clock, new Corrections(clock), 15);
  expect(seconds.slice(0, 6)).toEqual([0, 0, 0, 0, 0, 0]);
  const pauses = seconds.slice(6).map((at, index) => at - (seconds[index + 5] ?? 0));
  expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
});

test('other content is written immediately, and so is another object', async () => {
  const clock = new ManualClock();
  const corrections = new Corrections(clock);
  await fight(clock, corrections, 10);
  expect(corrections.pauseMs(OBJECT, 'wanted')).toBeGreaterThan(0);
  expect(corrections.pauseMs(OBJECT, 'changed')).toBe(0);
  expect(corrections.pauseMs('Ingress/acme/np-b', 'wanted')).toBe(0);
  corrections.wrote(OBJECT, 'changed');
  expect(corrections.contestedMs(OBJECT)).toBeUndefined();
});

test('an object is contested until it was not corrected for ten minutes', async () => {
  const clock = new ManualClock();
  const corrections = new Corrections(clock);
  await fight(clock, corrections, 5);
  expect(corrections.contestedMs(OBJECT)).toBeUndefined();
  await fight(clock, corrections, 1);
  expect(corrections.contestedMs(OBJECT)).toBe(1000);
  await clock.advance(1000);
  expect(corrections.contestedMs(OBJECT)).toBe(599_000);
  await clock.advance(599_000);
  expect(corrections.contestedMs(OBJECT)).toBeUndefined();
  expect(corrections.pauseMs(OBJECT, 'wanted')).toBe(0);
});
