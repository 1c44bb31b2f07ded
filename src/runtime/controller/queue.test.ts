import {setImmediate} from 'node:timers/promises';
import {beforeEach, describe, expect, test} from 'vitest';
import {ManualClock} from '../../../test/support/manual-clock.ts';
import {WorkQueue} from './queue.ts';

let clock: ManualClock;
let waits: number[];
let queue: WorkQueue;

beforeEach(() => {
  clock = new ManualClock();
  waits = [];
  queue = new WorkQueue(clock, {added: () => undefined, waited: ms => waits.push(ms)});
});

/** Takes `count` keys and gives each back. */
async function drain(count: number): Promise<(string | undefined)[]> {
  const keys: (string | undefined)[] = [];
  for (let i = 0; i < count; i++) {
    const key = await queue.take();
    keys.push(key);
    if (key !== undefined) queue.done(key);
  }
  return keys;
}

test('keys come in the order in which they were added, each once', async () => {
  for (const key of ['a', 'b', 'a', 'c', 'b']) queue.add(key);
  expect(queue.depth).toBe(3);
  expect(await drain(3)).toEqual(['a', 'b', 'c']);
  expect(queue.depth).toBe(0);
});

// attack: operator-work
test('namespaces are served in turn, so that a busy one delays no other', async () => {
  for (const key of ['a/1', 'a/2', 'a/3', 'b/1', 'c/1', 'b/2']) queue.add(key);
  expect(await drain(6)).toEqual(['a/1', 'b/1', 'c/1', 'a/2', 'b/2', 'a/3']);
  for (const key of ['a/1', 'a/2', 'a/3', 'b/1']) queue.add(key, {lowPriority: true});
  expect(await drain(4)).toEqual(['a/1', 'b/1', 'a/2', 'a/3']);
});

test('a namespace that waits long is not overtaken by one that keeps adding keys', async () => {
  for (const key of ['a/1', 'a/2', 'b/1']) queue.add(key);
  const first = await queue.take();
  queue.add('a/3');
  queue.done(first ?? '');
  expect(await drain(3)).toEqual(['b/1', 'a/2', 'a/3']);
});

test('a namespace whose only key became urgent is not served among the low-priority ones', async () => {
  for (const key of ['a/1', 'b/1', 'c/1']) queue.add(key, {lowPriority: true});
  queue.add('b/1');
  expect(await drain(3)).toEqual(['b/1', 'a/1', 'c/1']);
  queue.add('b/1', {lowPriority: true});
  expect(await drain(1)).toEqual(['b/1']);
});

test('a taker that came first gets the key that comes later', async () => {
  const taken = queue.take();
  queue.add('a');
  expect(await taken).toBe('a');
});

test('a key that is being worked on is not handed out again until it is done', async () => {
  queue.add('a');
  expect(await queue.take()).toBe('a');
  queue.add('a');
  queue.add('a');
  queue.add('b');
  expect(await queue.take()).toBe('b');
  expect(queue.depth).toBe(0);
  queue.done('a');
  expect(await drain(1)).toEqual(['a']);
  expect(queue.depth).toBe(0);
});

describe('priority', () => {
  test('low keys come last', async () => {
    queue.add('low', {lowPriority: true});
    queue.add('a');
    queue.add('b');
    expect(await drain(3)).toEqual(['a', 'b', 'low']);
  });

  test('a low key that becomes urgent is moved, not doubled', async () => {
    queue.add('x', {lowPriority: true});
    queue.add('y', {lowPriority: true});
    queue.add('y');
    expect(await drain(2)).toEqual(['y', 'x']);
    expect(queue.depth).toBe(0);
  });

  test('an urgent key does not become low', async () => {
    queue.add('a');
    queue.add('a', {lowPriority: true});
    queue.add('b', {lowPriority: true});
    expect(await drain(2)).toEqual(['a', 'b']);
  });

  test('added again while worked on, the higher priority counts', async () => {
    queue.add('a');
    await queue.take();
    queue.add('a', {lowPriority: true});
    queue.add('a');
    queue.add('low', {lowPriority: true});
    queue.done('a');
    expect(await drain(2)).toEqual(['a', 'low']);
  });

  test('low keys do not starve behind an endless stream of urgent ones', async () => {
    queue.add('low', {lowPriority: true});
    const served: (string | undefined)[] = [];
    for (let i = 0; i < 10; i++) {
      queue.add(`urgent-${i}`);
      queue.add(`more-${i}`);
      served.push(...(await drain(1)));
    }
    expect(served).toContain('low');
  });
});

describe('delay', () => {
  test('a key comes when its time has come', async () => {
    queue.addAfter('a', 100);
    const taken = queue.take();
    await clock.advance(99);
    expect(queue.depth).toBe(0);
    await clock.advance(1);
    expect(await taken).toBe('a');
  });

  test('an earlier time replaces a later one, and one timer serves all', async () => {
    queue.addAfter('a', 1_000);
    queue.addAfter('b', 500);
    queue.addAfter('a', 100);
    await clock.advance(0);
    expect(clock.sleepers).toBe(1);
    await clock.advance(100);
    expect(await drain(1)).toEqual(['a']);
    await clock.advance(400);
    expect(await drain(1)).toEqual(['b']);
    await clock.advance(1_000);
    expect(queue.depth).toBe(0);
    expect(clock.sleepers).toBe(0);
  });

  test('due items come earliest first, and the rest stays', async () => {
    for (const [key, ms] of Object.entries({c: 30, a: 10, d: 40, b: 20})) queue.addAfter(key, ms);
    await clock.advance(30);
    expect(queue.depth).toBe(3);
    expect(await drain(3)).toEqual(['a', 'b', 'c']);
    await clock.advance(10);
    expect(await drain(1)).toEqual(['d']);
  });

  test('a key has one time: the earliest', async () => {
    for (const ms of [20, 10, 30]) queue.addAfter('a', ms);
    await clock.advance(10);
    expect(await drain(1)).toEqual(['a']);
    await clock.advance(100);
    expect(queue.depth).toBe(0);
  });

  test('a key may come back after it was handed out', async () => {
    queue.addAfter('a', 20);
    queue.addAfter('a', 10);
    await clock.advance(10);
    expect(await drain(1)).toEqual(['a']);
    queue.addAfter('a', 10);
    await clock.advance(10);
    expect(await drain(1)).toEqual(['a']);
    expect(clock.sleepers).toBe(0);
  });

  test('many keys come out in order', async () => {
    const times = Array.from({length: 1_000}, (_, i) => 1 + ((i * 7_919) % 1_000));
    for (const time of times) queue.addAfter(`key-${time}`, time);
    await clock.advance(1_000);
    expect(await drain(1_000)).toEqual(times.toSorted((a, b) => a - b).map(time => `key-${time}`));
  });
});

test('in any order of adds, takes, and finishes: no key is processed twice at a time, and none is lost', async () => {
  const random = (count: number) => Math.floor(Math.random() * count);
  const keys = ['a/1', 'a/2', 'a/3', 'b/1', 'c'];
  const wanted = new Set<string>();
  const working: string[] = [];
  const takes: Promise<void>[] = [];
  let takers = 0;
  const take = async () => {
    takers += 1;
    const key = await queue.take();
    takers -= 1;
    if (key === undefined) return; // closed
    expect(wanted.delete(key), `${key} was added since it was last taken`).toBe(true);
    expect(working).not.toContain(key);
    working.push(key);
  };
  const finish = () => {
    for (const key of working.splice(random(working.length), 1)) queue.done(key);
  };
  for (let i = 0; i < 5_000; i++) {
    const key = keys[random(keys.length)] ?? '';
    const action = random(4);
    if (action <= 1) {
      wanted.add(key);
      if (action === 0) queue.add(key, {lowPriority: random(2) === 0});
      else queue.addAfter(key, 0);
    } else if (action === 2) {
      if (takers < 2) takes.push(take());
    } else finish();
    await setImmediate(); // lets the waiting workers receive their keys
    const waiting = [...wanted].filter(each => !working.includes(each));
    expect(queue.depth).toBe(waiting.length);
    if (takers > 0) expect(waiting).toEqual([]);
  }
  while (wanted.size > 0 || working.length > 0) {
    finish();
    if (takers === 0) takes.push(take());
    await setImmediate();
  }
  queue.close();
  await Promise.all(takes);
});

const SHORT = 20_000;
const LONG = 640_000;

// Compares CPU time within one run: a loaded machine slows down both.
test.each([
  ['of one namespace', (i: number) => `a/${i}`],
  ['of as many namespaces', (i: number) => `${i}/a`],
])('a key is found as soon in a long queue as in a short one: %s', async (_, keyOf) => {
  const microsecondsOf = async (length: number) => {
    const before = process.threadCpuUsage();
    for (let i = 0; i < length; i++) queue.add(keyOf(i), {lowPriority: i % 2 === 0});
    while (queue.depth > 0) queue.done((await queue.take()) ?? '');
    return process.threadCpuUsage(before).user / length;
  };
  await microsecondsOf(SHORT); // compiles the code
  const [short, long] = [await microsecondsOf(SHORT), await microsecondsOf(LONG)];
  console.info(
    `A key takes ${short.toFixed(2)} us in a queue of ${SHORT}, and ${long.toFixed(2)} us in one of ${LONG}`,
  );
  expect(long / short).toBeLessThan(LONG / SHORT / 4); // 12 or more if the queue is searched from the front
});

test('reports how long a key waited', async () => {
  queue.add('a');
  await clock.advance(30);
  await drain(1);
  expect(waits).toEqual([30]);
});

test('closed, it hands out nothing, lets takers go and leaves no timer', async () => {
  const taken = queue.take();
  queue.addAfter('a', 100);
  queue.close();
  expect(await taken).toBeUndefined();
  expect(await queue.take()).toBeUndefined();
  await clock.advance(1_000);
  expect(queue.depth).toBe(0);
  expect(clock.sleepers).toBe(0);
});
