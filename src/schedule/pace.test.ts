import {expect, test} from 'vitest';
import {firstSteadyDelay, longestDelay, pendingDelay, phaseOf, steadyDelay} from './pace.ts';

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
