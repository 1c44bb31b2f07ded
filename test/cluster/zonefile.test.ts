import {expect, test} from 'vitest';
import {formatValue, formatZone, parseZone} from './zonefile.ts';

test.each([
  ['CNAME', 'a.example.com', 'a.example.com.'],
  ['CNAME', 'a.example.com.', 'a.example.com.'],
  ['NS', 'ns1.dns.test', 'ns1.dns.test.'],
  ['MX', '10 mail.example.com', '10 mail.example.com.'],
  ['A', '192.0.2.1', '192.0.2.1'],
  ['CAA', '0 issue "ca.example"', '0 issue "ca.example"'],
  ['TXT', 'plain words', '"plain words"'],
  ['TXT', 'a "quote" and \\', '"a \\"quote\\" and \\\\"'],
  ['TXT', '"one" "two"', '"one" "two"'],
  ['TXT', 'x'.repeat(300), `"${'x'.repeat(255)}" "${'x'.repeat(45)}"`],
])('%s %s is written as %s', (type, given, want) => {
  expect(formatValue(type, given)).toBe(want);
});

test.each([
  ['A', '192.0.2'],
  ['AAAA', '192.0.2.1'],
  ['CNAME', 'two names'],
  ['CAA', 'issue ca.example'],
  ['TXT', ''],
])('%s %s is refused', (type, given) => {
  expect(() => formatValue(type, given)).toThrow(/is no value for a record of type/);
});

test('a zone file that was written reads back the same', () => {
  const zone = {
    zone: 'example.com',
    primary: 'ns1.dns.test',
    serial: 7,
    records: [
      {name: 'example.com', ttl: 30, type: 'NS', value: 'ns1.dns.test.'},
      {name: '*.example.com', ttl: 5, type: 'TXT', value: '"two  spaces"'},
    ],
  };
  expect(parseZone(formatZone(zone))).toEqual(zone);
});

test('the root is named separately', () => {
  const root = {zone: '', primary: 'a.root-servers.test', serial: 1, records: []};
  expect(formatZone(root)).toMatch(/^\. 1 IN SOA a\.root-servers\.test\. /);
  expect(parseZone(formatZone(root))).toEqual(root);
});
