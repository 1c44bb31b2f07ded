import {expect, test} from 'vitest';
import {complete, type Names} from './complete.ts';

const names: Names = {
  namespaces: async () => ['team-a', 'team-b'],
  projects: async () => ['shop', 'site'],
  hosts: async () => ['shop.example.com', 'www.example.com'],
};

test.each([
  ['the commands', [''], 'status why records verify check review completion :4'],
  ['a command', ['re'], 'records review :4'],
  ['Projects for status', ['status', ''], 'shop site :4'],
  ['hosts for why', ['why', 'w'], 'www.example.com :4'],
  ['hosts after options', ['-n', 'team-a', 'verify', '-A', 'shop'], 'shop.example.com :4'],
  ['one name only', ['why', 'shop.example.com', ''], ':4'],
  ['namespaces', ['why', '-n', 'team-b'], 'team-b :4'],
  ['the formats of records', ['records', '-o', ''], 'table zone terraform external-dns json :4'],
  ['the format of the others', ['status', '--output', ''], 'json :4'],
  ['options', ['status', '--n'], '--namespace :4'],
  ['no value for a timeout', ['verify', '--timeout', ''], ':4'],
  ['files', ['--kubeconfig', ''], ':0'],
  ['nothing for review', ['review', ''], ':4'],
])('offers %s', async (_, words, offered) => {
  expect((await complete(words, names)).trim().split('\n').join(' ')).toBe(offered);
});

test('offers nothing if the cluster cannot be read', async () => {
  const refused = async () => Promise.reject(new Error('forbidden'));
  const none: Names = {namespaces: refused, projects: refused, hosts: refused};
  expect(await complete(['why', ''], none)).toBe(':4\n');
});
