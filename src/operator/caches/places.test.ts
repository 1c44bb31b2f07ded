import {beforeEach, expect, test, vi} from 'vitest';
import {pemOf, requestFor} from '../../../test/integration/approval/hostile-csr.ts';
import {ManualClock} from '../../../test/support/manual-clock.ts';
import {memoryCaches} from '../../../test/support/memory-caches.ts';
import {operatorConfig} from '../../../test/support/operator-config.ts';
import {API_VERSION, LABEL} from '../../api/names.ts';
import {Store} from '../../runtime/cache/store.ts';
import {type DeepReadonly, type KubeObject, keyOf} from '../../runtime/kube/object.ts';
import {decide} from '../certificate/decide.ts';
import {routeName} from '../kinds/derived-names.ts';
import {type CertificateRequest, type Domain, INGRESS, type Project} from '../kinds/kinds.ts';
import {listing} from './listing.ts';
import {createPlaces, Places, type PlacesOfKinds} from './places.ts';
import {createStores, type Stores} from './stores.ts';

const config = operatorConfig(`
defaultHost: {tls: certificate}
plans: {free: {maxProjects: 3, maxDomains: 3}, tiny: {maxProjects: 1}, pro: {maxProjects: 1000}}
`);

let stores: Stores;
let places: PlacesOfKinds;
let put: (object: KubeObject) => void;
let remove: (object: KubeObject) => void;
/** How often a default host was derived. */
let derived: number;

beforeEach(() => {
  const caches = memoryCaches();
  derived = 0;
  const names = {
    defaultHost: (name: string, namespace: string) => {
      derived++;
      return `${name}.${namespace}.test`;
    },
  };
  let version = 0;
  put = object => {
    const metadata = {uid: keyOf(object), resourceVersion: `${++version}`, ...object.metadata};
    caches.put({...object, metadata});
  };
  remove = object => caches.store(object.kind)?.remove(object);
  stores = createStores(caches.manager, config, names, {
    resources: [INGRESS],
    platformKinds: [],
    backends: () => [],
    emptied: () => undefined,
  });
  places = createPlaces(stores, config, new ManualClock());
});

function namespace(name: string, {plan = 'free', account = 'acme'} = {}): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: {name, labels: {[LABEL.plan]: plan, [LABEL.account]: account}},
  };
}

function project(name: string, second = 0, inNamespace = 'a', host = 'a.test'): Project {
  const creationTimestamp = new Date(Date.UTC(2026, 10, 21) + second * 1000).toISOString();
  const spec = {service: {name: 'shop', port: 'http'}, domains: {primary: host}};
  return {apiVersion: API_VERSION, kind: 'Project', metadata: {name, namespace: inNamespace, creationTimestamp}, spec};
}

/** A part of the route of the Project's default host. */
function route(of: Project, name?: string): KubeObject {
  const {namespace = ''} = of.metadata;
  const labels = {[LABEL.project]: of.metadata.name, [LABEL.managedBy]: 'nameplate'};
  const metadata = {name: name ?? routeName(namespace, `${of.metadata.name}.${namespace}.test`), namespace, labels};
  return {apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', metadata};
}

function namesOf(objects: readonly DeepReadonly<KubeObject>[]): string[] {
  return objects.map(({metadata}) => metadata.name);
}

function placed(...projects: readonly Project[]): string[] {
  return namesOf(projects.filter(each => places.projects.has({...each, defaultHost: ''})));
}

test('the oldest Projects of an account have a place, in whatever namespace they are', () => {
  for (const name of ['a', 'b']) put(namespace(name));
  put(namespace('other', {account: 'other'}));
  const all = [project('p4', 4), project('p2', 2, 'b'), project('p1', 1), project('p3', 3, 'b')];
  const other = project('p0', 5, 'other');
  for (const each of [...all, other]) put(each);
  expect(placed(...all, other)).toEqual(['p2', 'p1', 'p3', 'p0']);
  expect(namesOf(places.projects.in('a'))).toEqual(['p1']);
  expect(namesOf(places.projects.in('b'))).toEqual(['p2', 'p3']);
  expect(namesOf(listing({stores, places}, 'a/a.test'))).toEqual(['p1']);
  expect(listing({stores, places}, 'a/b.test')).toEqual([]);
});

test('the plan is that of the namespace, the Projects are those of the account', () => {
  put(namespace('a'));
  put(namespace('b', {plan: 'tiny'}));
  const all = [project('p1', 1), project('p2', 2, 'b'), project('p3', 3), project('p4', 4)];
  for (const each of all) put(each);
  expect(placed(...all)).toEqual(['p1', 'p3']);
});

test.each(Array.from({length: 20}, (_, seed) => seed))('what is published keeps its place (%i)', seed => {
  put(namespace('a'));
  const all = Array.from({length: 8}, (_, n) => project(`p${n}`, n));
  const published = new Set(all.filter((_, n) => ((seed * 7919 + 13) >> n) % 3 === 0));
  for (const each of all) put(each);
  for (const each of published) put(route(each));
  const want = all.filter((each, n) => {
    const before = all.filter((other, m) => m < n || (m > n && published.has(other)));
    return published.has(each) || before.length < 3;
  });
  expect(placed(...all)).toEqual(want.map(({metadata}) => metadata.name));
});

test('a Domain stays with the Projects that own it or that it names, which get no place by it', () => {
  put(namespace('a'));
  const all = Array.from({length: 5}, (_, n) => project(`p${n}`, n, 'a', `h${Math.min(n, 3)}.test`));
  for (const each of all) put(each);
  const domain = (named: string, owner?: string, labels: Record<string, string> = {[LABEL.managed]: 'true'}) => {
    const ownerReferences =
      owner === undefined ? [] : [{name: owner, uid: `a/${owner}`, apiVersion: '', kind: 'Project'}];
    const metadata = {name: 'h3.test', namespace: 'a', labels, ownerReferences};
    put({
      apiVersion: API_VERSION,
      kind: 'Domain',
      metadata,
      spec: {host: 'h3.test', projectRef: {name: named}},
    } as Domain);
  };
  const listed = () => namesOf(listing({stores, places}, 'a/h3.test'));
  expect(listed()).toEqual([]);
  domain('p3');
  expect(listed()).toEqual(['p3']);
  domain('p0', 'p4');
  expect(listed()).toEqual(['p4']);
  expect(placed(...all)).toEqual(['p0', 'p1', 'p2']);
  domain('p0', 'p0'); // which lists another host
  expect(listed()).toEqual([]);
  domain('p3', 'p3', {});
  expect(listed()).toEqual([]);
});

// attack: too-many-projects
test('an object that a tenant could name gives no place', () => {
  put(namespace('a'));
  const all = Array.from({length: 4}, (_, n) => project(`p${n}`, n));
  for (const each of all) put(each);
  put(route(project('p3'), 'mine'));
  expect(placed(...all)).toEqual(['p0', 'p1', 'p2']);
  put(route(project('p3')));
  places.projects.touch('acme');
  expect(placed(...all)).toEqual(['p0', 'p1', 'p3']);
});

function domain(host: string, second: number, inNamespace = 'a'): Domain {
  const {metadata} = project(host, second, inNamespace);
  return {apiVersion: API_VERSION, kind: 'Domain', metadata, spec: {host, projectRef: {name: 'shop'}}};
}

function claim(host: string, spec: object = {}): KubeObject & {spec: object} {
  const holder = {account: 'acme', namespace: 'a', since: '2026-11-26T05:00:00Z'};
  return {apiVersion: API_VERSION, kind: 'DomainClaim', metadata: {name: host}, spec: {...holder, ...spec}};
}

const hosts = (count: number) => Array.from({length: count}, (_, n) => domain(`h${n}.test`, n));

test.each([
  {what: 'the oldest', held: [], want: ['h0', 'h1', 'h2']},
  {what: 'none of its age, if a younger one holds its host', held: [4], want: ['h0', 'h1', 'h4']},
  {what: 'one that holds its host anyway', held: [0], want: ['h0', 'h1', 'h2']},
  {what: 'more than the plan allows, after a downgrade', held: [1, 2, 3, 4], want: ['h1', 'h2', 'h3', 'h4']},
])('the Domains with a place in a plan for three are $what: $want', ({held, want}) => {
  put(namespace('a'));
  const all = hosts(5);
  for (const n of held) put(claim(`h${n}.test`));
  put(claim('h3.test', held.includes(3) ? {} : {releasedAt: '2026-11-26T06:00:00Z'}));
  for (const each of all) put(each);
  const found = namesOf(all.filter(each => places.domains.has(each)));
  expect(found).toEqual(want.map(name => `${name}.test`));
  expect(namesOf(places.domains.in('a')).toSorted()).toEqual(found);
});

test('of many of the same second or another one, in any order, the oldest have a place', () => {
  put(namespace('a'));
  const all = Array.from({length: 500}, (_, n) => domain(`h${(n * 7919) % 1009}.test`, n < 400 ? 7 : n % 7));
  const ageOf = ({metadata: {creationTimestamp, name}}: DeepReadonly<KubeObject>) => `${creationTimestamp} ${name}`;
  const byAge = (a: Domain, b: Domain) => (ageOf(a) < ageOf(b) ? -1 : 1);
  for (const each of all) put(each);
  expect(namesOf(places.domains.in('a'))).toEqual(namesOf(all.toSorted(byAge).slice(0, 3)));
  for (const each of all.slice(400)) remove(each);
  expect(namesOf(places.domains.in('a'))).toEqual(namesOf(all.slice(0, 400).toSorted(byAge).slice(0, 3)));
});

/** Keys that got or lost a place, since it was read. */
function moves(): () => string[] {
  const moved: string[] = [];
  places.domains.onMove(key => void moved.push(key));
  return () => {
    places.domains.refresh('acme');
    return moved.splice(0).toSorted();
  };
}

test('what gets a place is reported, and nothing else, when another object is gone, or its host, or its namespace', () => {
  put(namespace('a'));
  put(namespace('b'));
  const all = [...hosts(6), domain('other.test', 60, 'b')];
  const moved = moves();
  for (const each of all) put(each);
  put(claim('h5.test'));
  expect(moved(), 'ranked for the first time').toEqual(['a/h2.test', 'a/h3.test', 'a/h4.test', 'b/other.test']);
  remove(domain('h0.test', 0));
  expect(moved()).toEqual(['a/h2.test']);
  put(claim('h5.test', {account: 'evil', namespace: 'e'}));
  expect(moved(), 'the one that is gone had no right to it anymore').toEqual(['a/h3.test', 'a/h5.test']);
  put(claim('h4.test'));
  expect(moved(), 'the host of a younger one is held, as after a restore').toEqual(['a/h3.test', 'a/h4.test']);
  put(namespace('a', {account: 'evil'}));
  expect(moved(), 'within the plan again').toEqual(['b/other.test']);
});

test('what loses its place because the account got another namespace is reported, unless it says so already', () => {
  put(namespace('a'));
  put(namespace('b', {account: 'other'}));
  const beyond = {type: 'Accepted', status: 'False', reason: 'PlanLimitReached', message: '', lastTransitionTime: ''};
  const told = {...domain('told.test', 2), status: {conditions: [beyond]}} as Domain;
  const held = ['b1.test', 'b2.test'].map(host => domain(host, 9, 'b'));
  const moved = moves();
  for (const each of [...hosts(2), told, ...held]) put(each);
  for (const {spec} of held) put(claim(spec.host, {namespace: 'b'}));
  expect(moved(), 'within the plan').toEqual([]);
  put(namespace('b'));
  expect(moved()).toEqual(['a/h1.test']);
});

test('an account within its plan is not ranked, and its newest object has a place immediately', () => {
  put(namespace('a'));
  const read = vi.spyOn(stores.domains, 'byIndex');
  for (const each of hosts(3)) {
    put(each);
    expect(places.domains.has(each)).toBe(true);
  }
  expect(read).not.toHaveBeenCalled();
});

test('while the caches are being filled, nobody beyond a plan has a place', () => {
  put(namespace('a'));
  const reads = new Store<KubeObject>({onHandlerError: () => undefined});
  const filling = new Places({
    ...{store: stores.domains, namespaces: stores.namespaces, config, clock: new ManualClock(), reads: [reads]},
    ...{max: () => 1, holds: () => false},
  });
  const all = hosts(2);
  for (const each of all) put(each);
  expect(all.filter(each => filling.has(each))).toEqual([]);
  expect(filling.in('a')).toEqual([]);
  expect(filling.refresh('acme')).toBeGreaterThan(0);
  reads.replace(new Map(), '0');
  expect(filling.refresh('acme')).toBe(0);
  expect(all.filter(each => filling.has(each))).toHaveLength(1);
});

// attack: too-many-projects
test('of 5,000 Domains beyond a plan, each may come and go, but the account is ranked a hundredth of the time', async () => {
  put(namespace('a'));
  const clock = new ManualClock();
  let ranked = 0;
  const monotonic = () => clock.monotonic() + ranked * 60; // a pass takes 60 ms
  const ranks = new Places({
    ...{store: stores.domains, namespaces: stores.namespaces, config, clock: {monotonic}, reads: []},
    max: () => 3,
    holds: ({spec}) => {
      if (spec.host === 'h0.test') ranked += 1;
      return false;
    },
  });
  const stale = vi.fn();
  ranks.onStale(stale);
  const all = hosts(5000);
  for (const each of all) {
    put(each);
    ranks.has(each);
    if (Number.parseInt(each.metadata.name.slice(1), 10) % 50 === 0) await clock.advance(200);
  }
  expect(all.filter(each => ranks.has(each))).toHaveLength(3);
  expect(ranked, 'of the 20 s').toBeLessThan(3 + 20_000 / 6000 + 1);
  const [first] = all;
  if (first) remove(first);
  expect(stale).toHaveBeenLastCalledWith('acme');
  const restMs = ranks.refresh('acme');
  expect(restMs).toBeGreaterThan(1000);
  await clock.advance(restMs);
  expect(ranks.refresh('acme')).toBe(0);
  expect(all.filter(each => ranks.has(each)).map(keyOf)).toEqual(['a/h1.test', 'a/h2.test', 'a/h3.test']);
});

// attack: too-many-projects
test('all accounts beyond their plans together are ranked a tenth of the time', () => {
  let nowMs = 0;
  const ranks = new Places({
    ...{store: stores.domains, namespaces: stores.namespaces, config, clock: {monotonic: () => nowMs}, reads: []},
    max: () => 0,
    holds: () => {
      nowMs++; // so a pass over one Domain takes 1 ms
      return false;
    },
  });
  const accounts = Array.from({length: 50}, (_, n) => `account${n}`);
  for (const account of accounts) {
    put(namespace(account, {account}));
    put(domain('h0.test', 0, account));
    ranks.refresh(account);
  }
  let rankedMs = 0;
  for (let step = 0; step < 20_000; step++) {
    const before = nowMs;
    for (const account of accounts) {
      ranks.touch(account);
      ranks.refresh(account);
    }
    rankedMs += nowMs - before;
    nowMs += 1;
  }
  expect(rankedMs / nowMs).toBeGreaterThan(0.05);
  expect(rankedMs / nowMs).toBeLessThan(0.1);
});

function judged(host: string) {
  const {certManagerUser, issuerRef} = config.certificates;
  const metadata = {name: 'any', namespace: 'a'};
  const spec = {request: pemOf(requestFor(host)), issuerRef, username: certManagerUser};
  const request: CertificateRequest = {apiVersion: 'cert-manager.io/v1', kind: 'CertificateRequest', metadata, spec};
  return decide({config, stores, places}, request).reason;
}

// attack: too-many-projects
test('requests derive no default host again, however many Projects there are', () => {
  put(namespace('a', {plan: 'pro'}));
  for (let n = 0; n < 1000; n++) put(project(`p${n}`));
  expect(derived).toBe(1000);
  for (let n = 0; n < 100; n++) expect(judged(`x${n}.test`)).toBe('HostNotHeld');
  expect(judged('p1.a.test')).toBe('NotManaged');
  expect(judged('p1.b.test')).toBe('HostNotHeld');
  expect(derived).toBe(1000);
  put(project('p0', 1));
  expect(derived).toBe(1001);
});

test('the default host of a Project beyond the plan is not held', () => {
  put(namespace('a'));
  for (let n = 0; n < 4; n++) put(project(`p${n}`, n));
  expect(judged('p2.a.test')).toBe('NotManaged');
  expect(judged('p3.a.test')).toBe('HostNotHeld');
});
