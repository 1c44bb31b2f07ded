import {Registry} from 'prom-client';
import {expect, test} from 'vitest';
import {metricsIn} from './metrics.ts';

test('a reading shows what is true when metrics are collected, or nothing', async () => {
  const registry = new Registry();
  let value: number | undefined = 3;
  metricsIn(registry).reading('waiting', 'Help.', () => value);
  expect(await registry.metrics()).toContain('waiting 3\n');
  value = undefined;
  expect(await registry.metrics()).not.toMatch(/^waiting/m);
});

test('readings of the same labels are summed, and series that are gone are not shown', async () => {
  const registry = new Registry();
  let states = ['good', 'bad', 'good'];
  metricsIn(registry).readings('hosts', 'Help.', ['state'], () => states.map(state => [{state}, 1]));
  expect(await registry.metrics()).toContain('hosts{state="good"} 2\nhosts{state="bad"} 1\n');
  states = ['good'];
  expect(await registry.metrics()).not.toContain('bad');
});
