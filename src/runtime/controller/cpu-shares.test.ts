import {expect, test} from 'vitest';
import {CpuShares} from './cpu-shares.ts';

function meter() {
  let used = 0;
  const shares = new CpuShares(() => used);
  return {shares, use: (seconds: number) => (used += seconds)};
}

test('one reconcile alone has all that the process uses', () => {
  const {shares, use} = meter();
  use(5); // before it
  shares.begin('apikey');
  use(2);
  shares.end('apikey');
  use(7); // after it
  expect([...shares.read()]).toEqual([['apikey', 2]]);
});

test('those that run at the same time share it', () => {
  const {shares, use} = meter();
  shares.begin('apikey');
  shares.begin('apikey');
  shares.begin('domain');
  use(3);
  shares.end('domain');
  use(4);
  expect([...shares.read()]).toEqual([
    ['apikey', 6],
    ['domain', 1],
  ]);
});

test('the CPU time of a busy process is found', () => {
  const shares = new CpuShares();
  shares.begin('busy');
  const before = process.cpuUsage().user;
  while (process.cpuUsage().user - before < 20_000);
  shares.end('busy');
  expect(shares.read().get('busy')).toBeGreaterThanOrEqual(0.02);
});
