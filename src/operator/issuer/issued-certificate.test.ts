import {X509Certificate} from 'node:crypto';
import {mkdtemp, readFile, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {run} from '../../../test/cluster/children.ts';
import {csrOf, problemOfChain, publicKeyOf} from './issued-certificate.ts';

const HOST = 'shop.example.com';
const NOW = Date.now();
const DAY_MS = 86_400_000;

let folder: string;
let csr: Buffer;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'nameplate-issued-'));
  for (const name of ['requested', 'other', 'third']) {
    await run([
      'openssl',
      'genpkey',
      '-algorithm',
      'EC',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-out',
      join(folder, name),
    ]);
  }
  const names = ['-addext', `subjectAltName=DNS:${HOST}`];
  const pem = await run(['openssl', 'req', '-new', '-key', join(folder, 'requested'), '-subj', '/', ...names]);
  csr = csrOf(Buffer.from(pem).toString('base64')); // as in spec.request
});
afterAll(() => rm(folder, {recursive: true}));

interface Issued {
  readonly key?: string;
  readonly altNames?: string;
  readonly subject?: string;
  readonly days?: number;
  /** The file of the certificate that signs it, with the key `other`. By default, it signs itself. */
  readonly issuer?: string;
}

/** PEM of a certificate that is valid from now on. */
async function issue(issued: Issued): Promise<string> {
  const {key = 'requested', altNames = `DNS:${HOST}`, subject = '/', days = 2, issuer} = issued;
  const file = join(folder, 'certificate');
  const names = altNames === '' ? [] : ['-addext', `subjectAltName=${altNames}`];
  const [keyFile, subj] = [
    ['-key', join(folder, key)],
    ['-subj', subject],
  ];
  const by = issuer === undefined ? [] : ['-CA', join(folder, issuer), '-CAkey', join(folder, 'other')];
  await run(['openssl', 'req', '-x509', ...keyFile, ...subj, ...names, ...by, '-days', `${days}`, '-out', file]);
  return await readFile(file, 'utf8');
}

test.each<Issued & {what: string}>([
  {what: 'for the host and its key'},
  {what: 'with the host as its common name', subject: `/CN=${HOST}`},
  {what: 'with the host in capitals', altNames: `DNS:${HOST.toUpperCase()}`},
])('a certificate $what is the requested one', async issued => {
  expect(problemOfChain(await issue(issued), csr, HOST, NOW)).toBeUndefined();
});

test('so is a chain whose first certificate is the requested one, and whose second has issued it', async () => {
  const [ca, other] = [await issue({key: 'other', subject: '/CN=ca'}), await issue({key: 'third', subject: '/CN=ca'})];
  await writeFile(join(folder, 'ca'), ca);
  const leaf = await issue({issuer: 'ca'});
  expect(problemOfChain(leaf + ca, csr, HOST, NOW)).toBeUndefined();
  expect(problemOfChain(leaf + ca + other, csr, HOST, NOW)).toBeUndefined();
  expect(problemOfChain(ca + leaf, csr, HOST, NOW)?.kind).toBe('other-key');
  for (const stranger of [other, await issue({key: 'other', subject: '/CN=another'})]) {
    expect(problemOfChain(leaf + stranger + ca, csr, HOST, NOW)?.text).toContain('is not of the issuer of the first');
  }
});

// attack: foreign-certificate
test.each<Issued & {what: string; text: string}>([
  {what: 'another host', altNames: 'DNS:login.victim.example', text: 'DNS:login.victim.example, not for'},
  {what: 'one more host', altNames: `DNS:${HOST},DNS:login.victim.example`, text: 'DNS:login.victim.example, not for'},
  {what: 'a wildcard', altNames: 'DNS:*.example.com', text: 'DNS:*.example.com, not for'},
  {what: 'no name', altNames: '', text: 'for no name, not for'},
  {what: 'an address, too', altNames: `DNS:${HOST},IP:192.0.2.1`, text: 'IP Address:192.0.2.1, not for'},
  {what: 'only an address', altNames: 'IP:192.0.2.1', text: 'IP Address:192.0.2.1, not for'},
  {what: 'a URI, too', altNames: `DNS:${HOST},URI:spiffe://a/b`, text: 'URI:spiffe://a/b, not for'},
  {what: 'a mail address, too', altNames: `DNS:${HOST},email:a@example.com`, text: 'email:a@example.com, not for'},
  {what: 'a name that contains a list', altNames: `DNS:${HOST}\\, DNS:x.example`, text: 'not for'},
])('a certificate for $what is refused', async ({text, ...issued}) => {
  const problem = problemOfChain(await issue(issued), csr, HOST, NOW);
  expect(problem?.kind).toBe('other');
  expect(problem?.text).toContain(text);
  expect(problem?.text.length).toBeLessThan(400);
});

// attack: foreign-certificate
test.each([
  '/CN=login.victim.example',
  `/CN=${HOST}/CN=login.victim.example`,
  `/O=a+CN=login.victim.example/CN=${HOST}`,
])('a certificate with the subject %s is refused', async subject => {
  expect(problemOfChain(await issue({subject}), csr, HOST, NOW)?.text).toContain('another common name');
});

test('a certificate for a key of a kind that nobody knows is refused', async () => {
  const der = new X509Certificate(await issue({key: 'other'})).raw;
  const [ofEcKeys, ofNone] = ['06072a8648ce3d0201', '06072a8648ce3d7f01'].map(hex => Buffer.from(hex, 'hex'));
  ofNone?.copy(der, der.indexOf(ofEcKeys ?? ''));
  const pem = `-----BEGIN CERTIFICATE-----\n${der.toString('base64')}\n-----END CERTIFICATE-----\n`;
  expect(problemOfChain(pem, csr, HOST, NOW)?.kind).toBe('other');
});

// attack: foreign-certificate
test('a certificate for another key is refused, whatever its names: its order is of an earlier request', async () => {
  for (const altNames of [`DNS:${HOST}`, 'DNS:login.victim.example']) {
    expect(problemOfChain(await issue({key: 'other', altNames}), csr, HOST, NOW)).toEqual({
      ...{kind: 'other-key', text: 'certified another key'},
    });
  }
});

test('a certificate that has expired is refused', async () => {
  const pem = await issue({days: 1});
  expect(problemOfChain(pem, csr, HOST, NOW + DAY_MS - 60_000)).toBeUndefined();
  expect(problemOfChain(pem, csr, HOST, NOW + 2 * DAY_MS)?.text).toBe('issued a certificate that has expired');
});

test.each(['', 'no certificate', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'])(
  '%j is no certificate',
  pem => {
    expect(problemOfChain(pem, csr, HOST, NOW)).toMatchObject({
      kind: 'other',
      text: expect.stringContaining('not a certificate'),
    });
  },
);

test('the public key of a request is that of its key', async () => {
  const pem = await run(['openssl', 'pkey', '-in', join(folder, 'requested'), '-pubout']);
  const der = Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ''), 'base64');
  expect(publicKeyOf(csr).equals(der)).toBe(true);
});
