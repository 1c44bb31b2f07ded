import {join} from 'node:path';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {printRecords} from '../../../src/kubectl/records.ts';
import {RESOLVER, SERVERS} from './internet/plan.ts';
import {type Internet, startInternet} from './internet.ts';
import {ALIAS, ALL, CNAME, SHARED, TARGET} from './zones/zone-row.ts';

const CHECK = join(import.meta.dirname, '../../../src/bin/check.ts');

/** What `kubectl nameplate records --output zone` prints. The provider makes addresses of the ALIAS. */
const PRINTED = printRecords(
  [
    {type: 'CNAME', name: 'shop.printed.com', label: 'shop', value: TARGET, ttl: 300},
    {type: 'ALIAS', name: 'printed.com', label: '@', value: TARGET, ttl: 300},
    {type: 'CNAME', name: '*.printed.com', label: '*', value: TARGET, ttl: 300},
    {type: 'CNAME', name: '_acme-challenge.printed.com', label: '_acme-challenge', value: 'own.acme-np.net', ttl: 300},
    {type: 'TXT', name: '_nameplate.printed.com', label: '_nameplate', value: 'to"k\\en', ttl: 300},
  ],
  'zone',
);

let internet: Internet;
beforeAll(async () => {
  internet = await startInternet([
    ...SHARED,
    {name: 'fine.com', at: ALL, records: `${CNAME}\n@ CAA 0 issue "ca.example"`},
    {name: 'wrong.com', at: ALL, records: 'shop CNAME ns.right.com.'},
    {name: 'half.com', at: ALL, records: CNAME, instead: {d: ''}},
    {name: 'apex.com', at: ALL, records: '@ A 192.0.2.10\n_nameplate TXT "token"'},
    {name: 'printed.com', at: ALL, records: `${ALIAS}\n${PRINTED}`},
  ]);
});
afterAll(() => internet?.stop());

const check = (...args: string[]) => internet.run([CHECK, ...args]);
const ask = (...args: string[]) => check(...args, '--target', TARGET);

describe('nameplate check', () => {
  test('is content with a host that is right', async () => {
    const {code, stdout} = await ask('shop.fine.com', '--issuer', 'ca.example');
    expect(stdout).toMatch(/^shop\.fine\.com: Verified\n/);
    expect(stdout).toContain(`d.ns-np.net (20.4.0.1): shop.fine.com. 300 CNAME ${TARGET}.`);
    expect(stdout).toContain('CAA: allowed.');
    expect(code).toBe(0);
  });

  test('says what to change in a host that is wrong', async () => {
    const {code, stdout} = await ask('shop.wrong.com');
    expect(stdout).toContain('RecordMismatch');
    expect(stdout).toContain(`Change it to shop.wrong.com. CNAME ${TARGET}.`);
    expect(code).toBe(1);
  });

  test('cannot tell while servers disagree', async () => {
    const {code, stdout} = await ask('shop.half.com');
    expect(stdout).toContain('d.ns-np.net (20.4.0.1)');
    expect(stdout).toContain('is still no record');
    expect(code).toBe(3);
  });

  test('is not content with a right host for which the CA may not issue', async () => {
    const {code, stdout} = await ask('shop.fine.com', '--issuer', 'other.example');
    expect(stdout).toContain('CAA: forbidden.');
    expect(code).toBe(1);
  });

  test('is not content with a right host that CAA blocks according to the operator', async () => {
    const blocked = ['shop.fine.com', '--reported-caa', 'The CAA record blocks.'];
    const {code, stdout} = await ask(...blocked);
    expect(stdout).toMatch(/^shop\.fine\.com: Verified\n/);
    const again = 'kubectl nameplate verify shop.fine.com checks again';
    expect(stdout).toContain(`\n\nCAA, as the operator last found it (${again}): The CAA record blocks.\n`);
    expect(code).toBe(1);
    expect(JSON.parse((await ask(...blocked, '--json')).stdout)).toMatchObject({reportedCaa: 'The CAA record blocks.'});
  });

  test('checks the TXT record of a host that shows only addresses', async () => {
    expect(await ask('apex.com', '--txt', 'token')).toMatchObject({code: 0});
    expect(await ask('apex.com', '--txt', 'other')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('Create _nameplate.apex.com. TXT "other"'),
    });
  });

  test('is content with the zone that kubectl nameplate prints', async () => {
    expect(await ask('shop.printed.com')).toMatchObject({code: 0});
    expect(await ask('printed.com', '--txt', 'to"k\\en')).toMatchObject({code: 0});
  });

  test('checks the delegated challenge of a wildcard', async () => {
    expect(await ask('*.printed.com', '--challenge', 'own.acme-np.net')).toMatchObject({code: 0});
    expect(await ask('*.printed.com', '--challenge', 'other.acme-np.net')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('Create _acme-challenge.printed.com. CNAME other.acme-np.net.'),
    });
  });

  test('queries only a resolver if configured to', async () => {
    const {code, stdout} = await ask('shop.fine.com', '--mode', 'recursive', '--resolver', RESOLVER);
    expect(stdout).toContain(`${RESOLVER}: shop.fine.com. CNAME ${TARGET}.`);
    expect(code).toBe(0);
  });

  test.each([
    [[], 'give exactly one HOST'],
    [['shop.example.com'], '--target is required'],
    [['192.0.2.1', '--target', 'a.example.net'], 'IP address'],
    [['*.example.com', '--target', 'a.example.net'], '--challenge is required for a wildcard'],
    [['a.example.com', '--target', '*.example.net'], '--target: a wildcard is no name of a host'],
    [['shop.example.com', '--target', 'a.example.net', '--mode', 'x'], '--mode must be'],
    [['shop.example.com', '--target', 'a.example.net', '--allow', 'x'], 'not a CIDR'],
    [['shop.example.com', '--nonsense'], '--nonsense'],
  ])('%j is wrong usage', async (args, message) => {
    expect(await check(...args)).toMatchObject({code: 2, stderr: expect.stringContaining(message)});
  });

  test('explains itself', async () => {
    expect(await check('--help')).toMatchObject({code: 0, stdout: expect.stringContaining('Usage: nameplate check')});
  });

  // No root server listens there, so the command ends with an unknown result and queries nobody else.
  const closed = ['--mode', 'authoritative', '--root', SERVERS.closed[0]];

  test('explains why it does not know', async () => {
    const {code, stdout} = await ask('shop.fine.com', ...closed);
    expect(code).toBe(3);
    expect(stdout).toMatch(/^shop\.fine\.com: NameServersUnreachable\n.*egress to port 53/);
  });

  test('says so as JSON too', async () => {
    const {code, stdout} = await ask('shop.fine.com', ...closed, '--json');
    expect(code).toBe(3);
    expect(JSON.parse(stdout)).toMatchObject({host: 'shop.fine.com', reason: 'NameServersUnreachable', observed: []});
  });
});
