import {execFile} from 'node:child_process';
import {join} from 'node:path';
import {promisify} from 'node:util';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {addressOf, startWorld, type World} from './world.ts';

const CHECK = join(import.meta.dirname, '../../../src/bin/check.ts');

/** Runs the command; only its own words and exit code count. */
async function check(...args: string[]): Promise<{code: number; stdout: string; stderr: string}> {
  try {
    const {stdout, stderr} = await promisify(execFile)(process.execPath, [CHECK, ...args]);
    return {code: 0, stdout, stderr};
  } catch (error) {
    const {code, stdout, stderr} = error as {code: number; stdout: string; stderr: string};
    return {code, stdout, stderr};
  }
}

const TARGET = 'acct.edge-np.test';
let world: World;
beforeAll(async () => {
  world = await startWorld([
    {name: 'right.test', at: ['a'], records: `shop CNAME ${TARGET}.\n@ CAA 0 issue "ca.example"`},
    {name: 'edge-np.test', at: ['a'], records: 'acct A 192.0.2.10'},
    {name: 'elsewhere.test', at: ['a'], records: '@ A 192.0.2.99'},
    {name: 'wrong.test', at: ['a'], records: 'shop CNAME elsewhere.test.'},
  ]);
});
afterAll(() => world?.stop());

describe('nameplate check', () => {
  const ask = (...args: string[]) =>
    check(...args, '--target', TARGET, '--mode', 'recursive', '--resolver', `${addressOf('recursive')}:${world.port}`);

  test('is content with a host that is right', async () => {
    const {code, stdout} = await ask('shop.right.test', '--issuer', 'ca.example');
    expect(stdout).toMatch(/^shop\.right\.test: Verified\n/);
    expect(stdout).toContain(`shop.right.test. CNAME ${TARGET}.`);
    expect(stdout).toContain('CAA: allowed.');
    expect(code).toBe(0);
  });

  test('says what to change in a host that is wrong', async () => {
    const {code, stdout} = await ask('shop.wrong.test');
    expect(stdout).toContain('RecordMismatch');
    expect(stdout).toContain(`Change it to shop.wrong.test. CNAME ${TARGET}.`);
    expect(code).toBe(1);
  });

  test('is not content with a right host for which the CA may not issue', async () => {
    const {code, stdout} = await ask('shop.right.test', '--issuer', 'other.example');
    expect(stdout).toContain('CAA: forbidden.');
    expect(code).toBe(1);
  });

  test.each([
    [[], 'exactly one HOST'],
    [['shop.example.com'], '--target is needed'],
    [['192.0.2.1', '--target', 'a.example.net'], 'IP address'],
    [['shop.example.com', '--target', 'a.example.net', '--mode', 'x'], '--mode is'],
    [['shop.example.com', '--target', 'a.example.net', '--allow', 'x'], 'not a CIDR'],
    [['shop.example.com', '--nonsense'], '--nonsense'],
  ])('%j is wrong usage', async (args, message) => {
    expect(await check(...args)).toMatchObject({code: 2, stderr: expect.stringContaining(message)});
  });

  test('explains itself', async () => {
    expect(await check('--help')).toMatchObject({code: 0, stdout: expect.stringContaining('Usage: nameplate check')});
  });

  // No root server listens there: the command ends with "cannot be told" and asks nobody else.
  const closed = ['shop.example.com', '--target', 'a.example.net', '--mode', 'authoritative', '--root', '127.77.1.1'];

  test('says in words why it cannot tell', async () => {
    const {code, stdout} = await check(...closed);
    expect(code).toBe(3);
    expect(stdout).toMatch(/^shop\.example\.com: NameServersUnreachable\n.*egress to port 53/);
  });

  test('says so as JSON too', async () => {
    const {code, stdout} = await check(...closed, '--json');
    expect(code).toBe(3);
    expect(JSON.parse(stdout)).toMatchObject({
      host: 'shop.example.com',
      reason: 'NameServersUnreachable',
      observed: [],
    });
  });
});
