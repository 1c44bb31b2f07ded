import {afterAll, expect, test} from 'vitest';
import {Answers} from './answers.ts';
import {type CaAnswer, CaConnection} from './connection.ts';
import {CaUnreachable} from './errors.ts';

const CA = 'https://ca.example';
const NOW = Date.parse('2026-11-28T12:00:00Z');
const DAY_MS = 86_400_000;

/** Never connects. */
const connection = new CaConnection(new URL(`${CA}/directory`), {timeoutMs: 1, userAgent: 'test'});
afterAll(() => connection.close());
const answers = new Answers(connection, () => NOW);

type Headers = Readonly<Record<string, string | readonly string[]>>;

function answer(body: unknown, headers: Headers = {}, status = 200): CaAnswer {
  const all: Headers = {'content-type': 'application/json', ...headers};
  const values = (name: string) => [all[name] ?? []].flat();
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const header = (name: string) => (values(name).length === 1 ? values(name)[0] : undefined);
  return {url: new URL(`${CA}/order/1`), status, text, header, headers: values};
}

const DIRECTORY = {newNonce: `${CA}/nonce`, newAccount: `${CA}/account`, newOrder: `${CA}/order`};
const ORDER = {
  status: 'pending',
  identifiers: [{type: 'dns', value: 'shop.example.com'}],
  authorizations: [`${CA}/authz/1`],
  finalize: `${CA}/finalize/1`,
};
const CHALLENGE = {type: 'http-01', url: `${CA}/challenge/1`, status: 'pending', token: 'abc_DEF-123'};
const AUTHORIZATION = {status: 'pending', identifier: ORDER.identifiers[0], challenges: [CHALLENGE]};
const WINDOW = {suggestedWindow: {start: '2026-12-01T00:00:00Z', end: '2026-12-02T00:00:00Z'}};
const LOCATION = {location: `${CA}/order/1`};

test('an order has its names in lowercase and sorted, whatever the CA made of them', () => {
  const identifiers = ['www.B.example', '*.a.example'].map(value => ({type: 'dns', value}));
  expect(answers.order(answer({...ORDER, identifiers}, LOCATION)).names).toEqual(['*.a.example', 'www.b.example']);
});

test('an order has the URL of its Location, which may be relative', () => {
  expect(answers.order(answer(ORDER, {location: '/order/7'})).url).toBe(`${CA}/order/7`);
});

/** A foreign URL, each in a place where the CA sends one. */
const FOREIGN = 'https://evil.example/x';
test.each([
  ['of a directory', () => answers.directory(answer({...DIRECTORY, newOrder: FOREIGN}))],
  ['of renewal information', () => answers.directory(answer({...DIRECTORY, renewalInfo: FOREIGN}))],
  ['of a new account', () => answers.account(answer({status: 'valid'}, {location: FOREIGN}))],
  ['of a new order', () => answers.order(answer(ORDER, {location: FOREIGN}))],
  ['of an authorization', () => answers.order(answer({...ORDER, authorizations: [FOREIGN]}, LOCATION))],
  ['to finalize', () => answers.order(answer({...ORDER, finalize: FOREIGN}, LOCATION))],
  ['of a certificate', () => answers.order(answer({...ORDER, certificate: FOREIGN}, LOCATION))],
  [
    'of a challenge',
    () => answers.authorization(answer({...AUTHORIZATION, challenges: [{...CHALLENGE, url: FOREIGN}]})),
  ],
  ['of an alternate chain', () => answers.alternates(answer('', {link: `<${FOREIGN}>;rel="alternate"`}))],
])('a URL %s must be at the origin of the directory', (_, read) => {
  expect(read).toThrow(CaUnreachable);
  expect(read).toThrow(/leaves https:\/\/ca\.example/);
});

test.each([
  'https://ca.example.evil.example/1',
  'https://ca.example@evil.example/1',
  'https://user@ca.example/1',
  'https://ca.example:444/1',
  'http://ca.example/1',
  '//evil.example/1',
  'https://ca.example/1#fragment',
  `https://ca.example/${'a'.repeat(2048)}`,
  `https://ca.example/${'ü'.repeat(500)}`,
  '',
  7,
  null,
  ['https://ca.example/1'],
])('%j is no URL of this CA', finalize => {
  expect(() => answers.order(answer({...ORDER, finalize}, LOCATION))).toThrow(CaUnreachable);
});

test.each([
  ['no status', {...ORDER, status: undefined}],
  ['a status that RFC 8555 does not have', {...ORDER, status: 'deactivated'}],
  ['no identifiers', {...ORDER, identifiers: undefined}],
  ['an address', {...ORDER, identifiers: [{type: 'ip', value: '192.0.2.1'}]}],
  ['a name with markup', {...ORDER, identifiers: [{type: 'dns', value: '<b>.example'}]}],
  ['101 names', {...ORDER, identifiers: Array(101).fill(ORDER.identifiers[0])}],
  ['101 authorizations', {...ORDER, authorizations: Array(101).fill(`${CA}/authz/1`)}],
  ['a list', [ORDER]],
  ['null', null],
  ['a number', 7],
])('an order with or as %s is refused', (_, body) => {
  expect(() => answers.order(answer(body, LOCATION))).toThrow(CaUnreachable);
});

test.each([
  ['no challenges', {...AUTHORIZATION, challenges: undefined}],
  ['21 challenges', {...AUTHORIZATION, challenges: Array(21).fill(CHALLENGE)}],
  ['a challenge without a type', {...AUTHORIZATION, challenges: [{...CHALLENGE, type: undefined}]}],
  ['a challenge without a URL', {...AUTHORIZATION, challenges: [{...CHALLENGE, url: undefined}]}],
])('an authorization with %s is refused', (_, body) => {
  expect(() => answers.authorization(answer(body))).toThrow(CaUnreachable);
});

test.each(['../../x', 'a b', 'a\r\nb', '<script>', 'ä', 'a'.repeat(257), 7])('the token %j is refused', token => {
  const challenges = [{...CHALLENGE, token}];
  expect(() => answers.authorization(answer({...AUTHORIZATION, challenges}))).toThrow(CaUnreachable);
});

test('a challenge of a type without a token is kept, since the CA may offer more than we answer', () => {
  const {challenges} = answers.authorization(
    answer({...AUTHORIZATION, challenges: [CHALLENGE, {...CHALLENGE, type: 'dns-persist-01', token: undefined}]}),
  );
  expect(challenges.map(({type, token}) => [type, token])).toEqual([
    ['http-01', 'abc_DEF-123'],
    ['dns-persist-01', ''],
  ]);
});

test('a directory without optional parts', () => {
  expect(answers.directory(answer(DIRECTORY))).toEqual(DIRECTORY);
});

test.each([
  ['0', 0],
  ['120', 120_000],
  ['604801', 7 * DAY_MS],
  ['9'.repeat(400), 7 * DAY_MS],
  ['-5', undefined],
  ['1.5', undefined],
  ['1e3', undefined],
  ['soon', undefined],
  ['', undefined],
  ['2026', 2_026_000],
  ['Sat, 28 Nov 2026 12:00:30 GMT', 30_000],
  ['Sat, 28 Nov 2026 11:00:00 GMT', 0],
  ['Fri, 31 Dec 9999 23:59:59 GMT', 7 * DAY_MS],
  ['Xxx, 99 Xxx 2026 12:00:30 GMT', undefined],
  ['Sat, 28 Nov 2026 12:00:30 +0100', undefined],
])('Retry-After: %s is %s milliseconds', (value, want) => {
  expect(answers.order(answer(ORDER, {...LOCATION, 'retry-after': value})).retryAfterMs).toBe(want);
});

test('Retry-After as a date is compared with the clock of the CA, if it sends its time', () => {
  const headers = {...LOCATION, date: 'Sat, 28 Nov 2020 10:00:00 GMT', 'retry-after': 'Sat, 28 Nov 2020 10:01:00 GMT'};
  expect(answers.order(answer(ORDER, headers)).retryAfterMs).toBe(60_000);
});

test('a header that was sent twice counts for nothing', () => {
  const twice = answer(ORDER, {...LOCATION, 'retry-after': ['1', '2'], 'replay-nonce': ['a', 'b']});
  expect(answers.order(twice).retryAfterMs).toBeUndefined();
  expect(answers.nonceOf(twice)).toBeUndefined();
});

test.each(['a b', 'a"b', 'ä', 'a'.repeat(257), ''])('%j is not a nonce', nonce => {
  expect(answers.nonceOf(answer('', {'replay-nonce': nonce}))).toBeUndefined();
});

const ACME = 'urn:ietf:params:acme:error:';
const PROBLEM = {'content-type': 'application/problem+json'};

test('a problem has its type without the prefix, and its text in printable ASCII of at most 300 characters', () => {
  const detail = `Invalid response from http://x: "<html>\u0000\u001b]0;t\u0007 \u202e ${'é'.repeat(500)}`;
  const failure = answers.failureOf(answer({type: `${ACME}unauthorized`, detail}, PROBLEM, 403));
  expect(failure).toMatchObject({
    name: 'AcmeError',
    status: 403,
    message: 'unauthorized: Invalid response from http://x: "<html> ]0;t',
    problem: {type: 'unauthorized', detail: 'Invalid response from http://x: "<html> ]0;t'},
  });
  const long = answers.failureOf(answer({type: `${ACME}dns`, detail: 'x'.repeat(400)}, PROBLEM, 400));
  expect(long).toHaveProperty('problem.detail', `${'x'.repeat(297)}...`);
});

test('why an order or a challenge is invalid is a problem as well', () => {
  const error = {type: `${ACME}caa`, detail: 'CAA record for a.example prevents issuance'};
  const wanted = {type: 'caa', detail: error.detail};
  expect(answers.order(answer({...ORDER, status: 'invalid', error}, LOCATION)).error).toEqual(wanted);
  expect(answers.challenge(answer({...CHALLENGE, status: 'invalid', error})).error).toEqual(wanted);
});

test.each([
  ['a server that is away', 503, '<h1>away</h1>', {'content-type': 'text/html', 'retry-after': '60'}, 60_000],
  ['a problem that is none of ACME', 500, {type: 'about:blank'}, PROBLEM, undefined],
  ['an error as text', 429, 'slow down', {'content-type': 'text/plain', 'retry-after': '5'}, 5_000],
  ['a refusal without a problem', 403, '', {}, undefined],
  ['a redirect', 302, '', {location: `${CA}/elsewhere`}, undefined],
  ['a problem with a redirect', 302, {type: `${ACME}malformed`}, PROBLEM, undefined],
  ['a problem that is not JSON', 400, '{', PROBLEM, undefined],
])('%s is no answer', (_, status, body, headers, retryAfterMs) => {
  expect(answers.failureOf(answer(body, headers, status))).toMatchObject({name: 'CaUnreachable', retryAfterMs});
});

test.each([404, 409, 410])('%s says enough without a problem', status => {
  const failure = answers.failureOf(answer('', {}, status));
  const problem = {type: 'about:blank', detail: `HTTP ${status} from /order/1`};
  expect(failure).toMatchObject({name: 'AcmeError', status, problem});
});

test('a problem with a Retry-After has both', () => {
  const headers = {...PROBLEM, 'retry-after': '3600'};
  const failure = answers.failureOf(answer({type: `${ACME}rateLimited`, detail: 'too many'}, headers, 429));
  expect(failure).toMatchObject({problem: {type: 'rateLimited'}, retryAfterMs: 3_600_000});
});

test('an answer that succeeds but is not JSON is refused', () => {
  expect(() => answers.order(answer('<html>', LOCATION))).toThrow('the order is not JSON');
  expect(() => answers.order(answer(ORDER, {...LOCATION, 'content-type': 'text/html'}))).toThrow(CaUnreachable);
});

test('alternate chains are the links with that relation, in all forms that HTTP allows, and at most eight', () => {
  const link = [
    '<https://ca.example/directory>;rel="index"',
    '</a/1>; rel=alternate, <https://ca.example/a/2>;rel="alternate"',
  ];
  const paths = (value: string | string[]) =>
    answers.alternates(answer('', {link: value})).map(({pathname}) => pathname);
  expect(paths(link)).toEqual(['/a/1', '/a/2']);
  expect(paths(Array(100).fill('</a>;rel="alternate"'))).toHaveLength(8);
  expect(() => paths('a;rel="alternate"')).toThrow(CaUnreachable);
});

test.each([
  ['nothing', ''],
  ['text', 'no certificate'],
  ['a key beside it', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\n'],
  ['what is none inside', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'],
  ['11 of them', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'.repeat(11)],
])('a chain of %s is refused', (_, text) => {
  expect(() => answers.chain(answer(text))).toThrow(CaUnreachable);
});

test('renewal information is a window and when to ask again', () => {
  expect(answers.renewalWindow(answer(WINDOW, {'retry-after': '21600'}))).toEqual({
    startMs: Date.parse('2026-12-01T00:00:00Z'),
    endMs: Date.parse('2026-12-02T00:00:00Z'),
    retryAfterMs: 21_600_000,
  });
});

test.each([
  ['that ends before it starts', {start: '2026-12-02T00:00:00Z', end: '2026-12-01T00:00:00Z'}],
  ['that is empty', {start: '2026-12-02T00:00:00Z', end: '2026-12-02T00:00:00Z'}],
  ['without an end', {start: '2026-12-02T00:00:00Z'}],
  ['of words', {start: 'now', end: 'later'}],
  ['of numbers', {start: 1, end: 2}],
  ['that is missing', undefined],
])('a window of renewal %s is refused', (_, suggestedWindow) => {
  expect(() => answers.renewalWindow(answer({suggestedWindow}))).toThrow(CaUnreachable);
});
