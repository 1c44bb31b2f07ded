import {describe, expect, test} from 'vitest';
import {type CaaRecord, judgeCaa, parseIssueValue} from './caa.ts';

const HOST = 'shop.example.com';

function caa(value: string, more: Partial<CaaRecord> = {}): CaaRecord {
  return {type: 'CAA', name: 'example.com', ttl: 300, critical: false, tag: 'issue', value, ...more};
}

describe('a CA named ca.example, with http-01 and the account https://ca.example/acct/1, is', () => {
  const allowed: [string, CaaRecord[]][] = [
    ['no record', []],
    ['only iodef', [caa('mailto:x@example.com', {tag: 'iodef'})]],
    ['only issuewild', [caa(';', {tag: 'issuewild'})]],
    ['its name', [caa('ca.example')]],
    ['its name in capitals', [caa('CA.Example')]],
    ['its name among others', [caa('other.example'), caa('ca.example')]],
    ['its name beside a ban', [caa(';'), caa('ca.example')]],
    ['a known tag flagged critical', [caa('ca.example', {critical: true})]],
    ['an unknown tag', [caa('x', {tag: 'future'})]],
    ['its account', [caa('ca.example; accounturi=https://ca.example/acct/1')]],
    ['its method', [caa('ca.example; validationmethods=dns-01,http-01')]],
    ['an unknown parameter', [caa('ca.example; policy=ev')]],
    ['blanks', [caa('  ca.example ;  ')]],
  ];
  test.each(allowed)('allowed by %s', (_, records) => {
    expect(judgeCaa(HOST, records, identity)).toMatchObject({outcome: 'allowed'});
  });

  const forbidden: [string, CaaRecord[], string][] = [
    ['another name', [caa('other.example')], 'does not allow ca.example'],
    ['nobody', [caa(';')], 'does not allow ca.example'],
    ['an empty value', [caa('')], 'does not allow ca.example'],
    ['a name below its own', [caa('x.ca.example')], 'does not allow'],
    ['its name as a prefix', [caa('ca.example.org')], 'does not allow'],
    ['another account', [caa('ca.example; accounturi=https://ca.example/acct/2')], 'another ACME account'],
    ['another method', [caa('ca.example; validationmethods=dns-01')], 'validation method http-01'],
    ['two accounts', [caa('ca.example; accounturi=https://ca.example/acct/1; accounturi=x')], 'malformed'],
    ['two lists of methods', [caa('ca.example; validationmethods=http-01; validationmethods=http-01')], 'malformed'],
    ['a malformed value', [caa('ca.example; x')], 'malformed'],
    ['a malformed name', [caa('ca..example')], 'malformed'],
    ['an unknown critical tag', [caa('ca.example'), caa('x', {tag: 'future', critical: true})], 'critical'],
  ];
  test.each(forbidden)('forbidden by %s', (_, records, message) => {
    expect(judgeCaa(HOST, records, identity)).toMatchObject({
      outcome: 'forbidden',
      message: expect.stringContaining(message),
    });
  });

  const identity = {caaIdentities: ['ca.example'], caaAccountUri: 'https://ca.example/acct/1'};
});

test('an account is not checked if ours is unknown', () => {
  const records = [caa('ca.example; accounturi=https://ca.example/acct/2')];
  expect(judgeCaa(HOST, records, {caaIdentities: ['ca.example']})).toMatchObject({outcome: 'allowed'});
});

test('the verdict quotes the record that forbids, escaped, and the one that would allow', () => {
  const verdict = judgeCaa(HOST, [caa('evil"\u001b.example')], {caaIdentities: ['ca.example']});
  expect(verdict.record).toBe('example.com. CAA 0 issue "evil\\"\\027.example"');
  expect(verdict.message).toContain(verdict.record);
  expect(verdict.message).toContain('Add example.com. CAA 0 issue "ca.example"');
});

test.each([
  ['ca.example', {issuer: 'ca.example', parameters: []}],
  [';', {issuer: '', parameters: []}],
  ['', {issuer: '', parameters: []}],
  [
    'ca.example; a=1; b=',
    {
      issuer: 'ca.example',
      parameters: [
        ['a', '1'],
        ['b', ''],
      ],
    },
  ],
  ['ca.example a=1', undefined],
  ['-ca.example', undefined],
  ['ca.example; =1', undefined],
  [`ca.example;${' '.repeat(4085)}`, {issuer: 'ca.example', parameters: []}],
  [`ca.example;${' '.repeat(4086)}`, undefined],
])('the value %j', (text, want) => expect(parseIssueValue(text)).toEqual(want));
