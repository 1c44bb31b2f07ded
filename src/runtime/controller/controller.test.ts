import {once} from 'node:events';
import {setImmediate} from 'node:timers/promises';
import {pino} from 'pino';
import {Registry} from 'prom-client';
import {expect, test} from 'vitest';
import {ManualClock} from '../../../test/support/manual-clock.ts';
import {systemClock} from '../../time/clock.ts';
import {DeadlineError} from '../../time/deadline.ts';
import {Store} from '../cache/store.ts';
import type {KubeClient} from '../kube/client.ts';
import {type Reconcile, ReconcileLoop} from './controller.ts';
import {done} from './outcome.ts';

const KEYS = 1000;

const client = {recording: () => client} as unknown as KubeClient;
const environment = () => ({
  client,
  clock: systemClock,
  logger: pino({level: 'silent'}),
  registry: new Registry(),
  random: Math.random,
  reportFailuresAfterMs: 300_000,
  resyncMs: 36_000_000,
  storesOf: () => [],
});

/** Takes half a millisecond, and waits for nothing. */
function compute(): void {
  const endsAt = performance.now() + 0.5;
  while (performance.now() < endsAt);
}

test('a timer has its turn while thousands of keys are reconciled that change nothing', async () => {
  const stop = new AbortController();
  let reconciled = 0;
  const reconcile = async () => {
    compute();
    if (++reconciled === KEYS) stop.abort();
    return done();
  };
  const loop = new ReconcileLoop({name: 'test', reconcile}, environment());
  for (let key = 0; key < KEYS; key++) loop.enqueue(`a/${key}`);
  let before = KEYS;
  setTimeout(() => {
    before = reconciled;
  }, 1);
  await loop.run(stop.signal, new AbortController().signal);
  expect(reconciled).toBe(KEYS);
  expect(before).toBeLessThan(KEYS / 2);
});

test('objects that keep being added do not delay the resync of the others', async () => {
  const stop = new AbortController();
  const store = new Store({onHandlerError: () => undefined});
  const add = (name: string) =>
    store.upsert({apiVersion: 'v1', kind: 'ConfigMap', metadata: {namespace: 'a', name, uid: name}});
  store.replace(new Map(), '1');
  add('first');
  let ofFirst = 0;
  const reconcile = async (key: string) => {
    if (key === 'a/first' && ++ofFirst === 4) stop.abort();
    else add(`more-${store.size}`);
    return done();
  };
  const loop = new ReconcileLoop({name: 'test', reconcile}, {...environment(), resyncMs: 20});
  // Resynced objects count as initial; added ones do not.
  loop.watch(store, ({object, initial}) => {
    if (object.metadata.name === 'first') return ['a/first'];
    return initial ? ['a/more'] : [];
  });
  await loop.run(stop.signal, new AbortController().signal);
  expect(ofFirst).toBe(4);
});

test('each of several reconciles is aborted at its own deadline', async () => {
  const clock = new ManualClock();
  const [stop, abandon] = [new AbortController(), new AbortController()];
  const aborted: string[] = [];
  const begun = Promise.withResolvers<void>();
  const reconcile: Reconcile = async (key, {signal}) => {
    begun.resolve();
    await once(signal, 'abort');
    if (signal.reason instanceof DeadlineError) aborted.push(key);
    return done();
  };
  const loop = new ReconcileLoop({name: 'test', reconcile, reconcileTimeoutMs: 100}, {...environment(), clock});
  loop.enqueue('a/early');
  const end = loop.run(stop.signal, abandon.signal);
  await begun.promise;
  loop.enqueue('a/late', {afterMs: 50});
  const after = async (ms: number) => {
    await clock.advance(ms);
    return aborted.join();
  };
  expect([await after(99), await after(1), await after(49), await after(1)]).toEqual([
    '',
    'a/early',
    'a/early',
    'a/early,a/late',
  ]);
  stop.abort();
  await end;
});

test('a reconcile that starts when all must end has an aborted signal from the start', async () => {
  const [stop, abandon] = [new AbortController(), new AbortController()];
  const reasons: unknown[] = [];
  const reconcile: Reconcile = async (_key, {signal}) => {
    reasons.push(signal.reason);
    return done();
  };
  const loop = new ReconcileLoop({name: 'test', reconcile}, environment());
  const end = loop.run(stop.signal, abandon.signal);
  await setImmediate();
  loop.enqueue('a/x'); // a worker has it, but has not begun
  stop.abort();
  abandon.abort('lost');
  await end;
  expect(reasons).toEqual(['lost']);
});
