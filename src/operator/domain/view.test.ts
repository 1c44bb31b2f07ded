import {describe, expect, test} from 'vitest';
import {ROUTE} from '../../../test/support/edge.ts';
import {dnsCheck, domainView, memoryOperator} from '../../../test/support/memory-operator.ts';
import {domain, project, tenantNamespace} from '../../../test/support/objects.ts';
import {withoutNulls} from '../../runtime/apply/merge-patch.ts';
import type {KubeObject} from '../../runtime/kube/object.ts';
import {routeName} from '../kinds/derived-names.ts';
import {type DomainView, requiredRecords, viewOf} from './view.ts';

const TARGET = 'acct.edge.test';

/** `zone`: what the last check found. `last`: what the status shows, as type and label. */
function records(
  host: string,
  zone?: string,
  last?: readonly [type: string, label: string],
  apexAddresses?: readonly string[],
): string[] {
  const required = last && [{type: last[0], name: host, label: last[1], value: TARGET, ttl: 3600}];
  const {domain, question} = domainView({host});
  const view = domainView({
    host,
    question: {...question, target: TARGET, ...(apexAddresses && {apexAddresses})},
    check: zone === undefined ? undefined : dnsCheck({zone}),
    domain: {...domain, status: {...(required && {dns: {required}})}},
  });
  return requiredRecords(view).map(({type, label}) => `${type} ${label}`);
}

describe('the records to create follow the zone that DNS shows', () => {
  test.each([
    ['a subdomain', 'shop.example.com', 'example.com', ['CNAME shop']],
    ['an apex', 'example.com', 'example.com', ['ALIAS @', 'TXT _nameplate']],
    ['the apex of a delegated zone', 'dev.example.com', 'dev.example.com', ['ALIAS @', 'TXT _nameplate']],
    ['a host in a delegated zone', 'shop.dev.example.com', 'dev.example.com', ['CNAME shop']],
    ['a name below a private suffix, in its zone', 'me.github.io', 'github.io', ['CNAME me']],
    [
      'a name below a private suffix, in a zone of its own',
      'me.github.io',
      'me.github.io',
      ['ALIAS @', 'TXT _nameplate'],
    ],
  ])('%s', (_, host, zone, want) => expect(records(host, zone)).toEqual(want));
});

test('at an apex, the fixed addresses of the platform follow the ALIAS, for providers that have none', () => {
  const addresses = ['192.0.2.10', '192.0.2.11', '2001:db8::10'];
  const want = ['ALIAS @', 'A @', 'A @', 'AAAA @', 'TXT _nameplate'];
  expect(records('example.com', 'example.com', undefined, addresses)).toEqual(want);
  const {question} = domainView({host: 'example.com'});
  const view = domainView({host: 'example.com', question: {...question, apexAddresses: addresses}});
  expect(requiredRecords(view).map(({insteadOf}) => insteadOf)).toEqual([
    undefined,
    'ALIAS',
    'ALIAS',
    'ALIAS',
    undefined,
  ]);
  expect(records('shop.example.com', 'example.com', undefined, addresses)).toEqual(['CNAME shop']);
});

test('the delegated challenge replaces the TXT record', () => {
  const {question} = domainView({host: 'example.com'});
  const challenge = {name: '_acme-challenge.example.com', target: 'own.acme.test'};
  const view = domainView({host: 'example.com', question: {...question, challenge}});
  expect(requiredRecords(view).slice(-2)).toMatchObject([
    {type: 'TXT', name: question.txtName, value: question.txtValue},
    {type: 'CNAME', name: challenge.name, label: '_acme-challenge', value: challenge.target, insteadOf: 'TXT'},
  ]);
});

test('a wildcard has the record of its traffic, and the delegated challenge of the name below which it is', () => {
  const challenge = {name: '_acme-challenge.shop.example.com', target: 'own.acme.test'};
  const of = (more: Partial<DomainView>) => {
    const host = '*.shop.example.com';
    const {question} = domainView({host});
    const view = domainView({host, ...more, question: {...question, target: TARGET, challenge}});
    return requiredRecords(view).map(({type, label, value}) => `${type} ${label} ${value}`);
  };
  const want = ['CNAME *.shop acct.edge.test', 'CNAME _acme-challenge.shop own.acme.test'];
  expect(of({})).toEqual(want);
  expect(of({check: dnsCheck({zone: 'example.com', addressesOnly: true})})).toEqual(want);
  const {domain} = domainView({host: '*.shop.example.com'});
  const required = [{type: 'CNAME', name: '*.shop.example.com', label: '*', value: TARGET, ttl: 3600}];
  const shown = {...domain, status: {dns: {required}}};
  expect(of({domain: shown})).toEqual(['CNAME * acct.edge.test', 'CNAME _acme-challenge own.acme.test']);
});

test('before the first check, the registrable domain counts as the zone', () => {
  expect(records('shop.dev.example.com')).toEqual(['CNAME shop.dev']);
  expect(records('example.com')).toEqual(['ALIAS @', 'TXT _nameplate']);
});

test('without a check, after a restart, the last records stay', () => {
  expect(records('shop.dev.example.com', undefined, ['CNAME', 'shop'])).toEqual(['CNAME shop']);
  expect(records('dev.example.com', undefined, ['ALIAS', '@'])).toEqual(['ALIAS @', 'TXT _nameplate']);
});

describe('a Domain for the default host of its Project, which is refused', () => {
  const {operator, put} = memoryOperator();
  const host = operator.names.defaultHost('shop', 'acme');
  const name = routeName('acme', host);
  const published = (label?: string) => {
    const route = {...ROUTE, host, name, tlsSecret: name, ...(label !== undefined && {project: label})};
    for (const {intent} of operator.edge.build(route)) {
      const object = withoutNulls(intent) as KubeObject;
      put({...object, metadata: {...object.metadata, resourceVersion: `of ${label}`}});
    }
    return viewOf(operator, domain('acme', host, 'shop') as never, false)?.published;
  };
  put(tenantNamespace('acme'));

  test('does not take the route of that host for its own', () => {
    expect(published()).toEqual({kind: 'serve'});
    expect(published('shop')).toBeUndefined();
    put(project('acme', 'shop', {}) as KubeObject);
    expect(published()).toBeUndefined();
  });
});
