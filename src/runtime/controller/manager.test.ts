/** When a leader gives up, without an API server. */
import {pino} from 'pino';
import {Registry} from 'prom-client';
import {expect, test} from 'vitest';
import {ManualClock} from '../../../test/support/manual-clock.ts';
import type {KubeClient} from '../kube/client.ts';
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
