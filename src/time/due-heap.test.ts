import {describe, expect, test} from 'vitest';
import {DueHeap} from './due-heap.ts';

interface Item {
  readonly name: number;
  dueAt: number;
}

function items(count: number, dueAt: (n: number) => number): Item[] {
  return Array.from({length: count}, (_, name) => ({name, dueAt: dueAt(name)}));
}

function heapOf(all: readonly Item[]): DueHeap<Item> {
  const heap = new DueHeap<Item>();
  for (const item of all) heap.add(item);
  return heap;
}

/** Takes all due items, as the scheduler does. */
function take(heap: DueHeap<Item>, now: number): number[] {
  const names: number[] = [];
  for (let item = heap.take(now); item; item = heap.take(now)) {
    item.dueAt = Number.POSITIVE_INFINITY;
    names.push(item.name);
  }
  return names;
}

describe('what is due', () => {
  test('comes in order of time, and nothing else comes', () => {
    const all = items(1000, n => (n * 7919) % 1000);
    const heap = heapOf(all);
    const byTime = all.toSorted((a, b) => a.dueAt - b.dueAt).map(({name}) => name);
    expect(heap.nextDueAt).toBe(0);
    expect(take(heap, 499)).toEqual(byTime.slice(0, 500));
    expect(heap.nextDueAt).toBe(500);
    expect(take(heap, 10_000)).toEqual(byTime.slice(500));
    expect(heap.nextDueAt).toBe(Number.POSITIVE_INFINITY);
  });

  test('comes at its last time, whether that is earlier or later', () => {
    const all = items(3, () => 10);
    const heap = heapOf(all);
    for (const [n, dueAt] of [5, 20, Number.POSITIVE_INFINITY].entries()) {
      const item = all[n];
      if (!item) throw new Error('three items');
      item.dueAt = dueAt;
      heap.add(item);
    }
    expect(take(heap, 10)).toEqual([0]);
    expect(take(heap, 100)).toEqual([1]);
    expect(heap.nextDueAt).toBe(Number.POSITIVE_INFINITY);
  });
});

describe('the work', () => {
  const COUNT = 100_000;

  test('stays small for one name that is rescheduled 100,000 times', () => {
    const [item] = items(1, () => 0);
    if (!item) throw new Error('one item');
    const heap = heapOf([item]);
    for (let n = 0; n < COUNT; n++) {
      item.dueAt = COUNT - n;
      heap.add(item);
    }
    expect(heap.size).toBeLessThan(100);
    expect(heap.nextDueAt).toBe(1);
    expect(take(heap, COUNT)).toEqual([0]);
  });
});
