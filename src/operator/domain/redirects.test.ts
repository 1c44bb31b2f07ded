import {describe, expect, test} from 'vitest';
import type {Condition} from '../../api/conditions.ts';
import {Store} from '../../runtime/cache/store.ts';
import {INDEX} from '../caches/stores.ts';
import type {Domain} from '../kinds/kinds.ts';
import {Accepted} from './conditions.ts';
import {followRedirects, type Hop, MAX_REDIRECTS, mattersToRedirects, withRedirectsTo} from './redirects.ts';

/** "a>b c": a redirects to b, c serves. */
function chain(text: string): {start: Hop; hop: (host: string) => Hop | undefined} {
  const hops = text.split(' ').map((entry): Hop => {
    const [host = '', to] = entry.split('>');
    return {host, ...(to && {to})};
  });
  const start = hops[0];
  if (!start) throw new Error('a chain begins somewhere');
  return {start, hop: host => hops.find(entry => entry.host === host)};
}

test.each([
  ['a', {kind: 'serves', host: 'a'}],
  ['a>b b', {kind: 'serves', host: 'b'}],
  ['a>b b>c c>d d', {kind: 'serves', host: 'd'}],
  ['a>b', {kind: 'not-ours', host: 'b'}],
  ['a>b b>c', {kind: 'not-ours', host: 'c'}],
  ['a>a', {kind: 'loop', path: ['a', 'a']}],
  ['a>b b>a', {kind: 'loop', path: ['a', 'b', 'a']}],
  ['a>b b>c c>b', {kind: 'loop', path: ['b', 'c', 'b']}],
])('%s', (text, end) => {
  const {start, hop} = chain(text);
  expect(followRedirects(start, hop)).toEqual(end);
});

/** h0 redirects to h1, and so on; the last one redirects to `end`, or serves. Counts the hosts that are looked up. */
function longChain(redirects: number, end?: string) {
  const looked = {count: 0};
  const hopOf = (n: number): Hop => {
    const to = n < redirects ? `h${n + 1}` : end;
    return {host: `h${n}`, ...(to !== undefined && {to})};
  };
  const hop = (host: string) => {
    looked.count++;
    return hopOf(Number(host.slice(1)));
  };
  return {start: hopOf(0), hop, looked};
}

test('32 redirects in a row are followed', () => {
  const {start, hop} = longChain(32);
  expect(followRedirects(start, hop)).toEqual({kind: 'serves', host: 'h32'});
});

test.each([33, 500, 15_000, 50_000])('%d redirects in a row are too many, and at most 32 are looked up', count => {
  const {start, hop, looked} = longChain(count);
  expect(followRedirects(start, hop).kind).toBe('too-long');
  expect(looked.count).toBe(32);
});

// attack: bad-redirect
test('a loop of 5,001 hosts is refused in a message that names the first few', () => {
  const name = (host: string) => `${host}.${'x'.repeat(60)}.${'y'.repeat(60)}.${'z'.repeat(60)}.example.com`;
  const {start, hop, looked} = longChain(5000, 'h0');
  const end = followRedirects(start, hop);
  expect(looked.count).toBe(32);
  if (end.kind !== 'too-long') throw new Error(end.kind);
  const {reason, message} = Accepted.redirectChainTooLong(end.path.map(name), MAX_REDIRECTS);
  expect(reason).toBe('RedirectChainTooLong');
  expect(message).toContain(`${name('h0')} -> ${name('h1')} -> ${name('h2')} -> ${name('h3')} -> ... (28 more) -> `);
  expect(message.length).toBeLessThan(2048);
});

test('the message about the longest followed loop is short too', () => {
  const {start, hop} = longChain(32, 'h0');
  const end = followRedirects(start, hop);
  if (end.kind !== 'loop') throw new Error(end.kind);
  expect(Accepted.redirectLoop(end.path).message).toBe(
    'These redirects form a loop: h0 -> h1 -> h2 -> h3 -> ... (29 more) -> h0. Remove the redirect of one of these hosts, so that it serves the project.',
  );
});

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
