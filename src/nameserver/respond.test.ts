import {type DecodedPacket, decode, encode, type Packet} from 'dns-packet';
import {describe, expect, test} from 'vitest';
import {respond} from './respond.ts';
import type {Zone} from './zone.ts';

const DOMAIN = 'acme.example.net';
const LABEL = 'abcdefghijklmnopqrstuvwxyz234567';
const OTHER = LABEL.toUpperCase().replace('A', '2').toLowerCase();
const NAME = `${LABEL}.${DOMAIN}`;
const VALUE = 'AbCdEfGhIjKlMnOpQrStUvWxYz0123456789-_AbCdE';
const ZONE: Zone = {
  domain: DOMAIN,
  nameServers: ['ns1.example.net', 'ns2.example.net'],
  valuesOf: name => (name === NAME ? [VALUE] : []),
};
const TWO: Zone = {...ZONE, valuesOf: name => (name === NAME ? [VALUE, [...VALUE].reverse().join('')] : [])};

const EDNS = {type: 'OPT', name: '.', udpPayloadSize: 1232, flags: 0, options: []} as const;
type Query = Omit<Packet, 'type' | 'questions'>;

function queryOf(name: string, type: string, query: Query = {additionals: [EDNS as never]}): Buffer {
  return encode({type: 'query', id: 4711, questions: [{name, type: type as 'TXT'}], ...query});
}

function ask(name: string, type: string, {zone = ZONE, query, transport = 'udp'}: Asked = {}) {
  return answerOf(queryOf(name, type, query), zone, transport);
}

interface Asked {
  readonly zone?: Zone;
  readonly query?: Query;
  readonly transport?: 'udp' | 'tcp';
}

function answerOf(bytes: Uint8Array, zone = ZONE, transport: 'udp' | 'tcp' = 'udp') {
  const response = respond(bytes, zone, {transport});
  if (!response) throw new Error('no answer');
  if (transport === 'udp') expect(response.bytes.length).toBeLessThanOrEqual(2 * bytes.length);
  const packet = decode(Buffer.from(response.bytes));
  const code = ((optIn(packet)?.extendedRcode ?? 0) << 4) | ((response.bytes[3] ?? 0) & 0xf);
  return {...packet, code, bytes: response.bytes, outcome: response.outcome};
}

const dataIn = ({answers = []}: DecodedPacket) =>
  answers.map(answer => ('data' in answer ? [answer.data].flat().map(String).join('') : ''));
const soaIn = ({authorities = []}: DecodedPacket) => authorities.find(({type}) => type === 'SOA') as Soa | undefined;
const optIn = ({additionals = []}: DecodedPacket) => additionals.find(({type}) => type === 'OPT') as Opt | undefined;
interface Opt {
  readonly udpPayloadSize: number;
  readonly extendedRcode: number;
  readonly ednsVersion: number;
  readonly flag_do: boolean;
}
interface Soa {
  readonly name: string;
  readonly ttl: number;
  readonly data: {readonly mname: string; readonly rname: string; readonly minimum: number};
}

test('a name with an open challenge has its value, for a second', () => {
  const answer = ask(NAME, 'TXT');
  expect(answer).toMatchObject({id: 4711, code: 0, outcome: 'answer', flag_aa: true, flag_tc: false, flag_ra: false});
  expect(answer.answers).toMatchObject([{name: NAME, type: 'TXT', ttl: 1}]);
  expect(dataIn(answer)).toEqual([VALUE]);
  expect(answer.authorities).toEqual([]);
});

test('two open challenges of a name are answered together; over UDP, that would be longer than twice the question', () => {
  const short = ask(NAME, 'TXT', {zone: TWO});
  expect(short).toMatchObject({code: 0, outcome: 'truncated', flag_tc: true, answers: []});
  expect(dataIn(ask(NAME, 'TXT', {zone: TWO, transport: 'tcp'})).sort()).toEqual(
    [VALUE, [...VALUE].reverse().join('')].sort(),
  );
});

describe('a name exists, with or without an open challenge', () => {
  test.each([
    [`${OTHER}.${DOMAIN}`, 'TXT'],
    [NAME, 'A'],
    [NAME, 'AAAA'],
    [NAME, 'CAA'],
    [NAME, 'CNAME'],
    [NAME, 'NS'],
    [NAME, 'SOA'],
    [NAME, 'DS'],
    [DOMAIN, 'A'],
    [DOMAIN, 'AAAA'],
    [DOMAIN, 'TXT'],
    [DOMAIN, 'CAA'],
    [DOMAIN, 'DNSKEY'],
    [DOMAIN, 'DS'],
  ])('%s has no %s', (name, type) => {
    const answer = ask(name, type);
    expect(answer).toMatchObject({code: 0, outcome: 'nodata', flag_aa: true, flag_tc: false, answers: []});
    expect(soaIn(answer)).toMatchObject({name: DOMAIN, ttl: 1, data: {mname: 'ns1.example.net', minimum: 1}});
  });
});

describe('no other name exists', () => {
  test.each([
    `ns1.${DOMAIN}`,
    `_acme-challenge.${DOMAIN}`,
    `*.${DOMAIN}`,
    `a.${NAME}`,
    `${LABEL.slice(1)}.${DOMAIN}`,
    `${LABEL}a.${DOMAIN}`,
    `${LABEL.replace('a', '1')}.${DOMAIN}`,
  ])('%s', name => {
    const answer = ask(name, 'TXT');
    expect(answer).toMatchObject({code: 3, outcome: 'nxdomain', flag_aa: true, answers: []});
    expect(soaIn(answer)).toMatchObject({name: DOMAIN, ttl: 1, data: {minimum: 1}});
  });
});

test('the top of the zone has its SOA and its name servers', () => {
  expect(ask(DOMAIN, 'SOA').answers).toMatchObject([
    {name: DOMAIN, type: 'SOA', ttl: 1, data: {mname: 'ns1.example.net', rname: DOMAIN, minimum: 1}},
  ]);
  const {answers} = ask(DOMAIN, 'NS');
  expect(answers).toMatchObject(ZONE.nameServers.map(data => ({name: DOMAIN, type: 'NS', ttl: 3600, data})));
  const elsewhere = {...ZONE, nameServers: ['a.other.example', 'ns.acme.test', 'net']};
  const asked = ask(DOMAIN, 'NS', {zone: elsewhere, transport: 'tcp'});
  expect(dataIn(asked), 'whatever they have in common with the question').toEqual(elsewhere.nameServers);
});

test('ANY gets a part (RFC 8482)', () => {
  expect(dataIn(ask(NAME, 'ANY'))).toEqual([VALUE]);
  expect(ask(DOMAIN, 'ANY').answers).toMatchObject([{type: 'SOA'}]);
  expect(ask(`${OTHER}.${DOMAIN}`, 'ANY')).toMatchObject({outcome: 'nodata'});
});

describe('refuses', () => {
  test.each([
    ['another zone', 'example.net', 'TXT'],
    ['a name that ends like the zone', `x${DOMAIN}`, 'TXT'],
    ['the root', '.', 'NS'],
    ['transfers', DOMAIN, 'AXFR'],
    ['incremental transfers', DOMAIN, 'IXFR'],
  ])('%s', (_, name, type) => {
    expect(ask(name, type)).toMatchObject({code: 5, outcome: 'refused', flag_aa: false, answers: [], authorities: []});
  });

  test('a name whose label contains the dot before the zone', () => {
    const query = queryOf(`x.${DOMAIN}`, 'TXT', {});
    query[12] = 'x.acme'.length; // the labels "x" and "acme" become one
    query[14] = '.'.charCodeAt(0);
    expect(answerOf(query)).toMatchObject({code: 5});
  });

  test('another class', () => {
    const query = queryOf(NAME, 'TXT', {});
    query[query.length - 1] = 3;
    expect(answerOf(query)).toMatchObject({code: 5, outcome: 'refused'});
  });
});

test('repeats the letter case of the question, by which resolvers recognize answers', () => {
  const name = 'aBcDeFgHiJkLmNoPqRsTuVwXyZ234567.AcMe.ExAmPlE.nEt';
  const answer = ask(name, 'TXT');
  expect(answer.questions?.[0]?.name).toBe(name);
  expect(dataIn(answer)).toEqual([VALUE]);
  expect(ask('ACME.example.NET', 'A').questions?.[0]?.name).toBe('ACME.example.NET');
});

describe('EDNS', () => {
  const edns = (more: object): Query => ({additionals: [{...EDNS, ...more} as never]});

  test('is answered only if the query has it', () => {
    expect(optIn(ask(NAME, 'TXT', {query: {}}))).toBeUndefined();
    expect(optIn(ask(NAME, 'TXT'))).toMatchObject({udpPayloadSize: 1232, ednsVersion: 0, flag_do: false});
  });

  test('DO is repeated, and options are not', () => {
    const query = edns({flags: 0x8000, options: [{code: 10, data: Buffer.alloc(8)}]});
    expect(optIn(ask(NAME, 'TXT', {query}))).toMatchObject({flag_do: true, options: []});
  });

  test('of another version gets BADVERS', () => {
    const answer = ask(NAME, 'TXT', {query: edns({ednsVersion: 1})});
    expect(answer).toMatchObject({code: 16, answers: []});
    expect(optIn(answer)).toMatchObject({ednsVersion: 0, extendedRcode: 1});
  });

  test('twice, or with a name, is malformed', () => {
    expect(ask(NAME, 'TXT', {query: {additionals: [EDNS as never, EDNS as never]}})).toMatchObject({code: 1});
    const named = Buffer.concat([queryOf(NAME, 'TXT', {}), Buffer.from([1, 97, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0])]);
    named[11] = 1;
    expect(answerOf(named)).toMatchObject({code: 1});
  });
});

test('repeats RD and CD, and sets nothing else', () => {
  for (const flags of [0, 0x0100, 0x0010, 0x0110]) {
    const {bytes} = ask(NAME, 'TXT', {query: {flags}});
    expect((bytes[2] ?? 0) * 256 + (bytes[3] ?? 0)).toBe(0x8400 | flags);
  }
  const all = ask(NAME, 'TXT', {query: {flags: 0x07f0}}); // AA, TC, RD, RA, Z, AD, CD
  expect((all.bytes[2] ?? 0) * 256 + (all.bytes[3] ?? 0)).toBe(0x8510);
});

describe('never answers', () => {
  test.each([
    ['an answer', () => encode({type: 'response', id: 1, questions: [{name: NAME, type: 'TXT'}]})],
    ['its own answer', () => ask(NAME, 'TXT').bytes],
    ['an error', () => ask('example.net', 'TXT').bytes],
    ['nothing', () => Buffer.alloc(0)],
    ['half a header', () => queryOf(NAME, 'TXT').subarray(0, 11)],
  ])('%s', (_, bytes) => {
    expect(respond(bytes(), ZONE, {transport: 'udp'})).toBeUndefined();
  });
});

describe('malformed:', () => {
  const changed = (change: (query: Buffer) => void) => {
    const query = queryOf(NAME, 'TXT', {});
    change(query);
    return query;
  };
  test.each([
    ['no question', changed(query => query.writeUInt16BE(0, 4)), 1],
    ['two questions', changed(query => query.writeUInt16BE(2, 4)), 1],
    ['a question that ends early', queryOf(NAME, 'TXT').subarray(0, 40), 1],
    ['a pointer to itself', changed(query => query.writeUInt16BE(0xc00c, 12)), 1],
    ['an unknown kind of label', changed(query => query.writeUInt8(0x41, 12)), 1],
    ['records that are missing', changed(query => query.writeUInt16BE(1, 10)), 1],
    ['65,535 records', changed(query => query.writeUInt16BE(0xffff, 6)), 1],
    ['bytes after the end', Buffer.concat([queryOf(NAME, 'TXT'), Buffer.from([0])]), 1],
    ['an update', changed(query => query.writeUInt16BE(5 << 11, 2)), 4],
    ['a notification', changed(query => query.writeUInt16BE(4 << 11, 2)), 4],
    ['an unknown operation', changed(query => query.writeUInt16BE(15 << 11, 2)), 4],
  ])('%s', (_, query, code) => {
    const answer = answerOf(query);
    expect(answer).toMatchObject({id: 4711, code, outcome: 'malformed', flag_aa: false, answers: []});
    expect(answer.bytes.length).toBeLessThanOrEqual(query.length);
  });
});

test('no name is read from the header, which looks like the name "a" here', () => {
  const query = Buffer.from([1, 97, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0xc0, 0, 0, 16, 0, 1]);
  expect(answerOf(query)).toMatchObject({code: 1, questions: []});
});

// attack: name-server
test('any bytes get an answer of at most twice their length, or none', () => {
  let seed = 1;
  const random = (below: number) => {
    seed = (seed * 48_271) % 0x7fffffff;
    return seed % below;
  };
  const whole = queryOf(NAME, 'TXT');
  let answered = 0;
  for (let round = 0; round < 20_000; round++) {
    const bytes = Buffer.from(whole.subarray(0, round % 3 === 0 ? random(whole.length) : whole.length));
    for (let change = random(6); change > 0 && bytes.length > 0; change--) bytes[random(bytes.length)] = random(256);
    const response = respond(bytes, TWO, {transport: 'udp'});
    if (!response) continue;
    answered++;
    expect(response.bytes.length).toBeLessThanOrEqual(2 * bytes.length);
    expect(response.bytes.length).toBeLessThanOrEqual(1232);
    expect(() => decode(Buffer.from(response.bytes))).not.toThrow();
  }
  expect(answered).toBeGreaterThan(10_000);
});
