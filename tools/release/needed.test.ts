import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {afterEach, expect, test, vi} from 'vitest';
import {openApt} from './apt.ts';
import {NEEDED, requirePrograms} from './needed.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

test('without apt, a download says what to install', async () => {
  vi.stubEnv('PATH', '/nonexistent');
  await expect(openApt()).rejects.toThrow(/^there is no apt-get on PATH: install apt$/);
});

test('all missing programs are named at once', () => {
  expect(() => requirePrograms(['git', 'dpkg-deb'])).not.toThrow();
  vi.stubEnv('PATH', '/nonexistent');
  expect(() => requirePrograms(['git', 'dpkg-deb'])).toThrow(
    /^there is no git and no dpkg-deb on PATH: install git and dpkg$/,
  );
});

test('docs/releasing.md names each program', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/releasing.md'), 'utf8');
  const [, first = ''] = page.split('\n\n');
  expect(Object.keys(NEEDED).filter(program => !first.includes(`\`${program}\``))).toEqual([]);
});
