import {beforeEach, expect, test} from 'vitest';
import {ManualClock} from '../../test/support/manual-clock.ts';
import {Alarm} from './alarm.ts';

let clock: ManualClock;
let rings: number[];
let alarm: Alarm;

beforeEach(() => {
  clock = new ManualClock();
  rings = [];
  alarm = new Alarm(clock, () => rings.push(clock.monotonic()));
});

test('rings once, at the earliest time that was set, with one timer', async () => {
  for (const dueAt of [500, 100, 300]) alarm.set(dueAt);
  await clock.advance(0);
  expect(clock.sleepers).toBe(1);
  await clock.advance(1_000);
  expect(rings).toEqual([100]);
});

test('rings again when it is set again, also from within its own ring', async () => {
  alarm = new Alarm(clock, () => {
    rings.push(clock.monotonic());
    if (rings.length < 3) alarm.set(clock.monotonic() + 10);
  });
  alarm.set(10);
  await clock.advance(100);
  expect(rings).toEqual([10, 20, 30]);
});

test('rings immediately for a time in the past, and never for an infinite one', async () => {
  alarm.set(Number.POSITIVE_INFINITY);
  expect(clock.sleepers).toBe(0);
  await clock.advance(50);
  alarm.set(20);
  await clock.advance(0);
  expect(rings).toEqual([50]);
});

test('rings early, after an hour, for a time that no timer can hold', async () => {
  alarm.set(2 ** 40);
  await clock.advance(3_600_000 - 1);
  expect(rings).toEqual([]);
  await clock.advance(1);
  expect(rings).toEqual([3_600_000]);
});

test('a canceled alarm does not ring and leaves no timer', async () => {
  alarm.set(10);
  alarm.cancel();
  await clock.advance(100);
  expect([rings, clock.sleepers]).toEqual([[], 0]);
  alarm.set(200);
  await clock.advance(100);
  expect(rings).toEqual([200]);
});
