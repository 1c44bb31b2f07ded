import {setImmediate as turn} from 'node:timers/promises';
import {expect, test} from 'vitest';
import {ManualClock} from '../../../test/support/manual-clock.ts';
import {type Hold, Holdings} from '../access/holdings.ts';
import {Pacer} from '../access/pacer.ts';
import {WaitError, Waits} from './limits.ts';

const MINUTE_MS = 60_000;

/** Accounts with waiting requests. `outcomes`: the outcomes of ended waits, in order. */
function start() {
  const clock = new ManualClock();
  const holdings = new Holdings({totalBytes: 1000, totalRequests: 20, accountBytes: 400, accountRequests: 9});
  const pacer = new Pacer(clock);
  const outcomes: string[] = [];
  const enter = (account: string, held = 0) => {
    const hold = holdings.enter(account) as Hold;
    hold.grow(held);
    return new Waits(account, hold, pacer, clock);
  };
  const watch = (name: string, waiting: Promise<void>) => {
    const failed = (error: unknown) =>
      error instanceof WaitError ? `${name}: ${error.answer?.status ?? 'left'}` : String(error);
    void waiting.then(() => name, failed).then(outcome => outcomes.push(outcome));
  };
  return {clock, outcomes, enter, watch};
}

test('a wait ends after a minute: with 429 for what the account itself holds, with 503 for what others hold', async () => {
  const {clock, outcomes, enter, watch} = start();
  enter('a', 400);
  enter('b', 300);
  watch('room of a', enter('a').room(100));
  watch('room of c', enter('c').room(200));
  watch('turn 1', enter('d').turn());
  watch('turn 2', enter('d').turn());
  await clock.advance(MINUTE_MS - 1);
  expect(outcomes).toEqual(['turn 1']);
  await clock.advance(1);
  expect(outcomes.sort()).toEqual(['room of a: 429', 'room of c: 503', 'turn 1', 'turn 2: 429']);
});

test('a client that leaves ends the wait of its request, and whatever it would still wait for', async () => {
  const {clock, outcomes, enter, watch} = start();
  const first = enter('a', 400);
  const second = enter('a');
  watch('first', first.turn());
  watch('room', second.room(100));
  second.leave();
  await turn();
  watch('turn', second.turn());
  await turn();
  expect(outcomes).toEqual(['first', 'room: left', 'turn: left']);
  expect(clock.sleepers).toBe(0);
});

test('a wait for a turn ends earlier if the request may no longer wait for a minute', async () => {
  const {clock, outcomes, enter, watch} = start();
  const [first, second] = [enter('a'), enter('a')];
  watch('first', first.turn());
  second.limit(500);
  watch('second', second.turn());
  await clock.advance(499);
  expect(outcomes).toEqual(['first']);
  await clock.advance(1);
  await turn();
  expect(outcomes).toEqual(['first', 'second: 429']);
  second.end();
  expect(clock.sleepers).toBe(0);
});

test('a response that was sent ends the turn, and its request waits for nothing any more', async () => {
  const {clock, outcomes, enter, watch} = start();
  const [first, second] = [enter('a'), enter('a')];
  watch('first', first.turn());
  await turn();
  watch('again', first.turn());
  watch('second', second.turn());
  await turn();
  expect(outcomes).toEqual(['first', 'again']);
  first.end();
  await turn();
  second.end();
  await turn();
  expect(outcomes).toEqual(['first', 'again', 'second']);
  expect(clock.sleepers).toBe(0);
});
