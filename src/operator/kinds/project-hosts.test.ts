import {expect, test} from 'vitest';
import type {Project} from './kinds.ts';
import {desiredDomain, listedHost, listedHosts} from './project-hosts.ts';

type Domains = NonNullable<Project['spec']['domains']>;

function project(name: string, domains: Domains, metadata: Partial<Project['metadata']> = {}): Project {
  return {
    apiVersion: 'nameplate.dev/v1alpha1',
    kind: 'Project',
    metadata: {name, namespace: 'acme', creationTimestamp: '2026-01-01T00:00:00Z', ...metadata},
    spec: {service: {name, port: 'http'}, domains},
  };
}

test('the primary comes first; by default, a redirect points to the primary with 301', () => {
  const redirects = [{from: 'www.a.test'}, {from: 'old.a.test', to: 'b.a.test', status: 302 as const}];
  expect(listedHosts(project('shop', {primary: 'a.test', aliases: ['b.a.test'], redirects}))).toEqual([
    {host: 'a.test', role: 'Primary'},
    {host: 'b.a.test', role: 'Alias'},
    {host: 'www.a.test', role: 'Redirect', redirect: {to: 'a.test', status: 301}},
    {host: 'old.a.test', role: 'Redirect', redirect: {to: 'b.a.test', status: 302}},
  ]);
});

test('no domains, no hosts', () => {
  expect(listedHosts(project('shop', {}))).toEqual([]);
});

test('of the Projects that list a host the oldest decides, and the two oldest own it', () => {
  const elder = project('z', {primary: 'a.test'}, {creationTimestamp: '2026-01-01T00:00:00Z'});
  const younger = project(
    'a',
    {primary: 'b.test', redirects: [{from: 'a.test'}]},
    {creationTimestamp: '2026-01-02T00:00:00Z'},
  );
  const youngest = project('b', {primary: 'a.test'}, {creationTimestamp: '2026-01-03T00:00:00Z'});
  const other = project('m', {primary: 'c.test'}, {creationTimestamp: '2025-01-01T00:00:00Z'});
  expect(desiredDomain('a.test', [youngest, younger, other, elder])).toEqual({
    spec: {host: 'a.test', projectRef: {name: 'z'}},
    winner: elder,
    owners: [elder, younger],
  });
});

test('of Projects as old as each other the name decides, whatever the order', () => {
  const [first, second] = ['a', 'b'].map(name => project(name, {primary: 'a.test'}));
  if (!first || !second) throw new Error('two');
  for (const order of [
    [first, second],
    [second, first],
  ])
    expect(desiredDomain('a.test', order)?.winner).toBe(first);
});

test('a Project that is being deleted defines no Domain', () => {
  const leaving = project('a', {primary: 'a.test'}, {deletionTimestamp: '2026-01-02T00:00:00Z'});
  const staying = project('b', {primary: 'a.test'});
  expect(desiredDomain('a.test', [leaving])).toBeUndefined();
  expect(desiredDomain('a.test', [leaving, staying])?.owners).toEqual([staying]);
});

test.each([
  {},
  {primary: 'a.test'},
  {primary: 'a.test', aliases: ['b.test'], redirects: [{from: 'c.test'}, {from: 'd.test', to: 'b.test'}]},
  {aliases: ['b.test'], redirects: [{from: 'c.test'}, {from: 'd.test', to: 'b.test', status: 308 as const}]},
])('finds one host as it is in the list: %j', domains => {
  const given = project('shop', domains);
  for (const host of ['a.test', 'b.test', 'c.test', 'd.test', 'e.test']) {
    expect(listedHost(given, host)).toEqual(listedHosts(given).find(listed => listed.host === host));
  }
});
