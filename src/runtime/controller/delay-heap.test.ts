import {expect, test} from 'vitest';
import {DelayHeap} from './delay-heap.ts';

test('gives out what is due, earliest first', () => {
  const heap = new DelayHeap();
  for (const [key, dueAt] of [
    ['c', 30],
    ['a', 10],
    ['d', 40],
    ['b', 20],
  ] as const)
    heap.add(key, dueAt);
  expect(heap.nextDueAt).toBe(10);
  expect(heap.takeDue(30)).toEqual(['a', 'b', 'c']);
  expect(heap.takeDue(30)).toEqual([]);
  expect(heap.nextDueAt).toBe(40);
  expect(heap.size).toBe(1);
});

test('a key has one time: the earliest', () => {
  const heap = new DelayHeap();
  heap.add('a', 20);
  heap.add('a', 10);
  heap.add('a', 30);
  expect(heap.size).toBe(1);
  expect(heap.takeDue(10)).toEqual(['a']);
  expect(heap.takeDue(100)).toEqual([]);
});

test('a key may come back after it was given out', () => {
  const heap = new DelayHeap();
  heap.add('a', 20);
  heap.add('a', 10);
  heap.takeDue(10);
  heap.add('a', 20);
  expect(heap.takeDue(20)).toEqual(['a']);
  expect(heap.nextDueAt).toBeUndefined();
});

test('many keys come out in order', () => {
  const heap = new DelayHeap();
  const times = Array.from({length: 1_000}, (_, i) => (i * 7_919) % 1_000);
  for (const time of times) heap.add(`key-${time}`, time);
  expect(heap.takeDue(1_000)).toEqual(times.toSorted((a, b) => a - b).map(time => `key-${time}`));
});
