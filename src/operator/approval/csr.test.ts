import {expect, test} from 'vitest';
import {signingRequest} from '../../../test/integration/approval/signing-request.ts';
import {requestedNames} from './csr.ts';

test.each([
  {request: {names: ['DNS:a.test']}, dnsNames: ['a.test'], others: false},
  {request: {commonName: 'a.test', names: ['DNS:a.test']}, dnsNames: ['a.test'], others: false},
  {request: {commonName: 'a.test'}, dnsNames: ['a.test'], others: false},
  {request: {commonName: 'a.test', names: ['DNS:b.test']}, dnsNames: ['a.test', 'b.test'], others: false},
  {request: {names: ['DNS:a.test', 'DNS:b.test']}, dnsNames: ['a.test', 'b.test'], others: false},
  {request: {names: ['DNS:a.test', 'IP:192.0.2.1']}, dnsNames: ['a.test'], others: true},
  {request: {names: ['URI:spiffe://a.test/b']}, dnsNames: [], others: true},
  {request: {}, dnsNames: [], others: false},
])('$request', async ({request, dnsNames, others}) => {
  expect(requestedNames(await signingRequest(request))).toEqual({dnsNames, others});
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

test('what is cut anywhere is refused, never read in part', async () => {
  const pem = Buffer.from(await signingRequest({names: ['DNS:a.test']}), 'base64').toString();
  const der = Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ''), 'base64');
  for (let length = 0; length < der.length; length++) {
    const cut = der.subarray(0, length).toString('base64');
    const text = `-----BEGIN CERTIFICATE REQUEST-----\n${cut}\n-----END CERTIFICATE REQUEST-----`;
    expect(() => requestedNames(Buffer.from(text).toString('base64')), `${length} bytes`).toThrow();
  }
});
