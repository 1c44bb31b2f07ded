import {expect, test} from 'vitest';
import {timestamp} from '../../api/conditions.ts';
import {retryAtMs} from './retries.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NOW = Date.parse('2026-11-21T12:00:00Z');
const LIMITS = {ordersPerHost: 5, hostWindowSeconds: 3600};
const LONG_AGO = '2026-01-01T00:00:00Z';

/** Times of failures, in minutes before now. The last one is now. */
const ago = (...minutes: number[]) => minutes.map(minute => timestamp(NOW - minute * MINUTE));
const minutesUntil = (row: Partial<Parameters<typeof retryAtMs>[0]>) =>
  (retryAtMs({failures: ago(0), since: LONG_AGO, limits: LIMITS, notAfter: undefined, nowMs: NOW, ...row}) - NOW) /
  MINUTE;

test.each([
  {what: 'the first failure', failures: ago(0), want: 1},
  {what: 'the second in a day', failures: ago(60, 0), want: 3},
  {what: 'the fourth in a day', failures: ago(300, 200, 100, 0), want: 27},
  {
    what: 'the twentieth in a day: at most 8 hours',
    failures: ago(...Array.from({length: 20}, (_, n) => 1300 - 65 * n), 0),
    want: 480,
  },
  {what: 'one a day later', failures: ago(25 * 60, 0), want: 1},
  {what: 'none of this account', failures: ago(300, 200, 100, 0), since: timestamp(NOW - 1), want: 1},
])('after $what, it waits $want minutes', ({what: _, want, ...row}) => {
  expect(minutesUntil(row)).toBe(want);
});

test('the failures of a former account are not held against the next one', () => {
  expect(minutesUntil({failures: ago(30, 20, 10, 0), since: timestamp(NOW - 5 * MINUTE)})).toBe(1);
});

test.each([
  {left: 'weeks', notAfter: NOW + 30 * 24 * HOUR, want: 480},
  {left: 'a day', notAfter: NOW + 24 * HOUR, want: 144},
  {left: 'an hour', notAfter: NOW + HOUR, want: 6},
  {left: 'ten minutes: never shorter than the first pause', notAfter: NOW + 10 * MINUTE, want: 1},
  {left: 'nothing: it has expired, and nothing can be saved', notAfter: NOW - HOUR, want: 480},
])('if the current certificate is valid for $left, it waits $want minutes', ({notAfter, want}) => {
  const failures = ago(...Array.from({length: 12}, (_, n) => 1300 - 100 * n), 0);
  expect(minutesUntil({failures, notAfter: timestamp(notAfter)})).toBe(want);
});

test('the limit of the CA on failures of the host holds, whoever failed, and however little time is left', () => {
  const failures = ago(50, 40, 30, 20, 0);
  expect(minutesUntil({failures: failures.slice(1), since: timestamp(NOW - 1)})).toBe(1);
  const row = {failures, since: timestamp(NOW - 1), notAfter: timestamp(NOW + HOUR)};
  expect(minutesUntil(row), 'the first of five leaves the hour').toBe(10);
});

test('a failure that a clock that is ahead recorded counts for no limit', () => {
  expect(
    minutesUntil({failures: [...ago(-500, -400, -300, -200), ...ago(0)], limits: {...LIMITS, ordersPerHost: 2}}),
  ).toBeLessThanOrEqual(81);
});
