import {setImmediate as turn} from 'node:timers/promises';
import {expect, test} from 'vitest';
import {type Hold, Holdings} from './holdings.ts';

const limits = {totalBytes: 1000, totalRequests: 20, accountBytes: 400, accountRequests: 5};

function enter(holdings: Holdings, account: string): Hold {
  const hold = holdings.enter(account);
  if (typeof hold === 'string') throw new Error(`refused by the bound of the ${hold}`);
  return hold;
}

/** Records in `order` when there was room, or which limit prevented it until the signal was aborted. */
function waitFor(
  hold: Hold,
  bytes: number,
  name: string,
  order: string[],
  signal = new AbortController().signal,
): void {
  void hold.room(bytes, () => signal).then(bound => order.push(bound === undefined ? name : `${name}: ${bound}`));
}

test('an account has a limit of concurrent requests; releasing one makes room', () => {
  const holdings = new Holdings(limits);
  const holds = Array.from({length: 5}, () => enter(holdings, 'a'));
  expect(holdings.enter('a')).toBe('account');
  enter(holdings, 'b').release();
  holds[0]?.release();
  expect(typeof holdings.enter('a')).toBe('object');
});

test('concurrent requests are limited for all accounts together', () => {
  const holdings = new Holdings(limits);
  for (let n = 0; n < 19; n++) enter(holdings, `account ${n}`);
  expect(holdings.enter('one more')).toBe('total');
});

test('bytes are limited per account, and to what it leaves to the others; rejected bytes are not held', () => {
  const holdings = new Holdings(limits);
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
  const holdings = new Holdings(limits);
  for (const attacker of ['a', 'b', 'c']) {
    const hold = enter(holdings, attacker);
    while (hold.grow(1) === undefined);
  }
  expect(holdings.bytes).toBe(400 + 300 + 150);
  expect(enter(holdings, 'd').grow(75)).toBeUndefined();
});

// attack: message-memory
test('accounts that begin all the requests they can leave room for one more', () => {
  const holdings = new Holdings({...limits, accountRequests: 9});
  for (const attacker of ['a', 'b', 'c']) while (typeof holdings.enter(attacker) === 'object');
  expect(holdings.enter('a')).toBe('account');
  expect(typeof holdings.enter('d')).toBe('object');
});

test('those that wait for room get it in turn by account, as others release theirs', async () => {
  const holdings = new Holdings({...limits, totalBytes: 800});
  const [first, second, third] = ['c', 'd', 'e'].map(account => enter(holdings, account)) as [Hold, Hold, Hold];
  first.grow(400);
  second.grow(200);
  third.grow(100);
  const order: string[] = [];
  for (const name of ['a1', 'a2', 'b1', 'b2']) waitFor(enter(holdings, name.slice(0, 1)), 100, name, order);
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
  const holdings = new Holdings(limits);
  enter(holdings, 'a').grow(400);
  const other = enter(holdings, 'c');
  other.grow(400);
  const blocker = enter(holdings, 'd');
  blocker.grow(200);
  const order: string[] = [];
  waitFor(enter(holdings, 'a'), 100, 'a', order);
  waitFor(enter(holdings, 'b'), 100, 'b', order);
  blocker.release();
  await turn();
  expect(order).toEqual(['b']);
});

test('one that gives up waiting takes no room, and keeps nobody else waiting', async () => {
  const holdings = new Holdings(limits);
  enter(holdings, 'a').grow(400);
  const other = enter(holdings, 'b');
  other.grow(300);
  const left = new AbortController();
  const order: string[] = [];
  waitFor(enter(holdings, 'a'), 100, 'a', order, left.signal);
  waitFor(enter(holdings, 'c'), 200, 'c', order, left.signal);
  waitFor(enter(holdings, 'd'), 160, 'd', order);
  other.keep(270);
  await turn();
  expect(order, 'd has room, but c was first').toEqual([]);
  left.abort();
  await turn();
  expect(order.sort()).toEqual(['a: account', 'c: total', 'd']);
  waitFor(enter(holdings, 'e'), 200, 'e', order, left.signal);
  await turn();
  expect(order.at(-1)).toBe('e: total');
  expect(holdings.bytes).toBe(400 + 270 + 160);
});

test('nothing is left when all is released', () => {
  const holdings = new Holdings(limits);
  const holds = ['a', 'a', 'b'].map(account => enter(holdings, account));
  for (const hold of holds) hold.grow(100);
  for (const hold of holds) hold.release();
  expect({bytes: holdings.bytes, accounts: holdings.accounts}).toEqual({bytes: 0, accounts: 0});
});
