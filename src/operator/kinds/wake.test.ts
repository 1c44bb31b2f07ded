import {expect, test} from 'vitest';
import {earliest, outcomeOf} from './wake.ts';
import {PausedError} from './write-conditions.ts';

const NOW = 100_000;
const failure = new Error('refused');

test.each([
  {what: 'nothing is due', failures: [undefined], wakeAtMs: undefined, want: {kind: 'done'}},
  {what: 'something is due', failures: [], wakeAtMs: NOW + 5000, want: {kind: 'after', ms: 5000}},
  {what: 'it was due long ago', failures: [], wakeAtMs: 1, want: {kind: 'after', ms: 1000}},
  {what: 'a write failed', failures: [undefined, failure], wakeAtMs: NOW, want: {kind: 'retry', error: failure}},
  {
    what: 'one failed, another was paused',
    failures: [new PausedError(), failure],
    want: {kind: 'retry', error: failure},
  },
  {what: 'a write was paused', failures: [new PausedError()], wakeAtMs: NOW + 5000, want: {kind: 'after', ms: 5000}},
])('$what', ({failures, wakeAtMs, want}) => {
  expect(outcomeOf(failures, wakeAtMs, NOW)).toEqual(want);
});

test('the first of some times', () => {
  expect([earliest(), earliest(undefined), earliest(3, undefined, 2)]).toEqual([undefined, undefined, 2]);
});
