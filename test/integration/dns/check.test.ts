import {execFile} from 'node:child_process';
import {join} from 'node:path';
import {promisify} from 'node:util';
import {describe, expect, test} from 'vitest';

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

describe('nameplate check', () => {
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
