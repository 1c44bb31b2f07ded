import {describe, expect, test} from 'vitest';
import {includes, withHash} from './apply.ts';

const THING = {group: 'n.dev', version: 'v1', plural: 'things', kind: 'Thing', namespaced: true};
const ANNOTATION = 'n.dev/hash';

describe('includes', () => {
  test.each([
    {actual: {a: 1, b: 2}, wanted: {a: 1}, want: true},
    {actual: {a: 1}, wanted: {a: 2}, want: false},
    {actual: {}, wanted: {a: 1}, want: false},
    {actual: undefined, wanted: {a: 1}, want: false},
    {actual: {a: {b: 1, c: 2}}, wanted: {a: {b: 1}}, want: true},
    {actual: [{a: 1, defaulted: true}], wanted: [{a: 1}], want: true},
    {actual: [1, 2], wanted: [1], want: false},
    {actual: [2, 1], wanted: [1, 2], want: false},
    {actual: 'text', wanted: {a: 1}, want: false},
    {actual: {a: 1}, wanted: {a: 1, b: null}, want: true},
    {actual: {a: 1, b: 2}, wanted: {a: 1, b: null}, want: false},
    {
      actual: {ownerReferences: [{uid: '1'}, {uid: '2', kind: 'X'}]},
      wanted: {ownerReferences: [{uid: '2'}]},
      want: true,
    },
    {actual: {ownerReferences: [{uid: '1'}]}, wanted: {ownerReferences: [{uid: '2'}]}, want: false},
    {actual: {finalizers: ['a', 'b']}, wanted: {finalizers: ['b']}, want: true},
  ])('$actual holds $wanted: $want', ({actual, wanted, want}) => {
    expect(includes(actual, wanted)).toBe(want);
  });
});

describe('withHash', () => {
  const hashOf = (intent: object) => {
    const metadata = {name: 'x', namespace: 'a'};
    return withHash(THING, {apiVersion: 'n.dev/v1', kind: 'Thing', metadata, ...intent}, ANNOTATION).metadata
      .annotations;
  };

  test('does not depend on the order of keys, nor on what is undefined or null', () => {
    const same = {spec: {b: {d: 3, c: 2}, a: 1, e: undefined, f: null}};
    expect(hashOf({spec: {a: 1, b: {c: 2, d: 3}}})).toEqual(hashOf(same));
  });

  test.each([{spec: {a: 1}}, {spec: {a: 1, b: [2, 1]}}, {spec: {a: 1, b: [1, 2], c: 0}}])('differs for %j', intent => {
    expect(hashOf(intent)).not.toEqual(hashOf({spec: {a: 1, b: [1, 2]}}));
  });
});
