import {setFlagsFromString} from 'node:v8';
import {runInNewContext} from 'node:vm';
import {expect, test} from 'vitest';
import {keyOf} from '../../runtime/kube/object.ts';
import {AgeRanks, isOlder} from './age-ranks.ts';

function object(name: string, second: number, namespace = 'ns') {
  const creationTimestamp = new Date(Date.UTC(2026, 10, 21) + second * 1000).toISOString();
  return {apiVersion: 'v1', kind: 'Domain', metadata: {name, namespace, creationTimestamp}};
}

/** In an order that follows neither names nor ages. */
function shuffled(count: number) {
  return Array.from({length: count}, (_, n) => (n * 7919) % count).map(n => object(`h${n}`, Math.floor(n / 3)));
}

test('counts older objects, and the name decides between objects of the same second', () => {
  const ages = new AgeRanks();
  const all = shuffled(1000);
  for (const each of all) ages.add(each);
  for (const each of all.slice(0, 50)) {
    expect(ages.countOlder('ns', each)).toBe(all.filter(other => isOlder(other, each)).length);
  }
});

test('forgets removed objects, and separates namespaces', () => {
  const ages = new AgeRanks();
  const all = shuffled(100);
  for (const each of all) ages.add(each);
  const newest = object('z', 1000, 'other');
  expect(ages.countOlder('ns', newest)).toBe(100);
  expect(ages.countOlder('other', newest)).toBe(0);
  for (const each of all.slice(0, 60)) ages.remove(each);
  expect(ages.countOlder('ns', newest)).toBe(40);
  for (const each of all.slice(60)) ages.remove(each);
  expect(ages.countOlder('ns', newest)).toBe(0);
});

test('a newer version takes the place of the former one, which is not kept in memory', async () => {
  const ages = new AgeRanks();
  const addTwice = () => {
    const former = object('h', 1);
    ages.add(former);
    ages.replace(structuredClone(former));
    return new WeakRef(former);
  };
  const former = addTwice();
  await new Promise(resolve => setImmediate(resolve)); // a new WeakRef holds its object until then
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  expect(former.deref()).toBeUndefined();
  expect(ages.count(['ns'])).toBe(1);
  ages.remove(object('h', 1));
  expect(ages.count(['ns'])).toBe(0);
});

test('finds the oldest of several namespaces together', () => {
  const ages = new AgeRanks();
  const all = [...shuffled(100), object('z', 5, 'other'), object('y', 1000, 'third')];
  for (const each of all) ages.add(each);
  expect(ages.count(['ns', 'other', 'none'])).toBe(101);
  const sorted = all.slice(0, 101).sort((a, b) => (isOlder(a, b) ? -1 : 1));
  expect(ages.oldest(['ns', 'other', 'none'], 20)).toEqual(sorted.slice(0, 20).map(keyOf));
});
