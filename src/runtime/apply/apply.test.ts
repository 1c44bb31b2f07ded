import {describe, expect, test} from 'vitest';
import {ManualClock} from '../../../test/support/manual-clock.ts';
import type {ReadonlyStore} from '../cache/store.ts';
import type {KubeClient} from '../kube/client.ts';
import {type KubeObject, keyOf} from '../kube/object.ts';
import {applyIfChanged, includes, withHash} from './apply.ts';
import {Corrections, identify} from './corrections.ts';

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

test.each<{what: string; undo: (objects: Map<string, KubeObject>, object: KubeObject) => void}>([
  {what: 'changing', undo: (objects, object) => objects.set(keyOf(object), {...object, spec: 'theirs'} as KubeObject)},
  {what: 'deleting', undo: (objects, object) => objects.delete(keyOf(object))},
])(
  'an object that another program keeps $what is written again immediately five times, and then after longer and longer pauses',
  async ({undo}) => {
    const clock = new ManualClock();
    const corrections = new Corrections(clock);
    const objects = new Map<string, KubeObject>();
    const store = objects as unknown as ReadonlyStore<KubeObject>;
    const write = (object: KubeObject) => {
      objects.set(keyOf(object), object);
      return object;
    };
    const client = {
      create: async (_: unknown, object: KubeObject) => write(object),
      patch: async () => write(withHash(THING, intent, ANNOTATION)),
    } as unknown as KubeClient;
    const intent = {apiVersion: 'n.dev/v1', kind: 'Thing', metadata: {name: 'x', namespace: 'a'}, spec: 'ours'};
    const seconds: number[] = [];
    while (seconds.length < 9) {
      const {changed, object} = await applyIfChanged(client, store, THING, intent, {
        hashAnnotation: ANNOTATION,
        corrections,
      });
      if (changed) seconds.push(clock.now() / 1000);
      if (changed) undo(objects, object as KubeObject);
      else expect(object).toBe(objects.get('a/x'));
      if (!changed) await clock.advance(corrections.contestedMs(identify(THING, intent)) ?? 0);
    }
    expect(seconds).toEqual([0, 0, 0, 0, 0, 0, 1, 3, 7]);
  },
);

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
