import {expect, test} from 'vitest';
import {DerivedNames, hostLabel, ROUTE_NAME_LENGTH, routeKeyOf, routeName, routeNameIn} from './derived-names.ts';

const KEY = new Uint8Array(32).fill(7);
const domains = {baseDomain: 'apps.platform.test', targetDomain: 'edge.platform.test'};
const names = new DerivedNames(KEY, domains);

/** Derived values are in tenants' DNS and in the names of objects: a different value would orphan all of them. */
test('every derived name is what it was in the first release', () => {
  expect(routeName('acme', 'shop.example.com')).toBe('np-por3gtgm23pugwdhx6o2');
  expect(names.target('acme')).toBe('ui2ce6ptcqwwh6m2dwlr.edge.platform.test');
  expect(names.proofToken('acme', 'example.com')).toBe('nameplate-proof=d7sfbr5z6gideaueycflohc6d3mkh2tt');
  expect(names.defaultHost('shop', 'acme')).toBe('shop-acme-w5qkcgrsjn.apps.platform.test');
});

// attack: leftover-record
test('a target is the account’s own, and a token is good for one account and one host', () => {
  expect(names.target('acme')).not.toBe(names.target('globex'));
  expect(names.proofToken('acme', 'a.test')).not.toBe(names.proofToken('acme', 'b.test'));
  expect(names.proofToken('acme', 'a.test')).not.toBe(names.proofToken('globex', 'a.test'));
  const other = new DerivedNames(new Uint8Array(32).fill(8), domains);
  expect(other.target('acme')).not.toBe(names.target('acme'));
  expect(other.proofToken('acme', 'a.test')).not.toBe(names.proofToken('acme', 'a.test'));
});

// attack: leftover-record
test('the name for a delegated challenge is good for one account, and for one host with its wildcard', () => {
  expect(names.challengeName('acme', 'a.test'), 'without an ACME domain').toBeUndefined();
  const delegated = new DerivedNames(KEY, {...domains, acmeDomain: 'acme.platform.test'});
  const name = delegated.challengeName('acme', 'a.test');
  expect(name).toMatch(/^[a-z2-7]{32}\.acme\.platform\.test$/);
  expect(delegated.challengeName('acme', '*.a.test')).toBe(name);
  expect(delegated.challengeName('acme', 'b.test')).not.toBe(name);
  expect(delegated.challengeName('globex', 'a.test')).not.toBe(name);
});

// attack: name-collision
test('default hosts that read alike differ', () => {
  expect(names.defaultHost('a-b', 'c')).not.toBe(names.defaultHost('a', 'b-c'));
});

test.each([
  ['shop', 'acme'],
  ['a'.repeat(63), 'b'.repeat(63)],
  [`${'a'.repeat(51)}-x`, 'acme'], // the cut falls on a dash
])('the default host of %s in %s is one label of at most 63 characters', (project, namespace) => {
  const [label = '', ...rest] = names.defaultHost(project, namespace).split('.');
  expect(label).toMatch(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/);
  expect(label).not.toContain('--');
  expect(rest.join('.')).toBe(domains.baseDomain);
});

// attack: name-collision
test('names of routes have a fixed length, and differ by namespace and by host', () => {
  const names = [
    routeName('a', 'b.c'),
    routeName('a', 'c.b'),
    routeName('b', 'b.c'),
    routeName('a', `${'a.'.repeat(121)}example.com`),
  ];
  expect(new Set(names).size).toBe(names.length);
  for (const name of names) expect(name).toMatch(new RegExp(`^np-[a-z2-7]{${ROUTE_NAME_LENGTH - 3}}$`));
  expect(routeKeyOf('a/b.c')).toBe(`a/${routeName('a', 'b.c')}`);
});

test('a name that only begins like the name of a route belongs to none', () => {
  const route = routeName('a', 'b.c');
  for (const ours of [route, `${route}-https`, `${route}-`]) expect(routeNameIn(ours)).toBe(route);
  for (const other of [
    `${route}x`,
    `${route}.example`,
    route.slice(0, -1),
    `a${route}`,
    route.toUpperCase(),
    'np-shop',
  ]) {
    expect(routeNameIn(other), other).toBeUndefined();
  }
});

test.each([63, 64, 253])('the label of a host of %d characters is a valid label value', length => {
  const host = `${'a'.repeat(length - 8)}.example`;
  expect(host).toHaveLength(length);
  expect(hostLabel(host)).toMatch(/^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$/);
  if (length <= 63) expect(hostLabel(host)).toBe(host);
});

test('a platform key that is too short is refused', () => {
  expect(() => new DerivedNames(new Uint8Array(31), domains)).toThrow(
    'the platform key has 31 bytes; at least 32 are needed',
  );
});
