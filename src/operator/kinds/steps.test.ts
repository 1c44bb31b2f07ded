import {expect, test} from 'vitest';
import {ApiError, TransportError} from '../../runtime/kube/errors.ts';
import {earliest, outcomeOf, PausedError, stepAfter} from './steps.ts';

const NOW = 100_000;
const failure = new Error('refused');

test.each([
  {what: 'nothing is due', steps: [{}], want: {kind: 'done'}},
  {what: 'something is due', steps: [{}, {wakeAtMs: NOW + 5000}], want: {kind: 'after', ms: 5000}},
  {what: 'it was due long ago', steps: [{wakeAtMs: 1}], want: {kind: 'after', ms: 1000}},
  {what: 'a write failed', steps: [{wakeAtMs: NOW}, {failure}], want: {kind: 'retry', error: failure}},
  {
    what: 'one failed, another was paused',
    steps: [{failure: new PausedError()}, {failure}],
    want: {kind: 'retry', error: failure},
  },
  {
    what: 'a write was paused',
    steps: [{failure: new PausedError(), wakeAtMs: NOW + 5000}],
    want: {kind: 'after', ms: 5000},
  },
])('$what', ({steps, want}) => {
  expect(outcomeOf(steps, NOW)).toEqual(want);
});

test('the first of some times', () => {
  expect([earliest(), earliest(undefined), earliest(3, undefined, 2)]).toEqual([undefined, undefined, 2]);
});

const error = (status: number) => new ApiError('PATCH /x', status, {message: 'no'});
const timeout = new TransportError('PATCH /x', new Error('no answer within 15000 ms'));
const LAST = {reason: 'Serving'};
const AGAIN = {reason: 'Retrying', message: 'as reported before'};

test.each([
  {case: 'a refusal', failure: error(403), works: true, keepsFailing: false, last: LAST, want: 'Refused'},
  {case: 'a refusal that lasts', failure: error(403), works: true, keepsFailing: true, last: LAST, want: 'Refused'},
  {case: 'a timeout', failure: timeout, works: false, keepsFailing: false, last: LAST, want: 'Serving'},
  ...[429, 503].map(error).flatMap(failure => [
    {case: 'overload', failure, works: false, keepsFailing: false, last: LAST, want: 'Serving'},
    {case: 'overload that lasts', failure, works: false, keepsFailing: true, last: LAST, want: 'Retrying'},
    {case: 'overload that is reported', failure, works: false, keepsFailing: true, last: AGAIN, want: AGAIN},
    {case: 'overload of what works', failure, works: true, keepsFailing: true, last: LAST, want: 'Serving'},
  ]),
  {case: 'a pause', failure: new PausedError(), works: true, keepsFailing: false, last: LAST, want: 'Paused'},
])('$case, $failure.message: $want', ({failure, works, keepsFailing, last, want}) => {
  const [refused, retrying] = ['Refused', 'Retrying'].map(reason => (message: string) => ({reason, message})) as [M, M];
  const paused = () => ({reason: 'Paused'});
  const after = {works, keepsFailing, last, refused, retrying, paused};
  const {condition, failure: why} = stepAfter<{reason: string}>(failure, after);
  expect(why).toBe(failure);
  if (typeof want === 'string') expect(condition.reason).toBe(want);
  else expect(condition).toBe(want);
});

type M = (message: string) => {reason: string; message: string};

test.each([
  {case: 'a lost race', failure: error(409), last: LAST},
  {case: 'a mistake', failure: new TypeError('x is undefined'), last: LAST},
  {case: 'overload before the first condition', failure: error(503), last: undefined},
])('$case is thrown', ({failure, last}) => {
  const never = () => expect.unreachable();
  const after = {works: true, keepsFailing: false, last, refused: never, retrying: never};
  expect(() => stepAfter<{reason: string}>(failure, after)).toThrow(failure);
});
