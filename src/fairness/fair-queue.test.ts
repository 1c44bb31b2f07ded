import {beforeEach, expect, test} from 'vitest';
import {FairQueue, isFairShare} from './fair-queue.ts';

let queue: FairQueue<number>;
beforeEach(() => {
  queue = new FairQueue();
});

/** Takes all keys. Returns them in the order in which they were taken. */
function takeAll(mayTake?: (group: string) => boolean): string[] {
  const keys: string[] = [];
  for (let next = queue.takeFirst(mayTake); next; next = queue.takeFirst(mayTake)) keys.push(next[0]);
  return keys;
}

test('groups take turns, and keys of a group come in the order in which they were added', () => {
  for (const key of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']) queue.add(key.slice(0, 1), key, 1);
  expect([queue.size, queue.sizeOf('a'), queue.sizeOf('d')]).toEqual([6, 3, 0]);
  expect(takeAll()).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
  expect([queue.size, queue.sizeOf('a')]).toEqual([0, 0]);
});

test('a group that may not be taken from is skipped and keeps its place', () => {
  for (const key of ['a1', 'a2', 'b1', 'b2', 'c1']) queue.add(key.slice(0, 1), key, 1);
  expect(takeAll(group => group !== 'a')).toEqual(['b1', 'c1', 'b2']);
  queue.add('b', 'b3', 1);
  expect(takeAll()).toEqual(['a1', 'b3', 'a2']);
});

test('a key that was removed is not taken, and one key may be in two groups', () => {
  queue.add('a', 'key', 1);
  queue.add('b', 'key', 2);
  expect(queue.remove('a', 'key')).toBe(1);
  expect(queue.remove('a', 'key')).toBeUndefined();
  expect([queue.has('a', 'key'), queue.has('b', 'key')]).toEqual([false, true]);
  expect(queue.takeFirst()).toEqual(['key', 2]);
  expect(queue.takeFirst()).toBeUndefined();
});

test('it is what a list of lists would be, whatever happens in which order', () => {
  let seed = 1;
  const random = (below: number) => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  /** The groups in order, each with its keys. */
  let groups: {readonly name: string; keys: string[]}[] = [];
  const emptied = () => groups.filter(({keys}) => keys.length > 0);
  for (let step = 0; step < 20_000; step++) {
    const [name, key] = [`g${random(5)}`, `k${random(4)}`];
    const group = groups.find(each => each.name === name);
    const action = random(4);
    if (action < 2 && !group?.keys.includes(key)) {
      queue.add(name, key, step + 1);
      if (group) group.keys.push(key);
      else groups.push({name, keys: [key]});
    } else if (action === 2) {
      expect(queue.remove(name, key) !== undefined).toBe(group?.keys.includes(key) ?? false);
      if (group) group.keys = group.keys.filter(each => each !== key);
      groups = emptied();
    } else if (action === 3) {
      const mayTake = random(2) === 0 ? undefined : (each: string) => each !== name;
      const next = groups.find(each => mayTake?.(each.name) ?? true);
      expect(queue.takeFirst(mayTake)?.[0]).toBe(next?.keys.shift());
      if (next) groups = [...groups.filter(each => each !== next), next];
      groups = emptied();
    }
    expect(queue.size).toBe(groups.reduce((sum, {keys}) => sum + keys.length, 0));
  }
});

test('one alone gets half, or with another factor more, and several leave something to the next', () => {
  const shareOf = (total: number, used: number, times?: number) => {
    let own = 0;
    while (isFairShare(own + 1, total - used - own - 1, times)) own += 1;
    return own;
  };
  expect([shareOf(100, 0), shareOf(100, 50), shareOf(100, 100)]).toEqual([50, 25, 0]);
  expect([shareOf(100, 0, 4), shareOf(100, 80, 4)]).toEqual([80, 16]);
});
