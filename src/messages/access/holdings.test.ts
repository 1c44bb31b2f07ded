import {setImmediate as turn} from 'node:timers/promises';
import {expect, test} from 'vitest';
import {ManualClock} from '../../../test/support/manual-clock.ts';
import {type Hold, Holdings, type HoldLimits, WaitError} from './holdings.ts';

const limits = {totalBytes: 1000, totalRequests: 20, accountBytes: 400, accountRequests: 5};

const MINUTE_MS = 60_000;

function holdingsOf(limits: HoldLimits): Holdings {
  return new Holdings(limits, new ManualClock());
}

function enter(holdings: Holdings, account: string): Hold {
  const hold = holdings.enter(account);
  if (typeof hold === 'string') throw new Error(`refused by the bound of the ${hold}`);
  return hold;
}

/** Records in `outcomes` that a wait is over, or the limit that ended it. */
function watch(name: string, waiting: Promise<void>, outcomes: string[]): void {
  const failed = (error: unknown) =>
    error instanceof WaitError ? `${name}: ${error.bound ?? 'left'}` : `${name}: ${error}`;
  void waiting.then(() => name, failed).then(outcome => outcomes.push(outcome));
}

test('an account has a limit of concurrent requests; releasing one makes room', () => {
  const holdings = holdingsOf(limits);
  const holds = Array.from({length: 5}, () => enter(holdings, 'a'));
  expect(holdings.enter('a')).toBe('account');
  enter(holdings, 'b').release();
  holds[0]?.release();
  expect(typeof holdings.enter('a')).toBe('object');
});

test('concurrent requests are limited for all accounts together', () => {
  const holdings = holdingsOf(limits);
  for (let n = 0; n < 19; n++) enter(holdings, `account ${n}`);
  expect(holdings.enter('one more')).toBe('total');
});

test('bytes are limited per account, and to what it leaves to the others; rejected bytes are not held', () => {
  const holdings = holdingsOf(limits);
  const a = enter(holdings, 'a');
  expect(a.grow(401)).toBe('account');
  expect(a.grow(400)).toBeUndefined();
  expect(a.grow(1)).toBe('account');
  const b = enter(holdings, 'b');
  expect(b.grow(301)).toBe('total');
  expect(b.grow(300)).toBeUndefined();
  expect(b.grow(1)).toBe('account');
  expect(holdings.bytes).toBe(700);
  a.keep(100);
  expect(holdings.bytes).toBe(400);
  expect(b.grow(100)).toBeUndefined();
});

// attack: message-memory
test('accounts that take all they can leave room for one more', () => {
  const holdings = holdingsOf(limits);
  for (const attacker of ['a', 'b', 'c']) {
    const hold = enter(holdings, attacker);
    while (hold.grow(1) === undefined);
  }
  expect(holdings.bytes).toBe(400 + 300 + 150);
  expect(enter(holdings, 'd').grow(75)).toBeUndefined();
});

// attack: message-memory
test('accounts that begin all the requests they can leave room for one more', () => {
  const holdings = holdingsOf({...limits, accountRequests: 9});
  for (const attacker of ['a', 'b', 'c']) while (typeof holdings.enter(attacker) === 'object');
  expect(holdings.enter('a')).toBe('account');
  expect(typeof holdings.enter('d')).toBe('object');
});

test('those that wait for room get it in turn by account, as others release theirs', async () => {
  const holdings = holdingsOf({...limits, totalBytes: 800});
  const [first, second, third] = ['c', 'd', 'e'].map(account => enter(holdings, account)) as [Hold, Hold, Hold];
  first.grow(400);
  second.grow(200);
  third.grow(100);
  const order: string[] = [];
  for (const name of ['a1', 'a2', 'b1', 'b2']) watch(name, enter(holdings, name.slice(0, 1)).room(100), order);
  await turn();
  expect(order).toEqual([]);
  third.release();
  await turn();
  expect(order).toEqual(['a1']);
  first.release();
  await turn();
  expect(order).toEqual(['a1', 'b1', 'a2', 'b2']);
});

test('an account at its own limit keeps nobody else waiting', async () => {
  const holdings = holdingsOf(limits);
  enter(holdings, 'a').grow(400);
  const other = enter(holdings, 'c');
  other.grow(400);
  const blocker = enter(holdings, 'd');
  blocker.grow(200);
  const order: string[] = [];
  watch('a', enter(holdings, 'a').room(100), order);
  watch('b', enter(holdings, 'b').room(100), order);
  blocker.release();
  await turn();
  expect(order).toEqual(['b']);
});

test('one that gives up waiting takes no room, and keeps nobody else waiting', async () => {
  const holdings = holdingsOf(limits);
  enter(holdings, 'a').grow(400);
  const other = enter(holdings, 'b');
  other.grow(300);
  const order: string[] = [];
  const leaving = [enter(holdings, 'a'), enter(holdings, 'c')] as const;
  watch('a', leaving[0].room(100), order);
  watch('c', leaving[1].room(200), order);
  watch('d', enter(holdings, 'd').room(160), order);
  other.keep(270);
  await turn();
  expect(order, 'd has room, but c was first').toEqual([]);
  for (const hold of leaving) hold.abandon();
  await turn();
  expect(order.sort()).toEqual(['a: left', 'c: left', 'd']);
  expect(holdings.bytes).toBe(400 + 270 + 160);
});

test('nothing is left when all is released', () => {
  const holdings = holdingsOf(limits);
  const holds = ['a', 'a', 'b'].map(account => enter(holdings, account));
  for (const hold of holds) hold.grow(100);
  for (const hold of holds) hold.release();
  expect({bytes: holdings.bytes, accounts: holdings.accounts}).toEqual({bytes: 0, accounts: 0});
});

/** Accounts with waiting requests. `outcomes`: the outcomes of ended waits, in order. */
function start() {
  const clock = new ManualClock();
  const holdings = new Holdings({totalBytes: 1000, totalRequests: 20, accountBytes: 400, accountRequests: 9}, clock);
  const outcomes: string[] = [];
  const hold = (account: string, held = 0) => {
    const entered = enter(holdings, account);
    entered.grow(held);
    return entered;
  };
  return {clock, outcomes, hold, watch: (name: string, waiting: Promise<void>) => watch(name, waiting, outcomes)};
}

test('a wait ends after a minute: by the limit of the account for what it holds itself, by that of all for what others hold', async () => {
  const {clock, outcomes, hold, watch} = start();
  hold('a', 400);
  hold('b', 300);
  watch('room of a', hold('a').room(100));
  watch('room of c', hold('c').room(200));
  watch('turn 1', hold('d').turn());
  watch('turn 2', hold('d').turn());
  await clock.advance(MINUTE_MS - 1);
  expect(outcomes).toEqual(['turn 1']);
  await clock.advance(1);
  expect(outcomes.sort()).toEqual(['room of a: account', 'room of c: total', 'turn 1', 'turn 2: account']);
});

test('a client that leaves ends the wait of its request, and whatever it would still wait for', async () => {
  const {clock, outcomes, hold, watch} = start();
  const first = hold('a', 400);
  const second = hold('a');
  watch('first', first.turn());
  watch('room', second.room(100));
  second.abandon();
  await turn();
  watch('turn', second.turn());
  await turn();
  expect(outcomes).toEqual(['first', 'room: left', 'turn: left']);
  expect(clock.sleepers).toBe(0);
});

test('a wait for a turn ends earlier if the request may no longer wait for a minute', async () => {
  const {clock, outcomes, hold, watch} = start();
  const [first, second] = [hold('a'), hold('a')];
  watch('first', first.turn());
  second.limit(500);
  watch('second', second.turn());
  await clock.advance(499);
  expect(outcomes).toEqual(['first']);
  await clock.advance(1);
  await turn();
  expect(outcomes).toEqual(['first', 'second: account']);
  second.end();
  expect(clock.sleepers).toBe(0);
});

test('a response that was sent ends the turn, and its request waits for nothing any more', async () => {
  const {clock, outcomes, hold, watch} = start();
  const [first, second] = [hold('a'), hold('a')];
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

/** Requests that want a turn, named by their account. `begun`: those that have had it, in order. */
function startTurns() {
  const {clock, hold, watch, outcomes: begun} = start();
  const holds = new Map<string, Hold>();
  const begin = (name: string) => {
    const entered = hold(name.slice(0, 1));
    holds.set(name, entered);
    watch(name, entered.turn());
  };
  /** The last that has begun ends its turn. */
  const end = async (busyMs: number, rateMs = 0) => {
    holds.get(begun.at(-1) ?? '')?.end({busyMs, rateMs});
    await turn();
  };
  return {clock, holds, begin, end, begun};
}

test('an account has one turn at a time, in order, and pauses four times as long as each took', async () => {
  const {clock, begin, end, begun} = startTurns();
  for (const name of ['a1', 'a2', 'a3']) begin(name);
  await turn();
  expect(begun).toEqual(['a1']);
  await end(5);
  await clock.advance(19);
  expect(begun).toEqual(['a1']);
  await clock.advance(1);
  expect(begun).toEqual(['a1', 'a2']);
  await end(1);
  begin('a4');
  await clock.advance(4);
  expect(begun).toEqual(['a1', 'a2', 'a3']);
});

test('an account with more work waiting takes at most half of its average rate', async () => {
  const {clock, begin, end, begun} = startTurns();
  for (const name of ['a1', 'a2']) begin(name);
  await turn();
  await end(5, 11);
  await clock.advance(21);
  expect(begun).toEqual(['a1']);
  await clock.advance(1);
  expect(begun).toEqual(['a1', 'a2']);
});

test('an account waits for no other', async () => {
  const {begin, begun} = startTurns();
  for (const name of ['a1', 'a2', 'b1', 'b2', 'c1']) begin(name);
  await turn();
  expect(begun).toEqual(['a1', 'b1', 'c1']);
});

test('one that does one thing after another never pauses', async () => {
  const {clock, begin, end, begun} = startTurns();
  for (const name of ['a1', 'a2', 'a3']) {
    begin(name);
    await turn();
    expect(begun.at(-1)).toBe(name);
    await end(5);
  }
  expect(clock.sleepers).toBe(0);
});

test('a turn that did nothing causes no pause', async () => {
  const {begin, end, begun} = startTurns();
  for (const name of ['a1', 'a2']) begin(name);
  await turn();
  await end(0);
  expect(begun).toEqual(['a1', 'a2']);
});

test('one that gives up has no turn, and keeps nobody waiting', async () => {
  const {begin, holds, begun} = startTurns();
  for (const name of ['a1', 'a2', 'a3']) begin(name);
  await turn();
  for (const name of ['a1', 'a2']) holds.get(name)?.abandon();
  await turn();
  expect(begun).toEqual(['a1', 'a2: left']);
  holds.get('a1')?.end();
  await turn();
  expect(begun).toEqual(['a1', 'a2: left', 'a3']);
});
