import {describe, expect, test} from 'vitest';
import {compareResourceVersions, formatKey, microTime} from './object.ts';

describe('compareResourceVersions', () => {
  test.each([
    {a: '5', b: '5', want: 0},
    {a: '9', b: '10', want: -1},
    {a: '99999999999999999999', b: '99999999999999999998', want: 1},
    {a: '0', b: '1', want: -1},
    {a: '', b: '1', want: undefined},
    {a: 'abc', b: '1', want: undefined},
    {a: '01', b: '1', want: undefined},
  ])('$a and $b: $want', ({a, b, want}) => {
    const order = compareResourceVersions(a, b);
    expect(order === undefined ? undefined : Math.sign(order)).toBe(want);
  });
});

test.each([
  {key: {namespace: 'a', name: 'b'}, text: 'a/b'},
  {key: {name: 'shop.example.com'}, text: 'shop.example.com'},
])('the key $text', ({key, text}) => {
  expect(formatKey(key)).toBe(text);
});

test('a MicroTime has six digits', () => {
  expect(microTime(Date.UTC(2026, 0, 2, 3, 4, 5, 6))).toBe('2026-01-02T03:04:05.006000Z');
});
