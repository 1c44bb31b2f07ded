import {expect, test} from 'vitest';
import {LogSample} from './log-sample.ts';

test('ten lines per second and account, and how many were omitted before the next one', () => {
  const sample = new LogSample();
  const first = Array.from({length: 50}, () => sample.take('a', 0));
  expect(first.filter(fields => fields !== undefined)).toHaveLength(10);
  expect(first.slice(10)).toEqual(Array.from({length: 40}, () => undefined));
  expect(sample.take('b', 999)).toEqual({omittedBefore: 40});
  expect(sample.take('a', 1000)).toEqual({});
});

test('a hundred lines per second in total', () => {
  const sample = new LogSample();
  const taken = Array.from({length: 200}, (_, n) => sample.take(`account-${n}`, 0));
  expect(taken.filter(fields => fields !== undefined)).toHaveLength(100);
});
