import {expect, test} from 'vitest';
import {isAllowed, type LockedPackage, problemsOf} from './check-packages.ts';

const pinned = {version: '1.0.0', license: 'MIT', integrity: 'sha512-AA=='};
const path = 'node_modules/a';
const problems = (found: LockedPackage, at = path, isShipped = true) => problemsOf({'': {}, [at]: found}, isShipped);

// attack: supply-chain
test.each<[string, LockedPackage, RegExp]>([
  [
    'a licence that binds what it is shipped with',
    {...pinned, license: 'GPL-3.0-only'},
    /^a 1.0.0: licence "GPL-3.0-only"/,
  ],
  ["a tool's licence, of what is shipped", {...pinned, license: 'MPL-2.0'}, /^a 1.0.0: licence "MPL-2.0"/],
  ['no licence', {version: '1.0.0', integrity: 'sha512-AA=='}, /^a 1.0.0: licence ""/],
  ['no hash', {version: '1.0.0', license: 'MIT'}, /^a 1.0.0: no sha512/],
  ['a weak hash', {...pinned, integrity: 'sha1-AA=='}, /^a 1.0.0: no sha512/],
])('%s is a problem', (_, found, says) => {
  expect(problems(found)).toEqual([expect.stringMatching(says)]);
});

test.each<[string, LockedPackage, string, boolean]>([
  ['a permissive one', pinned, path, true],
  ['a nested one', pinned, 'node_modules/b/node_modules/@c/a', true],
  ["a tool's licence of a tool", {...pinned, license: 'MPL-2.0', dev: true}, path, true],
  ["a tool's licence where nothing is shipped", {...pinned, license: 'MPL-2.0'}, path, false],
  ['the linter for other machines', {version: '1.0.0', dev: true}, 'node_modules/@biomejs/cli-darwin-arm64', true],
])('%s is none', (_, found, at, isShipped) => {
  expect(problems(found, at, isShipped)).toEqual([]);
});

test('a package that only calls itself the linter is looked at', () => {
  expect(problems({version: '1.0.0'}, 'node_modules/@biomejs/cli-darwin-arm64')).toHaveLength(2);
});

test.each([
  ['MIT', true],
  ['MIT OR GPL-2.0-only', true],
  ['GPL-2.0-only OR LGPL-3.0-only', false],
  ['MIT AND ISC', true],
  ['MIT AND GPL-2.0-only', false],
  ['(MIT OR GPL-2.0-only) AND ISC', true],
  ['(MIT AND GPL-2.0-only) OR (ISC AND GPL-2.0-only)', false],
  ['GPL-2.0-only OR MIT AND ISC', true],
  ['SEE LICENSE IN LICENSE', false],
  ['', false],
])('"%s": %s', (expression, want) => {
  expect(isAllowed(expression, ['MIT', 'ISC'])).toBe(want);
});
