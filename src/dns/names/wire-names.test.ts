import {describe, expect, test} from 'vitest';
import {
  canonicalName,
  escapeText,
  isWithin,
  labelsOf,
  nameFromLabels,
  parentOf,
  selfAndAncestors,
} from './wire-names.ts';

const bytes = (...labels: string[]) =>
  labels.map(label => Uint8Array.from(label, character => character.charCodeAt(0)));

describe('canonicalName', () => {
  test.each([
    ['Shop.Example.COM', 'shop.example.com'],
    ['shop.example.com.', 'shop.example.com'],
    ['.', '.'],
    ['edge\\.acme.com', 'edge\\.acme.com'],
    ['acme.com\\.', 'acme.com\\.'],
    ['acme.com\\..', 'acme.com\\.'],
    ['acme.com\\\\.', 'acme.com\\\\'],
    ['\\065bc.com', 'abc.com'],
    ['a\\ b.com', 'a\\032b.com'],
    ['_nameplate.shop', '_nameplate.shop'],
    [`${'a'.repeat(63)}.com`, `${'a'.repeat(63)}.com`],
  ])('%s is %s', (given, want) => expect(canonicalName(given)).toBe(want));

  test.each([
    ['', 'nothing'],
    ['a..b', 'an empty label'],
    ['a..', 'an empty label at the end'],
    ['..', 'an empty label and nothing else'],
    ['.a', 'a dot at the start'],
    [`${'a'.repeat(64)}.com`, 'a label of 64 bytes'],
    [Array.from({length: 5}, () => 'a'.repeat(60)).join('.'), 'a name over 255 bytes'],
    ['bücher\u4e00.com', 'characters beyond a byte'],
    ['\\999.com', 'an escape beyond a byte'],
  ])('%s is no name: %s', given => expect(canonicalName(given)).toBeUndefined());
});

test('a dot inside a label never equals two labels', () => {
  expect(nameFromLabels(bytes('edge.acme', 'com'))).not.toBe(nameFromLabels(bytes('edge', 'acme', 'com')));
});

test('every byte survives the way to the presentation form and back', () => {
  const all = Array.from({length: 256}, (_, byte) => byte).filter(byte => byte < 0x41 || byte > 0x5a);
  for (let at = 0; at < all.length; at += 63) {
    const label = Uint8Array.from(all.slice(at, at + 63));
    const name = nameFromLabels([label, ...bytes('com')]);
    expect(name).toMatch(/^[\x21-\x7e]+$/);
    expect(labelsOf(name)).toEqual([label, ...bytes('com')]);
  }
});

describe('going up', () => {
  test.each([
    ['a.b.c', 'b.c'],
    ['c', '.'],
    ['.', '.'],
    ['a\\.b.c', 'c'],
    ['a\\\\.b.c', 'b.c'],
  ])('the parent of %s is %s', (given, want) => expect(parentOf(given)).toBe(want));

  test('takes no longer for a name of many escapes', () => {
    const label = Uint8Array.from({length: 63}, () => 0);
    const name = nameFromLabels([label, label, label]);
    expect(selfAndAncestors(name)).toHaveLength(3);
  });

  test('the ancestors end below the root', () => expect(selfAndAncestors('a.b.c')).toEqual(['a.b.c', 'b.c', 'c']));

  test.each([
    ['a.b', 'b', true],
    ['b', 'b', true],
    ['ab', 'b', false],
    ['a\\.b', 'b', false],
    ['a.b', '.', true],
  ])('%s within %s: %s', (name, zone, want) => expect(isWithin(name, zone)).toBe(want));
});

describe('escapeText', () => {
  test.each([
    ['plain text', 'plain text'],
    ['a"b\\c', 'a\\"b\\\\c'],
    ['\u001b[31m\n', '\\027[31m\\010'],
    ['\u00e9', '\\233'],
    ['\u4e00', '\\228\\184\\128'],
  ])('%j becomes %s', (given, want) => expect(escapeText(given)).toBe(want));

  test('truncates what is too long', () => expect(escapeText('x'.repeat(300), 10)).toBe('xxxxxxx...'));
});
