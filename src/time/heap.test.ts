import {expect, test} from 'vitest';
import {Heap} from './heap.ts';

test('items come in order, also if others are added meanwhile', () => {
  const heap = new Heap<number>((a, b) => a < b);
  const added = Array.from({length: 500}, (_, index) => (index * 7919) % 503);
  const taken: number[] = [];
  for (const [index, item] of added.entries()) {
    heap.add(item);
    if (index % 5 !== 4) continue;
    const {first} = heap;
    expect(heap.removeFirst()).toBe(first);
    taken.push(first ?? Number.NaN);
  }
  const rest = drain(heap);
  expect(rest).toEqual(rest.toSorted((a, b) => a - b));
  expect([...taken, ...rest].sort((a, b) => a - b)).toEqual(added.toSorted((a, b) => a - b));
  expect(heap.removeFirst()).toBeUndefined();
  expect(heap.first).toBeUndefined();
});

test('the items that are kept still come in order', () => {
  const heap = new Heap<number>((a, b) => a < b);
  for (let n = 0; n < 500; n++) heap.add((n * 7919) % 503);
  const {size} = heap;
  heap.keep(item => item % 3 === 1);
  expect(heap.size).toBeLessThan(size / 2);
  const rest = drain(heap);
  expect(rest.every(item => item % 3 === 1)).toBe(true);
  expect(rest).toEqual(rest.toSorted((a, b) => a - b));
});

// attack: hostile-dns
test('each of the first of 100,000 items is found with few comparisons', () => {
  let compared = 0;
  const heap = new Heap<number>((a, b) => {
    compared += 1;
    return a < b;
  });
  for (let n = 0; n < 100_000; n++) heap.add((n * 7919) % 100_003);
  compared = 0;
  for (let n = 0; n < 10; n++) heap.removeFirst();
  expect(compared).toBeLessThan(10 * 2 * 17); // two for each level
});

function drain(heap: Heap<number>): number[] {
  const items: number[] = [];
  for (let item = heap.removeFirst(); item !== undefined; item = heap.removeFirst()) items.push(item);
  return items;
}
