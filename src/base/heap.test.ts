import {expect, test} from 'vitest';
import {Heap} from './heap.ts';

test('items come in order, also if others are added meanwhile', () => {
  const heap = new Heap<number>((a, b) => a < b);
  const added = Array.from({length: 500}, (_, index) => (index * 7919) % 503);
  const taken: number[] = [];
  for (const [index, item] of added.entries()) {
    heap.add(item);
    if (index % 5 !== 4) continue;
    taken.push(heap.first ?? Number.NaN);
    heap.removeFirst();
  }
  const rest: number[] = [];
  for (let first = heap.first; first !== undefined; first = heap.first) {
    rest.push(first);
    heap.removeFirst();
  }
  expect(rest).toEqual(rest.toSorted((a, b) => a - b));
  expect([...taken, ...rest].sort((a, b) => a - b)).toEqual(added.toSorted((a, b) => a - b));
  heap.removeFirst();
  expect(heap.first).toBeUndefined();
});
