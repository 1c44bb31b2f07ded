import {Registry} from 'prom-client';
import {expect, onTestFinished, test} from 'vitest';
import {ManualClock} from '../../test/support/manual-clock.ts';
import {createProber} from './prober.ts';
import type {Address} from './visit.ts';

const SECOND = 1000;

/** A prober without an edge: each probe ends immediately, and fails. */
function proberOf(hosts: number, addresses: () => readonly Address[] = () => []) {
  const clock = new ManualClock();
  const registry = new Registry();
  const prober = createProber({
    settings: {steadySeconds: 15, perSecond: 10, failAfterSeconds: 30, timeoutMs: 5000},
    addresses,
    clock,
    registry,
    onError: (_, error) => expect.fail(String(error)),
    onReachable: () => undefined,
  });
  const keys = Array.from({length: hosts}, (_, index) => `shop-${index}.test`);
  for (const [index, host] of keys.entries()) {
    prober.watch(host, {account: `a${index % 50}`, uid: host, question: {host}, urgency: 'steady'});
  }
  const stop = new AbortController();
  const ended = prober.start(stop.signal);
  onTestFinished(() => {
    stop.abort();
    return ended;
  });
  const count = async () => {
    const found = await registry.getSingleMetric('nameplate_probes_total')?.get();
    return found?.values.reduce((sum, {value}) => sum + value, 0) ?? 0;
  };
  return {clock, count, prober, probed: () => keys.filter(key => prober.get(key)).length};
}

test('few hosts are each probed within steadySeconds', async () => {
  const {clock, probed} = proberOf(100);
  await clock.advance(15 * SECOND);
  expect(probed()).toBe(100);
});

test('more hosts than perSecond allows are probed less often: 1,000 take 100 s', async () => {
  const {clock, probed} = proberOf(1000);
  await clock.advance(15 * SECOND);
  expect(probed()).toBeGreaterThan(100);
  expect(probed()).toBeLessThan(200);
  await clock.advance(85 * SECOND);
  expect(probed()).toBe(1000);
});

test('hosts that fail are retried no faster than perSecond allows, once they have failed for a while', async () => {
  const {clock, count} = proberOf(1000);
  await clock.advance(1000 * SECOND);
  const before = await count();
  await clock.advance(100 * SECOND);
  expect((await count()) - before).toBeGreaterThan(900);
  expect((await count()) - before).toBeLessThan(1100);
});

test('an edge that loses its address cannot be reached; one that never had any is not probed', async () => {
  expect(proberOf(0).prober.isOn).toBe(false);
  let known: readonly Address[] = [{host: '127.0.0.1', port: 1}];
  const {prober, clock, probed} = proberOf(1, () => known);
  expect(prober.isOn).toBe(true);
  known = [];
  expect(prober.isOn).toBe(true);
  await clock.advance(15 * SECOND);
  expect(probed()).toBe(1);
  expect(prober.problem()).toContain('it has no address');
});
