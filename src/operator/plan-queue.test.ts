import {expect, test} from 'vitest';
import type {Domain} from './model/kinds.ts';
import {leavesQueue, nextInQueue} from './plan-queue.ts';

function domain(host: string, second: number, reason = 'PlanLimitReached', namespace = 'ns'): Domain {
  const creationTimestamp = new Date(Date.UTC(2026, 10, 21) + second * 1000).toISOString();
  const status = reason === 'Accepted' ? 'True' : 'False';
  const accepted = {type: 'Accepted', status, reason, message: '', lastTransitionTime: creationTimestamp} as const;
  return {
    apiVersion: 'nameplate.dev/v1alpha1',
    kind: 'Domain',
    metadata: {name: host, namespace, creationTimestamp},
    spec: {host, projectRef: {name: 'shop'}},
    status: {observedGeneration: 1, conditions: [accepted]},
  };
}

test('the 32 oldest of 50,000 waiting Domains are requeued, in order of age', () => {
  const all = Array.from({length: 50_000}, (_, n) => domain(`h${n}`, (n * 7919) % 50_000));
  const oldest = all.toSorted((a, b) =>
    (a.metadata.creationTimestamp ?? '') < (b.metadata.creationTimestamp ?? '') ? -1 : 1,
  );
  expect(nextInQueue(all)).toEqual(oldest.slice(0, 32));
});

test('each namespace has its own queue', () => {
  const mine = Array.from({length: 100}, (_, n) => domain(`a${n}`, n));
  const other = domain('b', 1000, 'PlanLimitReached', 'other');
  expect(nextInQueue([...mine, other])).toEqual([...mine.slice(0, 32), other]);
});

test.each([
  ['got a slot', 'PlanLimitReached', 'Accepted', true],
  ['no longer needs a slot', 'PlanLimitReached', 'RedirectLoop', true],
  ['still waits', 'PlanLimitReached', 'PlanLimitReached', false],
  ['begins to wait', 'Accepted', 'PlanLimitReached', false],
])('a Domain that %s leaves the queue or not', (_, before, now, leaves) => {
  const delta = {type: 'updated', object: domain('a', 0, now), old: domain('a', 0, before), initial: false} as const;
  expect(leavesQueue(delta)).toBe(leaves);
});
