import {expect, test} from 'vitest';
import {isMessageId, MessageIds} from './message-id.ts';

const NOW = 0x0190_abcd_ef01;
const fill = (buffer: Uint8Array) => buffer.fill(0xff);

test('an id is a UUIDv7 of its time, version and variant in their places', () => {
  const ids = new MessageIds(undefined, fill);
  expect(ids.next(NOW)).toBe('msg_0190abcd-ef01-7000-bfff-ffffffffffff');
  expect(ids.next(NOW)).toBe('msg_0190abcd-ef01-7001-bfff-ffffffffffff');
  expect(ids.next(NOW + 1)).toBe('msg_0190abcd-ef02-7000-bfff-ffffffffffff');
});

test.each([
  ['many in one millisecond', () => NOW],
  ['a clock that steps back', (n: number) => NOW - n],
  ['a clock that goes on', (n: number) => NOW + n],
])('%s: ids are valid, unique, and sort as they were made', (_, clock) => {
  const ids = new MessageIds(undefined);
  const made = Array.from({length: 10_000}, (_, n) => ids.next(clock(n)));
  expect(made.every(isMessageId)).toBe(true);
  expect(new Set(made).size).toBe(made.length);
  expect([...made].sort()).toEqual(made);
});

test('they continue after the last one of an earlier run, even if the clock stepped back', () => {
  const last = 'msg_0190abcd-ef01-7ffe-8000-000000000000';
  const ids = new MessageIds(last, fill);
  expect(ids.next(NOW - 1000)).toBe('msg_0190abcd-ef01-7fff-bfff-ffffffffffff');
  expect(ids.next(NOW - 1000)).toBe('msg_0190abcd-ef02-7000-bfff-ffffffffffff');
});

test.each(['', 'msg_', '0190abcd-ef01-7000-bfff-ffffffffffff', 'msg_0190abcd-ef01-4000-bfff-ffffffffffff', 'msg_x'])(
  '"%s" is no id',
  text => {
    expect(isMessageId(text)).toBe(false);
  },
);
