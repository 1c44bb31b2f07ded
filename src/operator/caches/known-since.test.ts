import {expect, test} from 'vitest';
import {ManualClock} from '../../../test/support/manual-clock.ts';
import {KnownSince} from './known-since.ts';

const HOUR_MS = 3_600_000;

function newKnown() {
  const clock = new ManualClock(Date.parse('2026-06-01T00:00:00Z'));
  return {clock, known: new KnownSince(clock), startMs: clock.now()};
}

test('the time before this process knew of it counts', async () => {
  const {known, startMs} = newKnown();
  expect(known.leftMs('a', startMs - 4000, 10_000)).toBe(6000);
  expect(known.leftMs('b', startMs - 60_000, 10_000)).toBeLessThan(0);
});

test('after a step back, a wait lasts no longer than from the first call', async () => {
  const {clock, known, startMs} = newKnown();
  clock.step(-HOUR_MS);
  expect(known.leftMs('a', startMs, 10_000)).toBe(10_000);
  await clock.advance(10_000);
  expect(known.leftMs('a', startMs, 10_000)).toBe(0);
});

test('a step of the wall clock changes no age', async () => {
  const {clock, known} = newKnown();
  known.of('a');
  await clock.advance(1000);
  clock.step(HOUR_MS);
  expect(known.ageMs('a')).toBe(1000);
  expect(known.ageMs('b')).toBe(0);
});
