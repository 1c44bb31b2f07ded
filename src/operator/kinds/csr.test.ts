import {expect, test} from 'vitest';
import {hostileRequests, pemOf, requestFor} from '../../../test/integration/approval/hostile-csr.ts';
import {signingRequest} from '../../../test/integration/approval/signing-request.ts';
import {MAX_ELEMENTS, requestedNames} from './csr.ts';

test.each([
  {request: {names: ['DNS:a.test']}, dnsNames: ['a.test'], others: false},
  {request: {commonName: 'a.test', names: ['DNS:a.test']}, dnsNames: ['a.test'], others: false},
  {request: {commonName: 'a.test'}, dnsNames: ['a.test'], others: false},
  {request: {commonName: 'a.test', names: ['DNS:b.test']}, dnsNames: ['a.test', 'b.test'], others: false},
  {request: {names: ['DNS:a.test', 'DNS:b.test']}, dnsNames: ['a.test', 'b.test'], others: false},
  {request: {names: ['DNS:a.test', 'IP:192.0.2.1']}, dnsNames: ['a.test'], others: true},
  {request: {names: ['URI:spiffe://a.test/b']}, dnsNames: [], others: true},
  {request: {names: ['DNS:*.a.test']}, dnsNames: ['*.a.test'], others: false},
  {request: {}, dnsNames: [], others: false},
])('$request', async ({request, dnsNames, others}) => {
  expect(requestedNames(await signingRequest(request))).toEqual({dnsNames, others});
});

// attack: signing-request
test.each([
  {subject: '/O=system:masters', attribute: 'O'},
  {subject: '/OU=ops', attribute: 'OU'},
  {subject: '/serialNumber=1', attribute: 'serialNumber'},
  {subject: '/emailAddress=root@victim.test', attribute: 'emailAddress'},
  {subject: '/UID=root', attribute: '0.9.2342.19200300.100.1.1'},
  {subject: '/C=DE/O=system:masters', attribute: 'C'},
])('a subject with $subject has more than a common name, and the first attribute is named', async row => {
  const request = await signingRequest({...row, commonName: 'a.test', names: ['DNS:a.test']});
  expect(requestedNames(request)).toEqual({dnsNames: ['a.test'], others: false, attribute: row.attribute});
});

/** The name of a claim becomes part of a URL. */
// attack: signing-request
test.each([
  '..',
  '.',
  '',
  'a..test',
  '.a.test',
  'a.test.',
  'a/../b.test',
  'a.test/status',
  'a.test?x=y',
  'a%2e.test',
  'a_b.test',
  '-a.test',
  'a-.test',
  'a b.test',
  'a.test\n',
  'ä.test',
  '*',
  '*.*.test',
  'a.*.test',
  `${'a'.repeat(64)}.test`,
  `${'a.'.repeat(125)}test`,
])('the DNS name %j is not a host', name => {
  expect(requestedNames(pemOf(requestFor(name)))).toEqual({dnsNames: [], others: true});
});

test('a common name that is not a host is another kind of name', async () => {
  const request = await signingRequest({commonName: 'system:admin', names: ['DNS:a.test']});
  expect(requestedNames(request)).toEqual({dnsNames: ['a.test'], others: true});
});

test.each([
  ['nothing', ''],
  ['no PEM', Buffer.from('a.test').toString('base64')],
  ['a certificate', Buffer.from('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----').toString('base64')],
  [
    'no ASN.1',
    Buffer.from('-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----').toString('base64'),
  ],
  [
    'too much',
    Buffer.from(
      `-----BEGIN CERTIFICATE REQUEST-----\n${'A'.repeat(30_000)}\n-----END CERTIFICATE REQUEST-----`,
    ).toString('base64'),
  ],
])('%s is refused', (_, request) => {
  expect(() => requestedNames(request)).toThrow();
});

// attack: signing-request
test('a truncated request is refused, never read in part', async () => {
  const pem = Buffer.from(await signingRequest({names: ['DNS:a.test']}), 'base64').toString();
  const der = Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ''), 'base64');
  for (let length = 0; length < der.length; length++) {
    const cut = der.subarray(0, length).toString('base64');
    const text = `-----BEGIN CERTIFICATE REQUEST-----\n${cut}\n-----END CERTIFICATE REQUEST-----`;
    expect(() => requestedNames(Buffer.from(text).toString('base64')), `${length} bytes`).toThrow();
  }
});

/**
 * Go's decoder, which cert-manager uses, skips a block that does not begin a line, or is not strict base64, and takes
 * the next.
 */
// attack: signing-request
test.each([
  {disguise: 'a block in the middle of a line', hide: (pem: string) => `x${pem}`},
  {disguise: 'a block with what base64 does not know', hide: (pem: string) => pem.replace('\n', '\n!')},
  {
    disguise: 'a block that is padded before its end',
    hide: (pem: string) => pem.replace('\n-----END', '==A=\n-----END'),
  },
  {disguise: 'a block with headers', hide: (pem: string) => pem.replace('\n', '\na: b\n\n')},
  {disguise: 'a block of another end', hide: (pem: string) => pem.replace('END CERTIFICATE', 'END NEW CERTIFICATE')},
  {disguise: 'a whole block', hide: (pem: string) => pem},
])('$disguise before another one is refused, so that nothing else is signed than what was read', async ({hide}) => {
  const [shown, meant] = await Promise.all(
    ['DNS:mine.test', 'DNS:victim.test'].map(async name =>
      Buffer.from(await signingRequest({names: [name]}), 'base64').toString(),
    ),
  );
  const request = Buffer.from(hide(shown ?? '') + meant).toString('base64');
  expect(() => requestedNames(request)).toThrow('PEM');
});

// attack: operator-work
test.each(Object.entries(hostileRequests))('16 KiB of %s are refused before they are decoded', (_, der) => {
  const meter = {elements: 0};
  expect(() => requestedNames(pemOf(der), meter)).toThrow(/more than \d+ (nested )?elements/);
  expect(meter.elements).toBeLessThanOrEqual(MAX_ELEMENTS + 1);
});

test('an honest request has less than a tenth of the elements that may be read', async () => {
  const meter = {elements: 0};
  requestedNames(await signingRequest({commonName: 'a.test', names: ['DNS:a.test']}), meter);
  expect(meter.elements).toBeLessThan(MAX_ELEMENTS / 10);
});

test('a megabyte is refused before it is read as base64', () => {
  expect(() => requestedNames('A'.repeat(2 ** 20))).toThrow('more than 32768 characters');
});
