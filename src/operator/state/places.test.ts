import {beforeEach, expect, test, vi} from 'vitest';
import {pemOf, requestFor} from '../../../test/integration/approval/hostile-csr.ts';
import {memoryCaches} from '../../../test/support/memory-caches.ts';
import {operatorConfig} from '../../../test/support/operator-config.ts';
import {API_VERSION, LABEL} from '../../api/names.ts';
import {type KubeObject, keyOf} from '../../runtime/kube/object.ts';
import {decide} from '../approval/decide.ts';
import {routeName} from '../model/derived-names.ts';
import {type CertificateRequest, type Domain, INGRESS, type Project} from '../model/kinds.ts';
import {createPlaces, type Places} from './places.ts';
import {createStores, type Stores} from './stores.ts';

const config = operatorConfig(`
defaultHost: {tls: certificate}
plans: {free: {maxProjects: 3}, tiny: {maxProjects: 1}, pro: {maxProjects: 1000}}
`);

let stores: Stores;
let places: Places;
let put: (object: KubeObject) => void;
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
  stores = createStores(caches.manager, config, names, {
    resources: [INGRESS],
    platformKinds: [],
    backends: () => [],
    emptied: () => undefined,
  });
  places = createPlaces({stores, config});
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

function placed(...projects: readonly Project[]): string[] {
  return projects.filter(each => places.has(each)).map(({metadata}) => metadata.name);
}

test('the oldest Projects of an account have a place, in whatever namespace they are', () => {
  for (const name of ['a', 'b']) put(namespace(name));
  put(namespace('other', {account: 'other'}));
  const all = [project('p4', 4), project('p2', 2, 'b'), project('p1', 1), project('p3', 3, 'b')];
  const other = project('p0', 5, 'other');
  for (const each of [...all, other]) put(each);
  expect(placed(...all, other)).toEqual(['p2', 'p1', 'p3', 'p0']);
  expect(places.in('a').map(({metadata}) => metadata.name)).toEqual(['p1']);
  expect(places.in('b').map(({metadata}) => metadata.name)).toEqual(['p2', 'p3']);
  expect(places.listing('a/a.test').map(({metadata}) => metadata.name)).toEqual(['p1']);
  expect(places.listing('a/b.test')).toEqual([]);
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
  const listing = () => places.listing('a/h3.test').map(({metadata}) => metadata.name);
  expect(listing()).toEqual([]);
  domain('p3');
  expect(listing()).toEqual(['p3']);
  domain('p0', 'p4');
  expect(listing()).toEqual(['p4']);
  expect(placed(...all)).toEqual(['p0', 'p1', 'p2']);
  domain('p0', 'p0'); // which lists another host
  expect(listing()).toEqual([]);
  domain('p3', 'p3', {});
  expect(listing()).toEqual([]);
});

test('a question about one Project reads no others, however many there are', () => {
  put(namespace('a', {plan: 'pro'}));
  const all = Array.from({length: 1001}, (_, n) => project(`p${n}`, n));
  for (const each of all) put(each);
  for (const each of all.slice(1)) put(route(each));
  const reads = vi.spyOn(stores.projects, 'get');
  expect(placed(...all)).toHaveLength(1000);
  expect(places.has(project('p0'))).toBe(false);
  expect(reads).not.toHaveBeenCalled();
});

// attack: too-many-projects
test('an object that a tenant could name gives no place', () => {
  put(namespace('a'));
  const all = Array.from({length: 4}, (_, n) => project(`p${n}`, n));
  for (const each of all) put(each);
  put(route(project('p3'), 'mine'));
  expect(placed(...all)).toEqual(['p0', 'p1', 'p2']);
  put(route(project('p3')));
  expect(placed(...all)).toEqual(['p0', 'p1', 'p3']);
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
