import {expect, test} from 'vitest';
import {AccountLimiter} from './limiter.ts';

const limits = {requestsPerSecond: 10, bytesPerSecond: 1000, answerBytesPerSecond: 100, burstSeconds: 2};

/** How many of `count` requests at `now` pass. */
function passing(limiter: AccountLimiter, account: string, count: number, now: number): number {
  return Array.from({length: count}, () => limiter.take(account, now)).filter(excess => excess === undefined).length;
}

// attack: message-work
test('a burst passes, then as many as the rate gives back', () => {
  const limiter = new AccountLimiter(limits);
  expect(passing(limiter, 'a', 100, 0)).toBe(20);
  expect(passing(limiter, 'a', 100, 99)).toBe(0);
  expect(passing(limiter, 'a', 100, 500)).toBe(5);
  expect(passing(limiter, 'b', 100, 500), 'another account has its own').toBe(20);
});

test('bytes have a bucket of their own', () => {
  const limiter = new AccountLimiter(limits);
  expect(
    Array.from({length: 9}, () => limiter.takeBytes('a', 400, 0)).filter(excess => excess === undefined),
  ).toHaveLength(5);
  expect(limiter.takeBytes('a', 400, 0)).toEqual({limit: 'bytes', perSecond: 1000, retryAfterMs: 400});
  expect(limiter.take('a', 0)).toBeUndefined();
});

test('bytes that were received already count in any case; requests after them wait', () => {
  const limiter = new AccountLimiter(limits);
  expect(limiter.takeBytes('a', 1500, 0)).toBeUndefined();
  expect(limiter.takeBytes('a', 600, 0)).toEqual({limit: 'bytes', perSecond: 1000, retryAfterMs: 100});
  limiter.spend('a', 'bytes', 501, 0);
  expect(limiter.take('a', 0)).toEqual({limit: 'bytes', perSecond: 1000, retryAfterMs: 1});
});

// attack: message-work
test('an answer passes whatever its length; requests after it wait', () => {
  const limiter = new AccountLimiter(limits);
  expect(limiter.spend('a', 'answers', 500, 0)).toBe(5000);
  expect(limiter.take('a', 0)).toEqual({limit: 'answers', perSecond: 100, retryAfterMs: 3000});
  expect(limiter.take('a', 3000)).toBeUndefined();
});

test('a rejection says when to retry, and the retry succeeds', () => {
  const limiter = new AccountLimiter(limits);
  passing(limiter, 'a', 20, 0);
  expect(limiter.take('a', 30)).toEqual({limit: 'requests', perSecond: 10, retryAfterMs: 70});
  expect(limiter.take('a', 100)).toBeUndefined();
});

test('two that share allow together what one would, apart from what they did not know of each other yet', () => {
  const [one, two] = [new AccountLimiter(limits, {isShared: true}), new AccountLimiter(limits, {isShared: true})];
  expect(passing(one, 'a', 100, 0)).toBe(20);
  expect(passing(two, 'a', 8, 0)).toBe(8);
  expect(one.takeBytes('a', 200, 0)).toBeUndefined();
  expect(two.takeBytes('a', 100, 0)).toBeUndefined();
  two.spend('a', 'answers', 30, 0);
  expect([...one.unshared(), ...two.unshared()]).toEqual([
    ['a', {requests: 2000, bytes: 200, answers: 0}],
    ['a', {requests: 800, bytes: 100, answers: 300}],
  ]);
  for (const limiter of [one, two]) limiter.share('a', {requests: 2800, bytes: 300, answers: 300}, 0);
  expect(passing(two, 'a', 100, 800)).toBe(0);
  expect(passing(two, 'a', 100, 900)).toBe(1);
  two.share('a', {requests: -1, bytes: -1, answers: -1}, 10_000);
  expect(passing(two, 'a', 100, 10_000), 'except for the one that was not shared yet').toBe(19);
});
