import {pino} from 'pino';
import {Registry} from 'prom-client';
import {expect, test} from 'vitest';
import {systemClock} from '../../base/clock.ts';
import type {KubeClient} from '../kube/client.ts';
import {ReconcileLoop} from './controller.ts';
import {done} from './outcome.ts';

const KEYS = 1000;

/** Takes half a millisecond, and waits for nothing. */
function compute(): void {
  const endsAt = performance.now() + 0.5;
  while (performance.now() < endsAt);
}

test('a timer has its turn while thousands of keys are reconciled that change nothing', async () => {
  const client = {recording: () => client} as unknown as KubeClient;
  const stop = new AbortController();
  let reconciled = 0;
  const reconcile = async () => {
    compute();
    if (++reconciled === KEYS) stop.abort();
    return done();
  };
  const environment = {
    client,
    clock: systemClock,
    logger: pino({level: 'silent'}),
    registry: new Registry(),
    random: Math.random,
    reportFailuresAfterMs: 300_000,
    resyncMs: 36_000_000,
    storesOf: () => [],
  };
  const loop = new ReconcileLoop({name: 'test', reconcile}, environment);
  for (let key = 0; key < KEYS; key++) loop.enqueue(`a/${key}`);
  let before = KEYS;
  setTimeout(() => {
    before = reconciled;
  }, 1);
  await loop.run(stop.signal, new AbortController().signal);
  expect(reconciled).toBe(KEYS);
  expect(before).toBeLessThan(KEYS / 2);
});
