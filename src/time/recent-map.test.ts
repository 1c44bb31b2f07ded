import {expect, test} from 'vitest';
import {RecentMap} from './recent-map.ts';

test('it keeps what was read or set recently, and forgets the rest', () => {
  const map = new RecentMap<number>(2);
  for (const [key, value] of [
    ['a', 1],
    ['b', 2],
    ['c', 3],
  ] as const)
    map.set(key, value);
  expect(map.get('a')).toBe(1); // one generation ago, and now recent again
  map.set('d', 4);
  expect([map.get('a'), map.get('d')]).toEqual([1, 4]);
  expect(map.get('b')).toBeUndefined();
});
