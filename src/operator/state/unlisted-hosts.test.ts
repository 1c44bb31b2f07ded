/** How often the Projects of a namespace are read, no matter how many a tenant creates. Without an API server. */
import {beforeEach, expect, test} from 'vitest';
import {ManualClock} from '../../../test/support/manual-clock.ts';
import type {Operator} from './context.ts';
import {UnlistedHosts} from './unlisted-hosts.ts';

const READ_MS = 3_000;

let clock: ManualClock;
let reads: number;
let count: number;
let unlisted: UnlistedHosts;
let listed: string | undefined;

beforeEach(() => {
  clock = new ManualClock();
  [reads, listed] = [0, undefined];
  const stores = {projectAges: {count: () => count}, projects: {byIndex: () => []}};
  unlisted = new UnlistedHosts({stores, clock} as unknown as Operator);
});

function waitMs(host: string): Promise<number> {
  async function* list() {
    reads += 1;
    await clock.sleep(READ_MS);
    yield {items: listed === undefined ? [] : [{metadata: {}, spec: {domains: {primary: listed}}}]};
  }
  return unlisted.waitMs({client: {list}, signal: new AbortController().signal} as never, `acme/${host}`);
}

test('a namespace with many Projects is read once at a time, and rests', async () => {
  count = 50_000;
  const first = waitMs('a.example');
  expect(await waitMs('b.example')).toBe(1000);
  await clock.advance(READ_MS);
  expect(await first).toBe(0);
  await clock.advance(4 * READ_MS - 600);
  expect(await waitMs('b.example')).toBe(600);
  expect(reads).toBe(1);
  await clock.advance(600);
  listed = 'b.example';
  const second = waitMs('b.example');
  await clock.advance(READ_MS);
  expect([await second, reads]).toEqual([1000, 2]);
});

test('a namespace with few Projects is read without a rest', async () => {
  count = 500;
  const waits = Promise.all([waitMs('a.example'), waitMs('b.example')]);
  await clock.advance(READ_MS);
  expect([await waits, reads]).toEqual([[0, 0], 2]);
});
