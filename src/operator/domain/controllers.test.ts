import {beforeEach, describe, expect, test} from 'vitest';
import {ManualClock} from '../../../test/support/manual-clock.ts';
import {memoryCaches} from '../../../test/support/memory-caches.ts';
import {operatorConfig} from '../../../test/support/operator-config.ts';
import {API_VERSION, LABEL} from '../../api/names.ts';
import type {Base} from '../caches/context.ts';
import {createPlaces} from '../caches/places.ts';
import {createStores} from '../caches/stores.ts';
import {projectsOfService} from '../project/controllers.ts';
import {domainsOfProject, domainsOfService} from './controllers.ts';

const config = operatorConfig();

let sources: Pick<Base, 'stores' | 'places'>;
let put: (kind: string, name: string, spec: object) => void;

beforeEach(() => {
  const caches = memoryCaches();
  let second = 0;
  put = (kind, name, spec) => {
    const creationTimestamp = new Date(Date.UTC(2026, 10, 21) + 1000 * second++).toISOString();
    const metadata = {name, namespace: 'a', uid: name, resourceVersion: `${second}`, creationTimestamp};
    caches.put({apiVersion: API_VERSION, kind, metadata, ...{spec}});
  };
  const stores = createStores(
    caches.manager,
    config,
    {defaultHost: () => ''},
    {resources: [], platformKinds: [], backends: () => [], emptied: () => undefined},
  );
  sources = {stores, places: createPlaces(stores, config, new ManualClock())};
  caches.put({apiVersion: 'v1', kind: 'Namespace', metadata: {name: 'a', labels: {[LABEL.plan]: 'pro'}}});
});

const naming = {service: {name: 'web', port: 80}};
/** The later they are put, the younger they are. */
function putDomain(name: string, projectRef: string): void {
  put('Domain', name, {host: name, projectRef: {name: projectRef}});
}

describe('of 5,000 objects beyond the plan', () => {
  beforeEach(() => {
    put('Project', 'shop', naming);
    putDomain('shop.example.com', 'shop');
    for (let n = 1; n < 100; n++) put('Project', `other${n}`, {service: {name: 'other', port: 80}});
    for (let n = 1; n < 20; n++) putDomain(`other${n}.example.com`, 'other1');
    for (let n = 0; n < 5000; n++) {
      put('Project', `p${n}`, naming);
      putDomain(`h${n}.example.com`, 'shop');
    }
  });

  // attack: too-many-projects
  test('a change to a Service or a Project concerns none', () => {
    expect(projectsOfService(sources, 'a/web')).toEqual(['a/shop']);
    expect(domainsOfService(sources, 'a/web')).toEqual(['a/shop.example.com']);
    expect(domainsOfProject(sources, 'a/shop')).toEqual(['a/shop.example.com']);
  });
});

test('a Domain depends on its own Project and on the Service of it, whether they exist or not', () => {
  put('Project', 'shop', naming);
  put('Project', 'other', {service: {name: 'other', port: 80}});
  putDomain('shop.example.com', 'shop');
  putDomain('other.example.com', 'other');
  putDomain('early.example.com', 'missing');
  expect(domainsOfService(sources, 'a/web')).toEqual(['a/shop.example.com']);
  expect(domainsOfProject(sources, 'a/missing')).toEqual(['a/early.example.com']);
});

test('a Domain that holds its host depends on the Service of a Project that is beyond the plan', () => {
  for (let n = 0; n < 100; n++) put('Project', `p${n}`, {service: {name: 'other', port: 80}});
  put('Project', 'shop', naming);
  putDomain('shop.example.com', 'shop');
  expect(projectsOfService(sources, 'a/web')).toEqual([]);
  expect(domainsOfService(sources, 'a/web')).toEqual(['a/shop.example.com']);
});
