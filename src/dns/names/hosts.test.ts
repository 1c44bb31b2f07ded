import {describe, expect, test} from 'vitest';
import {formLabel, isApex, isPublicSuffix, isRegistrySuffix, parseHost, registrableDomain} from './hosts.ts';

describe('parseHost takes', () => {
  test.each([
    ['shop.example.com', 'shop.example.com'],
    ['Shop.Example.COM.', 'shop.example.com'],
    ['example.co.uk', 'example.co.uk'],
    ['xn--bcher-kva.example.com', 'xn--bcher-kva.example.com'],
    ['1.example.com', '1.example.com'],
    [`${'a'.repeat(63)}.example.com`, `${'a'.repeat(63)}.example.com`],
    ['shop.example.test', 'shop.example.test'],
    ['a.b.c.d.e.f.g.h.example.com', 'a.b.c.d.e.f.g.h.example.com'],
    ['shop.localhost.example', 'shop.localhost.example'],
    ['shop.myonion.com', 'shop.myonion.com'],
    // The owner of a private suffix has registered it.
    ['github.io', 'github.io'],
    ['s3.amazonaws.com', 's3.amazonaws.com'],
    ['*.Example.com.', '*.example.com'],
    ['*.me.github.io', '*.me.github.io'],
    ['*.b.c.d.e.f.g.h.example.com', '*.b.c.d.e.f.g.h.example.com'],
  ])('%s', (given, host) => expect(parseHost(given)).toEqual({ok: true, host}));
});

describe('parseHost refuses', () => {
  test.each([
    ['', 'empty'],
    ['192.0.2.1', 'IP address'],
    ['2001:db8::1', 'IP address'],
    ['[2001:db8::1]', 'IP address'],
    ['https://shop.example.com', 'only the host'],
    ['https://u:p@shop.example.com:8443/a?b#c', 'write only the host, shop.example.com, without'],
    ['shop.example.com/path', 'write only the host, shop.example.com, without'],
    ['shop.example.com:443', 'write only the host, shop.example.com, without'],
    ['user@example.com', 'write only the host, example.com, without'],
    ['https://', 'such as shop.example.com'],
    ['192.0.2.1:8080', '192.0.2.1 is an IP address'],
    ['[2001:db8::1]:443', '2001:db8::1 is an IP address'],
    ['*.', 'the label * has a *'],
    ['*', 'the label * has a *'],
    ['*example.com', 'has a *'],
    ['*.*.example.com', 'only the first'],
    ['shop.*.example.com', 'the label * has a *'],
    ['*.example', 'has no dot'],
    ['*.co.uk', 'is a public suffix'],
    ['*.blogspot.com', 'names of different owners are below blogspot.com'],
    ['*.kawasaki.jp', 'is a public suffix'],
    ['*.compute.amazonaws.com', 'names of different owners are below compute.amazonaws.com'],
    ['*.a.ck', 'is a public suffix'],
    ['*.192.0.2.1', 'IP address'],
    ['*.bücher.example.com', 'write xn--bcher-kva.example.com'],
    ['*.b.c.d.e.f.g.h.i.example.com', 'has 11 labels'],
    [`*.${Array.from({length: 4}, () => 'a'.repeat(56)).join('.')}.example.com`, 'longer than 237'],
    ['bücher.example.com', 'write xn--bcher-kva.example.com'],
    ['a..b.com', 'two dots in a row, or a dot at its start): write a.b.com'],
    ['.example.com', 'write example.com'],
    ['shop.example.com..', 'write shop.example.com'],
    ['-a.example.com', 'hyphen'],
    ['a-.example.com', 'hyphen'],
    ['_a.example.com', 'underscore'],
    ['a b.example.com', 'the label a b has a space'],
    ['a$b.example.com', 'the label a$b has a $, but labels have only letters, digits, and hyphens: remove it'],
    ['shop_1.example.com', 'the label shop_1 has an underscore'],
    ['shop,example.com', 'the label shop,example has a ,'],
    ['foo.*.com', 'the label * has a *'],
    ['shop.example.com\t', '(U+0009): remove it'],
    ['shop.\u007fexample.com', '(U+007F): remove it'],
    // The fault is not the character outside of ASCII, which is one of the name.
    ['b\u00fc_cher.example', 'the label b\u00fc_cher has an underscore'],
    ['b\u00fc cher.example', 'the label b\u00fc cher has a space'],
    ['b\u00fccher..example', 'write one dot'],
    ['b\u00fccher-.example', 'hyphen'],
    [`${'\u00fc'.repeat(60)}.example`, 'longer than 63'],
    ['b\u00fccher.local', 'names below .local'],
    ['\u4f8b\u3048', 'has no dot'],
    ['\uff53\uff48\uff4f\uff50.example.com', 'not ASCII: write shop.example.com'],
    ['\uff11\uff12.example.com', 'not ASCII: write 12.example.com'],
    ['shop\u3002example\u3002com', 'not ASCII: write shop.example.com'],
    ['shop\u200b.example.com', 'not ASCII: write shop.example.com'],
    ['a\u0301\u200e.example.com', '(U+200E): remove it'],
    ['bücher.example', 'write xn--bcher-kva.example'],
    ['例え.example.com', 'write xn--r8jz45g.example.com'],
    ['shop\u200e.example.com', '(U+200E): remove it'],
    ['shop.example\ufffe.com', '(U+FFFE): remove it'],
    ['', 'empty'],
    ['ab--c.example.com', 'positions 3 and 4'],
    ['xn--a.example.com', 'not a valid A-label'],
    [`${'a'.repeat(64)}.example.com`, 'longer than 63'],
    [`${Array.from({length: 5}, () => 'a'.repeat(60)).join('.')}.com`, 'longer than 253'],
    ['localhost', 'no dot'],
    ['a.b.c.d.e.f.g.h.i.example.com', 'has 11 labels'],
    ['printer.local', 'names below .local are not in the public DNS'],
    ['shop.LOCAL.', '.local'],
    ['expyuzz4wqqyqhjn.onion', '.onion'],
    ['db.corp.internal', '.internal'],
    ['router.home.arpa', '.arpa'],
    ['1.2.0.192.in-addr.arpa', '.arpa'],
    ['app.localhost', '.localhost'],
    ['x.invalid', '.invalid'],
    ['x.y.alt', '.alt'],
    ['com', 'no dot'],
    ['co.uk', 'public suffix'],
    ['1.2.3', 'ends in a number'],
    ['shop.123', 'ends in a number'],
  ])('%s: %s', (given, problem) => {
    expect(parseHost(given)).toEqual({ok: false, problem: expect.stringContaining(problem)});
  });
});

test.each([
  ['shop.example.com', 'example.com', false],
  ['example.com', 'example.com', true],
  ['example.co.uk', 'example.co.uk', true],
  ['me.github.io', 'me.github.io', true],
  ['example.test', 'example.test', true],
  ['github.io', 'github.io', true],
  ['s3.amazonaws.com', 'amazonaws.com', false],
  ['co.uk', undefined, false],
])('the registrable domain of %s is %s', (host, domain, apex) => {
  expect(registrableDomain(host)).toBe(domain);
  expect(isApex(host)).toBe(apex);
});

test.each([
  ['com', true],
  ['co.uk', true],
  ['test', true],
  ['example.com', false],
])('%s is a public suffix: %s', (name, want) => expect(isPublicSuffix(name)).toBe(want));

test.each([
  ['example.com', '@'],
  ['shop.example.com', 'shop'],
  ['a.b.example.co.uk', 'a.b'],
  ['_nameplate.example.com', '_nameplate'],
  ['_nameplate.shop.example.com', '_nameplate.shop'],
])('%s is typed into a form as %s', (name, want) => expect(formLabel(name)).toBe(want));

test.each([
  ['shop.dev.example.com', 'dev.example.com', 'shop'],
  ['dev.example.com', 'dev.example.com', '@'],
  ['_nameplate.dev.example.com', 'dev.example.com', '_nameplate'],
  ['me.github.io', 'github.io', 'me'],
])('%s is typed into a form of the zone %s as %s', (name, zone, want) => expect(formLabel(name, zone)).toBe(want));

test.each([
  ['.', true],
  ['com', true],
  ['co.uk', true],
  ['test', true],
  ['github.io', false],
  ['example.com', false],
])('%s is the zone of a registry: %s', (name, want) => expect(isRegistrySuffix(name)).toBe(want));
