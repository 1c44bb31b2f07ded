import {expect, test} from 'vitest';
import {bearerKey} from './authenticator.ts';
import {digestOf} from './format.ts';
import {createKeyTable} from './key-table.ts';

test.each([
  ['Bearer abc', 'abc'],
  ['bearer  a.b-c_d~e+f/g==', 'a.b-c_d~e+f/g=='],
  ['BEARER abc ', 'abc'],
  [undefined, undefined],
  ['', undefined],
  ['Bearer', undefined],
  ['Bearer ', undefined],
  [' Bearer abc', undefined],
  ['Bearer a b', undefined],
  ['Bearer a=b', undefined],
  ['Bearer a, Bearer a', undefined],
  ['Token abc', undefined],
])('%j holds %j', (header, key) => {
  expect(bearerKey(header)).toBe(key);
});

// A pattern that backtracks at each space takes minutes.
test('a header that is long and wrong is judged as fast as it is read', () => {
  expect(bearerKey(`Bearer ${'='.repeat(300_000)}${' '.repeat(300_000)}!`)).toBeUndefined();
  expect(bearerKey(`Bearer ${' '.repeat(300_000)}!`)).toBeUndefined();
});

test('a table knows keys by their hash, whatever its case, and no others', () => {
  const entry = {
    account: 'acme',
    keyId: 'first',
    sha256: digestOf('abc').toUpperCase(),
    scopes: ['messages:read'],
  } as const;
  const table = createKeyTable({keys: [entry]});
  expect(table.authenticate('abc')).toEqual({account: 'acme', keyId: 'first', scopes: new Set(['messages:read'])});
  expect(table.authenticate('abd')).toEqual({refused: 'invalid'});
  expect(table.authenticate(digestOf('abc'))).toEqual({refused: 'invalid'});
});
