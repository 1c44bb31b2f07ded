import {beforeEach, expect, test} from 'vitest';
import {FairQueue} from './fair-queue.ts';

let queue: FairQueue<number>;
beforeEach(() => {
  queue = new FairQueue();
});

/** Takes all keys. Returns them in the order in which they were taken. */
function takeAll(mayTake?: (group: string) => boolean): string[] {
  const keys: string[] = [];
  for (let next = queue.takeFirst(mayTake); next; next = queue.takeFirst(mayTake)) keys.push(next[0]);
  return keys;
}

test('groups take turns, and keys of a group come in the order in which they were added', () => {
  for (const key of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']) queue.add(key.slice(0, 1), key, 1);
  expect([queue.size, queue.sizeOf('a'), queue.sizeOf('d')]).toEqual([6, 3, 0]);
  expect(takeAll()).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
  expect([queue.size, queue.sizeOf('a')]).toEqual([0, 0]);
});

test('a group that may not be taken from is skipped and keeps its place', () => {
  for (const key of ['a1', 'a2', 'b1', 'b2', 'c1']) queue.add(key.slice(0, 1), key, 1);
  expect(takeAll(group => group !== 'a')).toEqual(['b1', 'c1', 'b2']);
  queue.add('b', 'b3', 1);
  expect(takeAll()).toEqual(['a1', 'b3', 'a2']);
});

test('a key that was removed is not taken, and one key may be in two groups', () => {
  queue.add('a', 'key', 1);
  queue.add('b', 'key', 2);
  expect(queue.remove('a', 'key')).toBe(1);
  expect(queue.remove('a', 'key')).toBeUndefined();
  expect([queue.has('a', 'key'), queue.has('b', 'key')]).toEqual([false, true]);
  expect(queue.takeFirst()).toEqual(['key', 2]);
  expect(queue.takeFirst()).toBeUndefined();
});
