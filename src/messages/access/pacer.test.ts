import {setImmediate as turn} from 'node:timers/promises';
import {expect, test} from 'vitest';
import {ManualClock} from '../../../test/support/manual-clock.ts';
import {Pacer} from './pacer.ts';

/** Records in `begun` which of these begin, and in `gaveUp` which do not. */
function start() {
  const clock = new ManualClock();
  const pacer = new Pacer(clock);
  const begun: string[] = [];
  const gaveUp: string[] = [];
  const begin = (name: string, signal = new AbortController().signal) =>
    void pacer.begin(name.slice(0, 1), () => signal).then(is => (is ? begun : gaveUp).push(name));
  const end = async (account: string, busyMs: number, rateMs = 0) => {
    void pacer.end(account, {busyMs, rateMs});
    await turn();
  };
  return {clock, begin, end, begun, gaveUp};
}

test('an account has one turn at a time, in order, and pauses four times as long as each took', async () => {
  const {clock, begin, end, begun} = start();
  for (const name of ['a1', 'a2', 'a3']) begin(name);
  await turn();
  expect(begun).toEqual(['a1']);
  await end('a', 5);
  await clock.advance(19);
  expect(begun).toEqual(['a1']);
  await clock.advance(1);
  expect(begun).toEqual(['a1', 'a2']);
  await end('a', 1);
  begin('a4');
  await clock.advance(4);
  expect(begun).toEqual(['a1', 'a2', 'a3']);
});

test('an account with more work waiting takes at most half of its average rate', async () => {
  const {clock, begin, end, begun} = start();
  for (const name of ['a1', 'a2']) begin(name);
  await end('a', 5, 11);
  await clock.advance(21);
  expect(begun).toEqual(['a1']);
  await clock.advance(1);
  expect(begun).toEqual(['a1', 'a2']);
});

test('an account waits for no other', async () => {
  const {begin, begun} = start();
  for (const name of ['a1', 'a2', 'b1', 'b2', 'c1']) begin(name);
  await turn();
  expect(begun).toEqual(['a1', 'b1', 'c1']);
});

test('one that does one thing after another never pauses', async () => {
  const {clock, begin, end, begun} = start();
  for (const name of ['a1', 'a2', 'a3']) {
    begin(name);
    await turn();
    expect(begun.at(-1)).toBe(name);
    await end('a', 5);
  }
  expect(clock.sleepers).toBe(0);
});

test('a turn that did nothing causes no pause', async () => {
  const {begin, end, begun} = start();
  for (const name of ['a1', 'a2']) begin(name);
  await end('a', 0);
  expect(begun).toEqual(['a1', 'a2']);
});

test('one that gives up has no turn, and keeps nobody waiting', async () => {
  const {begin, end, begun, gaveUp} = start();
  const left = new AbortController();
  begin('a1', left.signal);
  begin('a2', left.signal);
  begin('a3');
  left.abort();
  begin('a4', left.signal);
  await turn();
  expect({begun, gaveUp}).toEqual({begun: ['a1'], gaveUp: ['a2', 'a4']});
  await end('a', 0);
  expect(begun).toEqual(['a1', 'a3']);
});
