import {beforeEach, expect, test} from 'vitest';
import {ManualClock} from '../../../test/support/manual-clock.ts';
import type {Reconcile, ReconcileContext} from '../../runtime/controller/controller.ts';
import {done} from '../../runtime/controller/outcome.ts';
import {ApiError} from '../../runtime/kube/errors.ts';
import {Outdated} from './outdated.ts';

test('a Domain that differs counts as it is after five seconds, and subscribers hear of each change', async () => {
  const clock = new ManualClock();
  const outdated = new Outdated(clock);
  const heard: string[] = [];
  outdated.subscribe(key => heard.push(`${key} ${outdated.isInForce(key)}`));
  expect(outdated.differs('a/x', false)).toBe(5000);
  await clock.advance(3000);
  expect(outdated.differs('a/x', false)).toBe(2000);
  expect(heard).toEqual([]);
  await clock.advance(2000);
  expect([outdated.differs('a/x', false), outdated.differs('a/x', false)]).toEqual([0, 0]);
  expect(outdated.lateInMs('a/x')).toBe(55_000);
  outdated.forget('a/x');
  expect(heard).toEqual(['a/x true', 'a/x false']);
  expect(outdated.differs('a/x', false)).toBe(5000);
});

test('during a pause, the spec counts immediately; the change has its time after the pause', async () => {
  const clock = new ManualClock();
  const outdated = new Outdated(clock);
  expect(outdated.differs('a/x', true)).toBe(0);
  await clock.advance(60_000);
  expect(outdated.differs('a/x', true)).toBe(0);
  expect(outdated.isInForce('a/x')).toBe(true);
  expect(outdated.differs('a/x', false)).toBe(5000);
  expect(outdated.isInForce('a/x')).toBe(false);
});

let refusing: Outdated;
let told: string[];
/** The error that the next reconcile throws. */
let failure: Error | undefined;
let reconcile: () => ReturnType<Reconcile>;

beforeEach(() => {
  [refusing, told, failure] = [new Outdated(new ManualClock()), [], undefined];
  refusing.subscribe(key => told.push(`${key}: ${refusing.refusalOf(key)}`));
  const observed = refusing.observing(async () => {
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
  expect(refusing.refusalOf('a/b')).toBe('POST: 403: exceeded quota');
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
  expect(refusing.refusalOf('a/b')).toBeUndefined();
  failure = answer(422, 'no');
  await expect(reconcile()).rejects.toBe(failure);
  failure = other;
  await expect(reconcile()).rejects.toBe(other);
  expect(refusing.refusalOf('a/b')).toBe('POST: 422: no');
});
