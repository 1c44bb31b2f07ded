import {getHeapStatistics, setFlagsFromString} from 'node:v8';
import {runInNewContext} from 'node:vm';
import {expect, test} from 'vitest';
import {StringPool} from './string-pool.ts';

const OBJECT = {
  kind: 'Domain',
  metadata: {name: 'shop.example.com', labels: {'app.kubernetes.io/name': 'shop.example.com'}, generation: 3},
  status: {conditions: [{type: 'Ready', ready: true, message: null}, 'x'.repeat(1000)]},
};

test('it returns exactly what it was given', () => {
  const given = structuredClone(OBJECT);
  const shared = new StringPool().share(given);
  expect(shared).toBe(given);
  expect(shared).toEqual(OBJECT);
});

test('`__proto__` in a label, and nesting without end, do no harm', () => {
  const odd = '{"__proto__": {"a": "b"}, "constructor": "c"}';
  expect(JSON.stringify(new StringPool().share(JSON.parse(odd)))).toBe(JSON.stringify(JSON.parse(odd)));
  expect(({} as {a?: string}).a).toBeUndefined();
  const deep = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000));
  expect(new StringPool().share(deep)).toBe(deep);
});

test('equal strings share one copy, even after the pool was cleared in between', () => {
  const pool = new StringPool(100);
  const text = (n: number) => JSON.stringify([`${'y'.repeat(100)}`, `${n}`]);
  const kept = Array.from({length: 20_000}, (_, n) => pool.share(JSON.parse(text(n)) as string[]));
  const bytes = heapOf(() => Array.from({length: 20_000}, (_, n) => pool.share(JSON.parse(text(n)) as string[])));
  const apart = heapOf(() => Array.from({length: 20_000}, (_, n) => JSON.parse(text(n)) as string[]));
  expect(kept).toHaveLength(20_000);
  expect(apart - bytes, 'a string of 100 characters each').toBeGreaterThan(20_000 * 100);
});

/** How many bytes the created value takes on the heap. */
function heapOf(make: () => unknown): number {
  const before = usedHeap();
  const made = make();
  const after = usedHeap();
  expect(made).toBeDefined();
  return after - before;
}

function usedHeap(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return getHeapStatistics().used_heap_size;
}
