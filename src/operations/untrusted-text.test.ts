import {execFileSync} from 'node:child_process';
import {expect, test} from 'vitest';
import {printable, printableLines, shellWord} from './untrusted-text.ts';

test.each([
  'shop',
  'kubernetes.io/service-name=shop',
  '',
  '$(touch /tmp/owned)',
  '`id`',
  "it's; rm -rf ~ #",
  "'",
  '-n\n--all',
  'a\\',
  '~',
  '*',
])('the shell reads %j as one word', text => {
  expect(execFileSync('/bin/sh', ['-c', `printf '%s|' ${shellWord(text)}`], {encoding: 'utf8'})).toBe(`${text}|`);
});

test('nothing in a text controls the terminal, or begins a line', () => {
  const text = 'a\u001b[2Jb\u202e\u2066c\r\nd';
  expect(printable(text)).toBe('a\ufffd[2Jb\ufffd\ufffdc\ufffd\ufffdd');
  expect(printableLines(text)).toBe('a\ufffd[2Jb\ufffd\ufffdc\ufffd\nd');
});

test('a name of Kubernetes stays as it is', () => {
  expect(shellWord('kubernetes.io/service-name=shop-1')).toBe('kubernetes.io/service-name=shop-1');
});
