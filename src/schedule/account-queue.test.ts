import {expect, test} from 'vitest';
import {AccountQueue} from './account-queue.ts';

test('accounts take turns, and each has no more than its places', () => {
  const queue = new AccountQueue(2);
  for (const key of ['a1', 'a2', 'a3', 'a4']) queue.add('a', key);
  for (const key of ['b1', 'b2']) queue.add('b', key);
  const taken = Array.from({length: 6}, () => queue.take()?.key);
  expect(taken).toEqual(['a1', 'b1', 'a2', 'b2', undefined, undefined]);
  queue.done('a');
  expect(queue.take()).toEqual({account: 'a', key: 'a3'});
  queue.remove('a', 'a4');
  queue.done('a');
  expect(queue.take()).toBeUndefined();
});

test('a key that is added twice is taken once', () => {
  const queue = new AccountQueue(2);
  queue.add('a', 'k');
  queue.add('a', 'k');
  expect([queue.take()?.key, queue.take()?.key]).toEqual(['k', undefined]);
});
