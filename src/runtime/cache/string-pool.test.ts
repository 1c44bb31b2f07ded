import {expect, test} from 'vitest';
import {inSmallHeap} from '../../../test/support/small-heap.ts';
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

test('equal strings share one copy, even after the pool was cleared in between', async () => {
  const keep = (share: string) => `
    const {StringPool} = await import('runtime/cache/string-pool.ts');
    const pool = new StringPool(100);
    const share = ${share};
    const kept = [];
    for (let n = 0; n < 300_000; n++) kept.push(share(JSON.parse(JSON.stringify(['y'.repeat(200), String(n)]))));
  `;
  await inSmallHeap(64, keep('value => pool.share(value)'));
  await expect(inSmallHeap(64, keep('value => value'))).rejects.toThrow('memory limit');
});
