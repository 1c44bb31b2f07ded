import {expect, test} from 'vitest';
import {ManualClock} from '../../../test/support/manual-clock.ts';
import type {RateUsages} from '../store/store.ts';
import {AccountLimiter, shareLimits} from './limiter.ts';

const limits = {requestsPerSecond: 10, bytesPerSecond: 1000, answerBytesPerSecond: 100, burstSeconds: 2};

/** A pod whose exchanges fail as long as `isDown`. */
function start() {
  const clock = new ManualClock();
  const limiter = new AccountLimiter(limits, {isShared: true});
  const pod = {clock, limiter, isDown: true, sent: [] as [string, object][][], stop: async () => {}};
  const exchange = async (used: RateUsages) => {
    pod.sent.push([...used]);
    return pod.isDown ? undefined : used;
  };
  const end = new AbortController();
  const sharing = shareLimits({limiter, exchange, clock}, end.signal);
  pod.stop = async () => {
    end.abort();
    await sharing;
  };
  return pod;
}

// attack: many-pods
test('what was used while the exchange failed is shared by the next one that succeeds, once', async () => {
  const pod = start();
  pod.limiter.take('a', 0);
  pod.limiter.takeBytes('a', 10, 0);
  await pod.clock.advance(100);
  pod.limiter.spend('a', 'answers', 3, 100);
  pod.isDown = false;
  await pod.clock.advance(200);
  await pod.stop();
  expect(pod.sent).toEqual([
    [['a', {requests: 100, bytes: 10, answers: 0}]],
    [['a', {requests: 100, bytes: 10, answers: 30}]],
  ]);
});

// attack: many-pods
test('however long it failed, an account pays for a burst at most', async () => {
  const pod = start();
  for (let second = 0; second < 10; second++) {
    for (let n = 0; n < 10; n++) pod.limiter.take('a', 1000 * second);
    await pod.clock.advance(1000);
  }
  expect(pod.sent.at(-1)).toEqual([['a', {requests: 2000, bytes: 0, answers: 0}]]);
  await pod.stop();
});
