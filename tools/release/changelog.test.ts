import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {changesOf} from './changelog.ts';

const CHANGELOG = `# Changelog

## Unreleased

### Fixed

- One
  line.
- Two.

## 0.1.0 - 2026-11-22

### Added

- Three.
`;

test.each([
  ['0.2.0', {Fixed: ['One line.', 'Two.']}],
  ['0.1.0', {Added: ['Three.']}],
])('the changes of %s', (version, entries) => {
  expect(Object.fromEntries(changesOf(CHANGELOG, version).entries)).toEqual(entries);
});

test('the notes of the next release begin with its changes, without a remark about the version', () => {
  const read = (path: string) => readFileSync(join(import.meta.dirname, '../..', path), 'utf8');
  const {version} = JSON.parse(read('package.json')) as {version: string};
  expect(changesOf(read('CHANGELOG.md'), version).text).toMatch(/^### /);
});

test('a version that the changelog does not have is refused', () => {
  expect(() => changesOf('# Changelog\n\n## 0.1.0\n', '0.2.0')).toThrow('neither 0.2.0 nor Unreleased');
});
