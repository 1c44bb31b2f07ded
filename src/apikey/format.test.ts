import {randomBytes} from 'node:crypto';
import {describe, expect, it, test} from 'vitest';
import {digestOf, isKey, mintKey, prefixOf} from './format.ts';

/** The key of 30 zeros, whose CRC-32 is 0x77e5db82 according to Python's zlib. */
const ZEROS = 'npk_0000000000000000000000000000002C8GjS';

describe('a key', () => {
  it('is npk_, 30 base62 characters and their CRC-32 in 6', () => {
    expect(mintKey(count => new Uint8Array(count))).toBe(ZEROS);
  });

  it('draws again for the bytes that would favour the first characters', () => {
    const draws = [Uint8Array.from({length: 30}, (_, index) => 249 + (index % 7)), new Uint8Array(30)];
    expect(mintKey(() => draws.shift() ?? new Uint8Array())).toBe(ZEROS);
    expect(mintKey(count => new Uint8Array(count).fill(247))).toMatch(/^npk_z{30}/);
  });

  it('is another one each time, and recognized as a key', () => {
    const keys = Array.from({length: 1000}, () => mintKey(randomBytes));
    expect(new Set(keys).size).toBe(1000);
    expect(keys.filter(key => !isKey(key))).toEqual([]);
  });
});

test.each([
  ['nothing', ''],
  ['a character changed', ZEROS.replace('npk_0', 'npk_1')],
  ['two characters exchanged', mintKey(count => new Uint8Array(count).fill(1, 0, 1)).replace('npk_10', 'npk_01')],
  ['the check changed', `${ZEROS.slice(0, -1)}T`],
  ['a character too few', ZEROS.slice(0, -1)],
  ['a character too many', `${ZEROS}0`],
  ['another prefix', ZEROS.replace('npk', 'ghp')],
  ['capitals in the prefix', ZEROS.replace('npk', 'NPK')],
  ['a space before', ` ${ZEROS}`],
  ['a line feed behind', `${ZEROS}\n`],
  ['a character outside of base62', ZEROS.replace('npk_0', 'npk_-')],
  ['a letter that is not ASCII', ZEROS.replace('npk_0', 'npk_٠')],
])('%s makes no key', (_, text) => {
  expect(isKey(ZEROS)).toBe(true);
  expect(isKey(text)).toBe(false);
});

test('the digest is SHA-256 in hexadecimal', () => {
  expect(digestOf('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});

test('the prefix shows 6 of the 30 random characters', () => {
  expect(prefixOf(ZEROS)).toBe('npk_000000');
});
