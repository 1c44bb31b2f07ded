import {expect, test} from 'vitest';
import {parseHost} from '../dns/dns.ts';
import {hostNamed, objectNameOf} from './host-names.ts';

test.each([
  ['shop.example.com', 'shop.example.com'],
  ['*.example.com', 'wc--any.example.com'],
  ['*.a.b.example.com', 'wc--any.a.b.example.com'],
])('the objects of %s are named %s', (host, name) => {
  expect(objectNameOf(host)).toBe(name);
  expect(hostNamed(name)).toBe(host);
  expect(objectNameOf(name), 'so a key of either leads to the same objects').toBe(name);
});

// attack: name-collision
test('no host is named like the objects of a wildcard', () => {
  expect(parseHost(objectNameOf('*.example.com'))).toMatchObject({ok: false});
});
