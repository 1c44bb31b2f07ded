import {describe, expect, test} from 'vitest';
import type {Condition} from '../../api/conditions.ts';
import {Store} from '../../runtime/cache/store.ts';
import {INDEX} from '../caches/stores.ts';
import type {Domain} from '../kinds/kinds.ts';
import {mattersToRedirects, withRedirectsTo} from './redirects-to.ts';

interface Made {
  readonly host: string;
  readonly to?: string;
  /** The reason why it is not accepted. */
  readonly refused?: string;
}

function domain({host, to, refused}: Made): Domain {
  const accepted: Condition = {
    type: 'Accepted',
    status: refused === undefined ? 'True' : 'False',
    reason: refused ?? 'Accepted',
    message: '',
    lastTransitionTime: '2026-11-21T12:00:00Z',
  };
  return {
    apiVersion: 'nameplate.dev/v1alpha1',
    kind: 'Domain',
    metadata: {name: host, namespace: 'ns', resourceVersion: '1', uid: host},
    spec: {host, projectRef: {name: 'shop'}, ...(to !== undefined && {redirect: {to}})},
    status: {observedGeneration: 1, conditions: [accepted]},
  };
}

/** Counts the Domains that the index returns. */
function storeOf(made: readonly Made[]) {
  const store = new Store<Domain>({
    onHandlerError: error => {
      throw error;
    },
  });
  store.addIndex(INDEX.redirectTo, ({metadata, spec}) =>
    spec.redirect ? [`${metadata.namespace}/${spec.redirect.to}`] : [],
  );
  for (const each of made) store.upsert(domain(each));
  const found = {count: 0};
  const byIndex = (index: string, value: string) => {
    const domains = store.byIndex(index, value);
    found.count += domains.length;
    return domains;
  };
  return {byIndex, found};
}

describe('a change to a host affects', () => {
  test('it and those that redirect to it, also through others', () => {
    const store = storeOf([{host: 'a', to: 'b'}, {host: 'b', to: 'c'}, {host: 'x', to: 'c'}, {host: 'c'}, {host: 'y'}]);
    expect([...withRedirectsTo(store, ['ns/c'])]).toEqual(['ns/c', 'ns/b', 'ns/x', 'ns/a']);
  });

  test('each once if redirects form a loop', () => {
    const store = storeOf([
      {host: 'a', to: 'b'},
      {host: 'b', to: 'a'},
    ]);
    expect([...withRedirectsTo(store, ['ns/a'])]).toEqual(['ns/a', 'ns/b']);
  });

  // attack: bad-redirect
  test('only those within 32 redirects, of 50,000 in one chain', () => {
    const count = 50_000;
    const store = storeOf(Array.from({length: count}, (_, n) => ({host: `h${n}`, to: `h${n + 1}`})));
    expect(withRedirectsTo(store, [`ns/h${count}`]).size).toBe(33);
    expect(store.found.count).toBe(32);
  });

  test('only those that the plan allows, of 50,000 that redirect to one host', () => {
    const many = Array.from({length: 50_000}, (_, n) => ({
      host: `h${n}`,
      to: 'target',
      ...(n >= 20 && {refused: 'PlanLimitReached'}),
    }));
    const store = storeOf(many);
    expect(withRedirectsTo(store, ['ns/target']).size).toBe(21);
  });

  test('one whose redirect is refused, and those behind one that its plan refuses', () => {
    const store = storeOf([
      {host: 'a', to: 'b'},
      {host: 'b', to: 'c', refused: 'PlanLimitReached'},
      {host: 'd', to: 'c', refused: 'RedirectTargetNotOurs'},
    ]);
    expect([...withRedirectsTo(store, ['ns/c'])]).toEqual(['ns/c', 'ns/d', 'ns/a']);
  });
});

describe('redirects that point to a Domain', () => {
  const before = domain({host: 'a'});
  const routed: Condition = {
    type: 'Routed',
    status: 'True',
    reason: 'Serving',
    message: '',
    lastTransitionTime: '2026-11-21T12:00:00Z',
  };
  const withRoute = {...before, status: {observedGeneration: 1, conditions: [routed]}};
  const rows: [string, Domain, boolean][] = [
    ['its evidence', {...before, status: {...before.status, observedGeneration: 1, state: 'Unverified'}}, false],
    ['its annotations', {...before, metadata: {...before.metadata, annotations: {a: 'b'}}}, false],
    ['its route', withRoute, true],
    ['its redirect', domain({host: 'a', to: 'b'}), true],
    ['its project', {...before, spec: {...before.spec, projectRef: {name: 'other'}}}, true],
    ['its generation', {...before, metadata: {...before.metadata, generation: 2}}, true],
  ];
  test.each(rows)('depend on some changes to it: %s', (_, object, matters) => {
    expect(mattersToRedirects({type: 'updated', object, old: before, initial: false})).toBe(matters);
  });
  test('depend on its creation and its deletion', () => {
    expect(mattersToRedirects({type: 'added', object: before, initial: false})).toBe(true);
    expect(mattersToRedirects({type: 'deleted', object: before, initial: false})).toBe(true);
  });
});
