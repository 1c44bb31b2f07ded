/** When a leader gives up, and when it is not ready, without an API server. */
import {pino} from 'pino';
import {Registry} from 'prom-client';
import {expect, test} from 'vitest';
import {ManualClock} from '../../../test/support/manual-clock.ts';
import type {WatchEvent, WatchOptions} from '../kube/calls.ts';
import type {KubeClient} from '../kube/client.ts';
import {TransportError} from '../kube/errors.ts';
import {type KubeObject, resourceType} from '../kube/object.ts';
import {createManager} from './manager.ts';

test('a leader ends after two minutes without an answer, and no sooner', async () => {
  const clock = new ManualClock();
  let silentMs = 0;
  const manager = createManager({
    client: {silentMs: () => silentMs} as KubeClient,
    clock,
    logger: pino({level: 'silent'}),
    registry: new Registry(),
    identity: 'test',
    reportingController: 'test.dev/controller',
  });
  const stop = new AbortController();
  const end = manager.start(stop.signal);
  await clock.advance(60_000);
  silentMs = 119_999;
  await clock.advance(60_000);
  expect(manager.health().leader).toBe(true);
  silentMs = 120_000;
  await clock.advance(60_000);
  stop.abort();
  expect(await end).toMatchObject({reason: 'failed', error: {message: 'the API server has not answered for 120 s'}});
});

test('the age of a cache counts from what its watch said last, not from when the watch was found dead', async () => {
  const clock = new ManualClock();
  const registry = new Registry();
  let isReachable = true;
  let send: (event: WatchEvent<KubeObject>) => void = () => undefined;
  const bookmark = (initialEventsEnd = false) => ({type: 'BOOKMARK', resourceVersion: '1', initialEventsEnd}) as const;
  async function watch(_: unknown, options: WatchOptions, onEvent: (event: WatchEvent<KubeObject>) => void) {
    if (!isReachable) throw new TransportError('watch', 'refused');
    options.onOpen?.();
    if (!options.resourceVersion) onEvent(bookmark(true));
    for (;;) {
      const {promise, resolve} = Promise.withResolvers<WatchEvent<KubeObject> | undefined>();
      send = resolve;
      const over = new AbortController();
      const idle = clock.sleep(options.idleTimeoutMs, AbortSignal.any([over.signal, options.signal]));
      const event = await Promise.race([promise, idle.catch(() => undefined)]);
      over.abort();
      if (!event) throw new TransportError('watch', 'idle');
      onEvent(event);
    }
  }
  const client = {silentMs: () => 0, watch, async *list() {}} as unknown as KubeClient;
  const manager = createManager({
    ...{client, clock, registry, random: () => 0, identity: 'test', reportingController: 'test.dev/controller'},
    logger: pino({level: 'silent'}),
  });
  manager.cache(resourceType('test.dev/v1', 'Thing', 'things'));
  const stop = new AbortController();
  const end = manager.start(stop.signal);
  const health = async () => {
    const metric = await registry.getSingleMetric('reflector_cache_stale_seconds')?.get();
    return {ready: manager.health().ready, staleSeconds: metric?.values[0]?.value};
  };
  await clock.advance(0);
  for (let quiet = 0; quiet < 3; quiet++) {
    await clock.advance(120_000);
    expect(await health()).toEqual({ready: true, staleSeconds: 120});
    send(bookmark());
    await clock.advance(0);
    expect(await health()).toEqual({ready: true, staleSeconds: 0});
  }
  isReachable = false;
  await clock.advance(149_000);
  expect(await health()).toEqual({ready: true, staleSeconds: 149});
  await clock.advance(1000);
  expect(await health()).toEqual({ready: false, staleSeconds: 150});
  await clock.advance(30_000);
  expect(await health()).toEqual({ready: false, staleSeconds: 180});
  isReachable = true;
  await clock.advance(60_000);
  const {ready, staleSeconds = Number.NaN} = await health();
  expect([ready, staleSeconds < 60]).toEqual([true, true]);
  stop.abort();
  await end;
});
