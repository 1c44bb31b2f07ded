import {expect, test} from 'vitest';
import {LogSample} from './log-sample.ts';

test('ten lines per second and account, and how many were omitted before the next one', () => {
  const sample = new LogSample();
  const first = Array.from({length: 50}, () => sample.take('a', 0));
  expect(first.filter(omitted => omitted === 0)).toHaveLength(10);
  expect(first.slice(10)).toEqual(Array.from({length: 40}, () => undefined));
  expect(sample.take('b', 999)).toBe(40);
  expect(sample.take('a', 1000)).toBe(0);
});

test('a hundred lines per second in total', () => {
  const sample = new LogSample();
  const taken = Array.from({length: 200}, (_, n) => sample.take(`account-${n}`, 0));
  expect(taken.filter(omitted => omitted !== undefined)).toHaveLength(100);
});
