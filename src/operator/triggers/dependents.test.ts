import {beforeEach, describe, expect, test} from 'vitest';
import {memoryCaches} from '../../../test/support/memory-caches.ts';
import {operatorConfig} from '../../../test/support/operator-config.ts';
import {API_VERSION} from '../../api/names.ts';
import {createStores, type Stores} from '../state/stores.ts';
import {domainsOfProject, domainsOfService, projectsOfService} from './dependents.ts';

const config = operatorConfig();

let stores: Stores;
let put: (kind: string, name: string, spec: object, condition?: object) => void;

beforeEach(() => {
  const caches = memoryCaches();
  put = (kind, name, spec, condition) => {
    const metadata = {name, namespace: 'a', uid: name, resourceVersion: `${Math.random()}`};
    const status = condition && {status: {conditions: [condition]}};
    caches.put({apiVersion: API_VERSION, kind, metadata, ...{spec, ...status}});
  };
  stores = createStores(
    caches.manager,
    config,
    {defaultHost: () => ''},
    {resources: [], platformKinds: [], backends: () => [], emptied: () => undefined},
  );
});

const naming = {service: {name: 'web', port: 80}};
const refused = (type: string, reason: string) => ({type, status: 'False', reason});

function putDomain(name: string, projectRef: string, condition?: object): void {
  put('Domain', name, {host: name, projectRef: {name: projectRef}}, condition);
}

describe('of 50,000 objects that wait for their plan', () => {
  beforeEach(() => {
    put('Project', 'shop', naming);
    putDomain('shop.example.com', 'shop', {type: 'Accepted', status: 'True', reason: 'Accepted'});
    for (let n = 0; n < 50_000; n++) {
      put('Project', `p${n}`, naming, refused('Ready', 'PlanLimitReached'));
      putDomain(`h${n}.example.com`, 'shop', refused('Accepted', 'PlanLimitReached'));
    }
  });

  // attack: too-many-projects
  test('a change to a Service or a Project concerns none', () => {
    expect(projectsOfService(stores, 'a/web')).toEqual(['a/shop']);
    expect(domainsOfService(stores, 'a/web')).toEqual(['a/shop.example.com']);
    expect(domainsOfProject(stores, 'a/shop')).toEqual(['a/shop.example.com']);
  });
});

test.each(['InvalidHost', 'ReservedHost', 'HostInOtherProject', 'PlanRequired', 'PlanLimitReached'])(
  'a Domain with the reason %s depends neither on its Project nor on a Service',
  reason => {
    put('Project', 'shop', naming);
    putDomain('shop.example.com', 'shop', refused('Accepted', reason));
    expect([domainsOfProject(stores, 'a/shop'), domainsOfService(stores, 'a/web')]).toEqual([[], []]);
  },
);

test.each(['ProjectNotFound', 'NoSuccessfulDeploy', 'RedirectLoop'])(
  'a Domain with the reason %s depends on its Project',
  reason => {
    putDomain('shop.example.com', 'shop', refused('Accepted', reason));
    expect(domainsOfProject(stores, 'a/shop')).toEqual(['a/shop.example.com']);
  },
);

test('a new Domain depends on the Service of its own Project, even if that Project waits for its plan', () => {
  put('Project', 'shop', naming, refused('Ready', 'PlanLimitReached'));
  put('Project', 'other', {service: {name: 'other', port: 80}});
  putDomain('shop.example.com', 'shop');
  putDomain('other.example.com', 'other');
  expect(domainsOfService(stores, 'a/web')).toEqual(['a/shop.example.com']);
});
