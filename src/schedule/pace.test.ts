import {expect, test} from 'vitest';
import {
  firstSteadyDelay,
  longestDelay,
  pendingDelay,
  phaseOf,
  pollDelay,
  polledCheckDelay,
  steadyDelay,
} from './pace.ts';

const checks = {soonSeconds: 5, pendingMaxSeconds: 300, steadySeconds: 3600, inFlight: 8};
const HOUR = 3_600_000;
const uids = Array.from({length: 10_000}, (_, n) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`);

test('the first checks of 10,000 verified names after a restart are spread over the whole period', () => {
  const perMinute = Array.from({length: 60}, () => 0);
  for (const uid of uids) {
    const minute = Math.floor(firstSteadyDelay(uid, checks, 123_456_789) / 60_000);
    perMinute[minute] = (perMinute[minute] ?? 0) + 1;
  }
  expect(Math.max(...perMinute)).toBeLessThan(250);
  expect(Math.min(...perMinute)).toBeGreaterThan(100);
});

test('a steady check has the same place in every period, with others, whenever it was last made', () => {
  for (const uid of uids.slice(0, 100)) {
    for (const now of [0, 1, HOUR / 2, HOUR * 17 + 12_345]) {
      const delay = steadyDelay(uid, checks, now);
      const place = (now + delay) % HOUR;
      expect(phaseOf(uid) * HOUR - place).toBeGreaterThanOrEqual(0);
      expect(phaseOf(uid) * HOUR - place).toBeLessThan(5000);
      expect(place % 5000).toBe(0);
      expect(delay).toBeGreaterThanOrEqual(HOUR / 2);
      expect(delay).toBeLessThan(HOUR * 1.5);
    }
  }
});

test('pauses grow from soon to the longest, and jitter by a tenth', () => {
  const delays = [0, 1, 2, 3, 50].map(count => pendingDelay(count, checks, 0.5));
  expect(delays).toEqual([5000, 5000, 7500, 11_250, 300_000]);
  expect([pendingDelay(1, checks, 0), pendingDelay(1, checks, 1)]).toEqual([4500, 5500]);
  expect([0, 1].map(random => longestDelay(checks, random))).toEqual([270_000, 330_000]);
});

test.each([
  {age: 'a new host', ageMs: 0, poll: 5, check: 5},
  {age: 'a host of a minute', ageMs: 60_000, poll: 35, check: 65},
  {age: 'a host of ten minutes', ageMs: 600_000, poll: 50, check: 605},
  {age: 'a host of a day', ageMs: 24 * HOUR, poll: 50, check: 1800},
  {age: 'a host of four days', ageMs: 96 * HOUR, poll: 200, check: 3600},
  {age: 'a host of a year', ageMs: 365 * 24 * HOUR, poll: 300, check: 3600},
])('$age is polled after $poll s, and checked after $check s', ({ageMs, poll, check}) => {
  expect(pollDelay(ageMs, checks, 0.5)).toBe(poll * 1000);
  expect(pollDelay(ageMs, checks, 1)).toBeCloseTo(poll * 1100);
  expect(polledCheckDelay(ageMs, checks)).toBe(check * 1000);
});

test('a shorter pendingMaxSeconds shortens the pauses between polls and checks', () => {
  const seldom = {...checks, pendingMaxSeconds: 20};
  expect(pollDelay(HOUR, seldom, 0.5)).toBe(20_000);
  expect(polledCheckDelay(HOUR, seldom)).toBe(240_000);
});
