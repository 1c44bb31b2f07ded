import {beforeEach, expect, test} from 'vitest';
import {ApiError} from '../kube/errors.ts';
import type {Reconcile, ReconcileContext} from './controller.ts';
import {done} from './outcome.ts';
import {Refusals} from './refusals.ts';

let refusals: Refusals;
let told: string[];
/** The error that the next reconcile throws. */
let failure: Error | undefined;
let reconcile: () => ReturnType<Reconcile>;

beforeEach(() => {
  [refusals, told, failure] = [new Refusals(), [], undefined];
  refusals.subscribe(key => told.push(`${key}: ${refusals.get(key)}`));
  const observed = refusals.of(async () => {
    if (failure) throw failure;
    return done();
  });
  reconcile = () => observed('a/b', {} as ReconcileContext);
});

const answer = (status: number, message: string) => new ApiError('POST', status, {message});

test('a refusal is remembered and told once, and forgotten after a success', async () => {
  failure = answer(403, 'exceeded quota');
  await expect(reconcile()).rejects.toBe(failure);
  await expect(reconcile()).rejects.toBe(failure);
  expect(refusals.get('a/b')).toBe('POST: 403: exceeded quota');
  failure = undefined;
  expect(await reconcile()).toEqual(done());
  expect(told).toEqual(['a/b: POST: 403: exceeded quota', 'a/b: undefined']);
});

test.each([
  {what: 'an outage', other: answer(503, 'come back later')},
  {what: 'a race', other: answer(409, 'somebody else was faster')},
  {what: 'a mistake in the program', other: new TypeError('x is not a function')},
])('$what neither is a refusal nor ends one', async ({other}) => {
  failure = other;
  await expect(reconcile()).rejects.toBe(other);
  expect(refusals.get('a/b')).toBeUndefined();
  failure = answer(422, 'no');
  await expect(reconcile()).rejects.toBe(failure);
  failure = other;
  await expect(reconcile()).rejects.toBe(other);
  expect(refusals.get('a/b')).toBe('POST: 422: no');
});
