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
    ['its name among others', [caa('other.example'), caa('ca.example')]],
    ['its name beside a ban', [caa(';'), caa('ca.example')]],
    ['a known tag flagged critical', [caa('ca.example', {critical: true})]],
    ['an unknown tag', [caa('x', {tag: 'future'})]],
    ['its account', [caa('ca.example; accounturi=https://ca.example/acct/1')]],
    ['its method', [caa('ca.example; validationmethods=dns-01,http-01')]],
    ['an unknown parameter', [caa('ca.example; policy=ev')]],
    ['blanks', [caa('  ca.example ;  ')]],
    ['a separator and nothing else', [caa('ca.example;')]],
    ['a critical tag that it knows, in capitals', [caa('mailto:x@example.com', {tag: 'iodef', critical: true})]],
    ['a critical tag for mail', [caa('ca.example', {tag: 'issuemail', critical: true})]],
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
    [
      'another account',
      [caa('ca.example; accounturi=https://ca.example/acct/2')],
      'an ACME account other than https://ca.example/acct/1',
    ],
    ['another method', [caa('ca.example; validationmethods=dns-01')], 'validation method http-01'],
    ['two accounts', [caa('ca.example; accounturi=https://ca.example/acct/1; accounturi=x')], 'malformed'],
    ['two lists of methods', [caa('ca.example; validationmethods=http-01; validationmethods=http-01')], 'malformed'],
    ['a malformed value', [caa('ca.example; x')], 'malformed'],
    ['a malformed name', [caa('ca..example')], 'malformed'],
    ['a separator after a parameter', [caa('ca.example; validationmethods=http-01;')], 'is malformed'],
    ['two separators', [caa('ca.example;;')], 'is malformed'],
    ['an empty parameter', [caa('ca.example; ; validationmethods=http-01')], 'is malformed'],
    ['a hyphen in a tag', [caa('ca.example; x-y=1')], 'is malformed'],
    ['a tag without a name', [caa('ca.example; =1')], 'is malformed'],
    ['a blank within a value', [caa('ca.example; validationmethods=dns-01, http-01')], 'is malformed'],
    ['an empty method', [caa('ca.example; validationmethods=http-01,')], 'is malformed'],
    ['a method with an underscore', [caa('ca.example; validationmethods=http-01,dns_01')], 'is malformed'],
    ['a method in capitals', [caa('ca.example; validationmethods=HTTP-01')], 'validation method http-01'],
    ['no method', [caa('ca.example; validationmethods=')], 'is malformed'],
    ['its name in capitals', [caa('CA.Example')], 'Change it to example.com. CAA 0 issue "ca.example"'],
    ['its name with a final dot', [caa('ca.example.')], 'is malformed'],
    ['its name in quotes', [caa("'ca.example'")], 'is malformed'],
    [
      'its account with a slash',
      [caa('ca.example; accounturi=https://ca.example/acct/1/')],
      'an ACME account other than https://ca.example/acct/1',
    ],
    [
      'an unknown critical tag for brands',
      [caa('ca.example'), caa('x', {tag: 'issuevmc', critical: true})],
      'critical',
    ],
    ['a critical address', [caa('ca.example'), caa('x', {tag: 'contactemail', critical: true})], 'set its flags to 0'],
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

describe('if our account is unknown', () => {
  const judged = (value: string) => judgeCaa(HOST, [caa(value)], {caaIdentities: ['ca.example']});

  test('one that may be ours is allowed, and the message says that it was not compared', () => {
    const verdict = judged('ca.example; accounturi=https://ca.example/acct/2');
    expect(verdict).toMatchObject({outcome: 'allowed', message: expect.stringContaining('could not compare')});
  });

  test.each(['', '1', 'acct/1'])('%j, which is no URI, is forbidden', account => {
    const verdict = judged(`ca.example; accounturi=${account}`);
    expect(verdict).toMatchObject({outcome: 'forbidden', message: expect.stringContaining('names no ACME account')});
  });
});

describe('a wildcard follows issuewild, and issue only without it', () => {
  const wild = (value: string) => caa(value, {tag: 'issuewild'});
  test.each([
    {records: [wild('ca.example'), caa(';')], outcome: 'allowed'},
    {records: [wild(';'), caa('ca.example')], outcome: 'forbidden'},
    {records: [caa('ca.example')], outcome: 'allowed'},
    {records: [caa('other.example')], outcome: 'forbidden'},
  ])('$outcome by $records', ({records, outcome}) => {
    expect(judgeCaa('*.example.com', records, {caaIdentities: ['ca.example']})).toMatchObject({outcome});
  });

  test('the record that would allow has the tag of the one that forbids', () => {
    const {message} = judgeCaa('*.example.com', [wild('other.example')], {caaIdentities: ['ca.example']});
    expect(message).toContain('Add example.com. CAA 0 issuewild "ca.example"');
  });
});

test('a record that is limited to another account is changed to ours, not widened', () => {
  const identity = {caaIdentities: ['ca.example'], caaAccountUri: 'https://ca.example/acct/1'};
  const {message} = judgeCaa(HOST, [caa('ca.example; accounturi=https://ca.example/acct/2')], identity);
  expect(message).toContain('Change it to example.com. CAA 0 issue "ca.example; accounturi=https://ca.example/acct/1"');
});

test('the verdict quotes the record that forbids, escaped, and the one that would allow', () => {
  const verdict = judgeCaa(HOST, [caa('evil"\u001b.example')], {caaIdentities: ['ca.example']});
  expect(verdict.message).toContain('The CAA record example.com. CAA 0 issue "evil\\"\\027.example" ');
  expect(verdict.message).toContain('Change it to example.com. CAA 0 issue "ca.example"');
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
  ['CA.example', {issuer: 'CA.example', parameters: []}],
  ['ca.example; a=1;', undefined],
  [`ca.example;${' '.repeat(4085)}`, {issuer: 'ca.example', parameters: []}],
  [`ca.example;${' '.repeat(4086)}`, undefined],
])('the value %j', (text, want) => expect(parseIssueValue(text)).toEqual(want));
