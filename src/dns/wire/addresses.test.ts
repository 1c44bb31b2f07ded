import {describe, expect, test} from 'vitest';
import {formatEndpoint, mayQueryAddress, ownFamilies, parseEndpoint, rangesOf} from './addresses.ts';

test.each([
  ['both', ['10.0.0.7', 'fd00::7'], [4, 6]],
  ['IPv4 only, with an address of the link', ['10.0.0.7', 'fe80::7'], [4]],
  ['IPv6 only', ['2001:db8::7'], [6]],
  ['IPv6 only, with addresses of the link', ['169.254.1.1', 'fe80::7', 'fd00::7'], [6]],
  ['only itself', [], [4, 6]],
])('a machine with %s', (_, addresses, want) => {
  const one = (address: string, internal = false) => {
    const common = {address, internal, mac: '', netmask: '', cidr: null};
    return address.includes(':')
      ? {...common, family: 'IPv6' as const, scopeid: 0}
      : {...common, family: 'IPv4' as const};
  };
  const lo = [one('127.0.0.1', true), one('::1', true)];
  expect([...ownFamilies({lo, eth0: addresses.map(address => one(address))})]).toEqual(want);
});

describe('without allowances', () => {
  const none = rangesOf([]);
  test.each(['8.8.8.8', '192.52.178.30', '2606:4700::1111', '2001:500:2::c'])('%s may be asked', address => {
    expect(mayQueryAddress(address, none)).toBe(true);
  });
  test.each([
    '0.0.0.0',
    '10.96.0.10',
    '100.64.0.1',
    '127.0.0.1',
    '127.255.255.254',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.2.1',
    '192.168.1.1',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:8.8.8.8',
    '::ffff:127.0.0.1',
    '::127.0.0.1',
    '64:ff9b::7f00:1',
    '64:ff9b:1::1',
    'fc00::1',
    'fd12::1',
    'fe80::1',
    'ff02::1',
    '2001::1',
    '2001:db8::1',
    '2002:7f00:1::1',
    '3fff::1',
    'example.com',
    '',
  ])('%s may not be asked', address => expect(mayQueryAddress(address, none)).toBe(false));
});

test('an allowance opens its range and no more, and no mapped form of it', () => {
  const allowed = rangesOf(['127.77.0.0/16', 'fd00::/8']);
  expect(['127.77.0.1', 'fd00::1'].map(address => mayQueryAddress(address, allowed))).toEqual([true, true]);
  const others = ['127.78.0.1', 'fc00::1', '::ffff:127.77.0.1'];
  expect(others.map(address => mayQueryAddress(address, allowed))).toEqual([false, false, false]);
});

test.each(['10.0.0.0', '10.0.0.0/33', 'fd00::/129', 'x/8', '10.0.0.0/8/8', '10.0.0.0/'])('%s is no CIDR', cidr => {
  expect(() => rangesOf([cidr])).toThrow(cidr);
});

test.each([
  ['192.0.2.1', {address: '192.0.2.1', port: 53}, '192.0.2.1'],
  ['192.0.2.1:5353', {address: '192.0.2.1', port: 5353}, '192.0.2.1:5353'],
  ['2001:DB8:0::1', {address: '2001:db8::1', port: 53}, '2001:db8::1'],
  ['[2001:db8::1]:5353', {address: '2001:db8::1', port: 5353}, '[2001:db8::1]:5353'],
  ['[2001:db8::1]', {address: '2001:db8::1', port: 53}, '2001:db8::1'],
])('%s is an endpoint', (text, endpoint, formatted) => {
  expect(parseEndpoint(text)).toEqual(endpoint);
  expect(formatEndpoint(endpoint)).toBe(formatted);
});

test.each(['', 'dns.example.com', '192.0.2.1:0', '192.0.2.1:99999', '192.0.2', 'fe80::1%eth0'])(
  '%s is no endpoint',
  text => {
    expect(() => parseEndpoint(text)).toThrow('not an address');
  },
);
