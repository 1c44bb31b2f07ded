import {beforeEach, describe, expect, test} from 'vitest';
import type {KubeObject, ResourceType} from '../kube/object.ts';
import {type Delta, Store} from './store.ts';

interface Thing extends KubeObject {
  spec?: {host: string};
}

const THING: ResourceType<Thing> = {group: 'n.dev', version: 'v1', plural: 'things', kind: 'Thing', namespaced: true};

const thing = (name: string, resourceVersion: string, host = 'h', uid = `uid-${name}`): Thing => ({
  apiVersion: 'n.dev/v1',
  kind: 'Thing',
  metadata: {namespace: 'a', name, uid, resourceVersion},
  spec: {host},
});

const mapOf = (...things: Thing[]): Map<string, Thing> => new Map(things.map(t => [`a/${t.metadata.name}`, t]));

/** "updated x@2 (was 1)": what a subscriber received. */
const tell = ({type, object, old, initial}: Delta<Thing>): string => {
  const was = old ? ` (was ${old.metadata.resourceVersion})` : '';
  return `${initial ? 'initial ' : ''}${type} ${object.metadata.name}@${object.metadata.resourceVersion}${was}`;
};

let store: Store<Thing>;
let told: string[];
let errors: string[];

beforeEach(() => {
  errors = [];
  told = [];
  store = new Store<Thing>({
    onHandlerError: (_error, key) => errors.push(key),
    covers: o => o.metadata.name !== 'outside',
  });
  store.subscribe(delta => told.push(tell(delta)));
});

test('it knows how far it has come: by lists, changes, and bookmarks, and not without its kind', () => {
  const reached = (change: () => void) => {
    change();
    return store.reached;
  };
  expect(store.reached).toBeUndefined();
  expect(reached(() => store.replace(mapOf(thing('x', '1')), '3'))).toBe(3);
  expect(reached(() => store.upsert(thing('x', '4')))).toBe(4);
  expect(reached(() => store.release(thing('x', '5')))).toBe(5);
  expect(reached(() => store.remove(thing('x', '6')))).toBe(6);
  expect(reached(() => store.advance('9'))).toBe(9);
  expect(reached(() => store.advance('opaque'))).toBeUndefined();
  expect(reached(() => store.markMissing())).toBeUndefined();
});

describe('what subscribers get', () => {
  test.each<{name: string; change: () => void; want: string[]}>([
    {name: 'an object added', change: () => store.upsert(thing('y', '5')), want: ['added y@5']},
    {name: 'an object changed', change: () => store.upsert(thing('x', '5')), want: ['updated x@5 (was 1)']},
    {name: 'the same version again', change: () => store.upsert(thing('x', '1')), want: []},
    {name: 'an object deleted', change: () => store.remove(thing('x', '5')), want: ['deleted x@5']},
    {name: 'the unknown deleted', change: () => store.remove(thing('z', '5')), want: []},
    {name: 'an object that is no longer held', change: () => store.release(thing('x', '5')), want: ['deleted x@1']},
    {name: 'an object that was never held', change: () => store.release(thing('z', '5')), want: []},
    {
      name: 'deleted and made again while we looked away',
      change: () => store.upsert(thing('x', '5', 'h', 'other')),
      want: ['deleted x@1', 'added x@5'],
    },
    {
      name: 'a new list',
      change: () => store.replace(mapOf(thing('y', '6'), thing('x', '5')), '7'),
      want: ['added y@6', 'updated x@5 (was 1)'],
    },
    {name: 'a new list that says the same', change: () => store.replace(mapOf(thing('x', '1')), '9'), want: []},
    {
      name: 'a new list with the object made again',
      change: () => store.replace(mapOf(thing('x', '5', 'h', 'other')), '9'),
      want: ['deleted x@1', 'added x@5'],
    },
    {
      name: 'a list of a restored server, which gives the same version out again for something else',
      change: () => {
        store.advance('9');
        store.replace(mapOf(thing('x', '1', 'other')), '2');
      },
      want: ['updated x@1 (was 1)'],
    },
    {
      name: 'a list of a restored server that says the same',
      change: () => {
        store.advance('9');
        store.replace(mapOf(thing('x', '1')), '2');
      },
      want: [],
    },
    {name: 'an empty list', change: () => store.replace(mapOf(), '9'), want: ['deleted x@1']},
    {name: 'the kind uninstalled', change: () => store.markMissing(), want: ['deleted x@1']},
  ])('$name', ({change, want}) => {
    store.replace(mapOf(thing('x', '1')), '1');
    expect(told).toEqual(['initial added x@1']);
    told.length = 0;
    change();
    expect(told).toEqual(want);
  });

  test('a late subscriber gets the existing objects', () => {
    store.replace(mapOf(thing('x', '1')), '1');
    const late: string[] = [];
    const end = store.subscribe(delta => late.push(tell(delta)));
    expect(late).toEqual(['initial added x@1']);
    end();
    store.upsert(thing('x', '2'));
    expect(late).toHaveLength(1);
  });

  test('the store already holds the change', () => {
    store.subscribe(({type, object}) => {
      expect(store.get('a/x')).toBe(type === 'deleted' ? undefined : object);
    });
    store.upsert(thing('x', '1'));
    store.upsert(thing('x', '2', 'h', 'other'));
    store.remove(thing('x', '3', 'h', 'other'));
    expect(errors).toEqual([]);
  });

  test('one that throws harms neither the store nor the others', () => {
    store.subscribe(() => {
      throw new Error('boom');
    });
    const after: string[] = [];
    store.subscribe(delta => after.push(tell(delta)));
    store.upsert(thing('x', '1'));
    expect(errors).toEqual(['a/x']);
    expect(after).toEqual(['added x@1']);
    expect(store.size).toBe(1);
  });
});

describe('indexes', () => {
  const names = (host: string) => store.byIndex('host', host).map(t => t.metadata.name);

  test('follow changes, deletions and recreations', () => {
    store.replace(mapOf(thing('x', '1', 'one')), '1');
    store.addIndex('host', t => (t.spec ? [t.spec.host] : []));
    store.upsert(thing('y', '2', 'one'));
    expect(names('one')).toEqual(['x', 'y']);
    store.upsert(thing('x', '3', 'two'));
    expect([names('one'), names('two')]).toEqual([['y'], ['x']]);
    store.upsert(thing('y', '4', 'two', 'other'));
    expect([names('one'), names('two')]).toEqual([[], ['x', 'y']]);
    store.remove(thing('x', '5', 'whatever the last state was'));
    expect(names('two')).toEqual(['y']);
    store.markMissing();
    expect(names('two')).toEqual([]);
  });

  test('agree with a walk over all objects, whatever happened in which order', () => {
    store.addIndex('host', t => (t.spec ? [t.spec.host] : []));
    const hosts = ['one', 'two', 'three'];
    let random = 1;
    const below = (limit: number) => {
      random = (random * 48_271) % 0x7fffffff; // Lehmer's generator: the same in every run
      return random % limit;
    };
    for (let n = 1; n <= 2000; n++) {
      const next = thing(`x${below(4)}`, `${n}`, hosts[below(hosts.length)], `uid-${below(3)}`);
      if (below(3) === 0) store.remove(next);
      else store.upsert(next);
      for (const host of hosts) {
        const walked = [...store.list()].filter(({spec}) => spec?.host === host).map(({metadata}) => metadata);
        const indexed = store.byIndex('host', host).map(({metadata}) => metadata);
        expect(new Set(indexed)).toEqual(new Set(walked));
        expect(indexed).toHaveLength(walked.length);
      }
    }
  });

  test('hold any number of objects for a value, each once', () => {
    store.addIndex('host', t => (t.spec ? [t.spec.host, t.spec.host] : []));
    const all = Array.from({length: 20}, (_, n) => thing(`x${n}`, `${n + 1}`, 'one'));
    for (const [n, each] of all.entries()) {
      store.upsert(each);
      expect(names('one')).toHaveLength(n + 1);
    }
    for (const [n, each] of all.entries()) {
      store.remove(each);
      expect(names('one')).toEqual(all.slice(n + 1).map(({metadata}) => metadata.name));
    }
  });

  test('that do not exist are an error, not an empty answer', () => {
    expect(() => store.byIndex('nope', 'x')).toThrow(/no index named nope/);
  });
});

describe('settled', () => {
  test.each<{name: string; settle: () => void; state: string}>([
    {name: 'a list', settle: () => store.replace(mapOf(), '1'), state: 'synced'},
    {name: 'a missing kind', settle: () => store.markMissing(), state: 'missing'},
  ])('comes with $name', async ({settle, state}) => {
    const settled = store.settled();
    settle();
    await settled;
    expect(store.state).toBe(state);
  });

  test('ends with its signal', async () => {
    await expect(store.settled(AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough');
    const abort = new AbortController();
    const settled = store.settled(abort.signal);
    abort.abort(new Error('enough'));
    await expect(settled).rejects.toThrow('enough');
  });
});

describe('own writes', () => {
  const expectWrite = (resourceVersion: string, name = 'x') =>
    store.expect({resource: THING, key: `a/${name}`, object: thing(name, resourceVersion)});
  const expectDelete = () => store.expect({resource: THING, key: 'a/x', deletedUid: 'uid-x'});

  beforeEach(() => store.replace(mapOf(thing('x', '1')), '10'));

  test.each<{name: string; write: () => ReturnType<typeof expectWrite>; meanwhile: () => void; want: boolean}>([
    {name: 'a write that the watch has passed', write: () => expectWrite('10'), meanwhile: () => undefined, want: true},
    {name: 'a write that it has not', write: () => expectWrite('11'), meanwhile: () => undefined, want: false},
    {
      name: 'its own event',
      write: () => expectWrite('11'),
      meanwhile: () => store.upsert(thing('x', '11')),
      want: true,
    },
    {
      name: 'a later event of another object',
      write: () => expectWrite('11'),
      meanwhile: () => store.upsert(thing('y', '12')),
      want: true,
    },
    {name: 'a bookmark', write: () => expectWrite('11'), meanwhile: () => store.advance('12'), want: true},
    {name: 'a bookmark before it', write: () => expectWrite('13'), meanwhile: () => store.advance('12'), want: false},
    {name: 'a new list', write: () => expectWrite('11'), meanwhile: () => store.replace(mapOf(), '20'), want: true},
    {
      name: 'a server restored from a backup',
      write: () => expectWrite('11'),
      meanwhile: () => store.replace(mapOf(), '5'),
      want: true,
    },
    {name: 'the kind gone', write: () => expectWrite('11'), meanwhile: () => store.markMissing(), want: true},
    {name: 'a delete not yet seen', write: expectDelete, meanwhile: () => undefined, want: false},
    {name: 'a delete seen', write: expectDelete, meanwhile: () => store.remove(thing('x', '11')), want: true},
    {
      name: 'deleted and made again',
      write: expectDelete,
      meanwhile: () => store.upsert(thing('x', '12', 'h', 'new')),
      want: true,
    },
  ])('$name: shown is $want', ({write, meanwhile, want}) => {
    const expectation = write();
    meanwhile();
    expect(expectation && store.reflects(expectation)).toBe(want);
  });

  test('a write outside of the selector is not waited for', () => {
    expect(expectWrite('99', 'outside')).toBeUndefined();
  });

  test('reflecting wakes with the event', async () => {
    const expectation = expectWrite('11');
    if (!expectation) throw new Error('the store covers it');
    const shown = store.reflecting(expectation, AbortSignal.timeout(5_000));
    store.upsert(thing('x', '11'));
    await shown;
  });
});

test('an index function that throws misses its object; the store and the other indexes have it', () => {
  store.addIndex('strict', ({spec}) => {
    if (spec?.host === 'bad') throw new Error('a mistake');
    return [spec?.host ?? ''];
  });
  store.addIndex('host', ({spec}) => [spec?.host ?? '']);
  store.replace(mapOf(thing('x', '1', 'bad'), thing('y', '2')), '2');
  expect([store.get('a/x')?.spec?.host, store.get('a/y')?.spec?.host, errors]).toEqual(['bad', 'h', ['a/x']]);
  expect(store.byIndex('host', 'bad')).toHaveLength(1);
  store.upsert(thing('x', '3'));
  expect(store.byIndex('strict', 'h')).toHaveLength(2);
  store.remove(thing('x', '4'));
  expect(store.byIndex('strict', 'h')).toHaveLength(1);
  expect(store.byIndex('host', 'bad')).toHaveLength(0);
});
