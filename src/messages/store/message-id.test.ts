import {expect, test} from 'vitest';
import {MessageIds} from './message-id.ts';

const NOW = 0x0190_abcd_ef01;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const withoutRandom = (id: string) => id.slice(0, '00000000-0000-0000-'.length);

test('an id is a UUIDv7 of its time, version and variant in their places', () => {
  const ids = new MessageIds(undefined);
  expect(withoutRandom(ids.next(NOW))).toBe('0190abcd-ef01-7000-');
  expect(withoutRandom(ids.next(NOW))).toBe('0190abcd-ef01-7001-');
  expect(withoutRandom(ids.next(NOW + 1))).toBe('0190abcd-ef02-7000-');
});

test.each([
  ['many in one millisecond', () => NOW],
  ['a clock that steps back', (n: number) => NOW - n],
  ['a clock that goes on', (n: number) => NOW + n],
])('%s: ids are valid, unique, and sort as they were made', (_, clock) => {
  const ids = new MessageIds(undefined);
  const made = Array.from({length: 10_000}, (_, n) => ids.next(clock(n)));
  expect(made.every(id => UUID.test(id))).toBe(true);
  expect(new Set(made).size).toBe(made.length);
  expect([...made].sort()).toEqual(made);
});

test('they continue after the last one of an earlier run, even if the clock stepped back', () => {
  const last = '0190abcd-ef01-7ffe-8000-000000000000';
  const ids = new MessageIds(last);
  expect(withoutRandom(ids.next(NOW - 1000))).toBe('0190abcd-ef01-7fff-');
  expect(withoutRandom(ids.next(NOW - 1000))).toBe('0190abcd-ef02-7000-');
});
