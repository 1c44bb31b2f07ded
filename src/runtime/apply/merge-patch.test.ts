import {expect, test} from 'vitest';
import {mergePatch, withoutNulls} from './merge-patch.ts';

test.each([
  {from: {a: 1, b: 2}, to: {a: 1}, merged: 0, want: {b: null}},
  {from: {a: 1, b: 2}, to: {a: 1}, merged: 1, want: {}},
  {from: {a: {b: 1, c: 2}}, to: {a: {b: 3}}, merged: 1, want: {a: {b: 3, c: null}}},
  {from: {a: {b: 1, c: 2}}, to: {a: {b: 3}}, merged: 2, want: {a: {b: 3}}},
  {from: {a: [1, 2]}, to: {a: [2]}, merged: 0, want: {a: [2]}},
  {from: undefined, to: {a: {b: 1}}, merged: 0, want: {a: {b: 1}}},
  {from: {a: 1}, to: {a: null, b: null}, merged: 1, want: {a: null}},
])('from $from to $to, merging $merged levels: $want', ({from, to, merged, want}) => {
  expect(mergePatch(from, to, merged)).toEqual(want);
});

test('nulls are left out at every depth', () => {
  expect(withoutNulls({a: null, b: {c: null, d: [{e: null, f: 1}]}})).toEqual({b: {d: [{f: 1}]}});
});
