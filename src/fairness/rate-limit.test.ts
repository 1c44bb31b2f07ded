import {describe, expect, test} from 'vitest';
import {RateLimit} from './rate-limit.ts';

const HOUR = 3_600_000;

describe('a limit of one per second and a burst of three', () => {
  const reserve = (limit: RateLimit, key: string, now: number, mostMs = HOUR) => limit.reserve(key, 1000, now, mostMs);

  // attack: message-work
  test('a burst passes at once, the rest waits, and no more than a burst is saved up', () => {
    const limit = new RateLimit(3000);
    expect([1, 2, 3, 4, 5].map(() => reserve(limit, 'a', 0))).toEqual([0, 0, 0, 1000, 2000]);
    expect(reserve(limit, 'b', 0), 'another key has its own').toBe(0);
    expect(reserve(limit, 'a', 1000)).toBe(2000);
    expect([1, 2, 3, 4].map(() => reserve(limit, 'a', 100_000))).toEqual([0, 0, 0, 1000]);
  });

  test('whoever waits for something else takes nothing', () => {
    const limit = new RateLimit(1000);
    expect([HOUR, 1500, 1500, 1500].map(mostMs => reserve(limit, 'a', 0, mostMs))).toEqual([0, 1000, 1500, 1500]);
    expect(reserve(limit, 'a', 0)).toBe(2000);
  });

  test('asking takes nothing, and what is spent in any case delays what comes later', () => {
    const limit = new RateLimit(3000);
    expect([limit.waitMs('a', 3000, 0), limit.waitMs('a', 4000, 0)]).toEqual([0, 1000]);
    limit.spend('a', 10_000, 0);
    expect(limit.waitMs('a', 0, 0)).toBe(7000);
    limit.set('a', 3500, 1000);
    expect(limit.waitMs('a', 0, 1000)).toBe(500);
  });

  test('it remembers a key also after many others', () => {
    const limit = new RateLimit(3000);
    for (let n = 0; n < 3; n++) reserve(limit, 'a', 0);
    const others = Array.from({length: 50_000}, (_, n) => reserve(limit, `other-${n}`, n / 100));
    expect(others.every(waitMs => waitMs === 0)).toBe(true);
    expect(reserve(limit, 'a', 500)).toBe(500);
  });
});
