import dnsPacket from 'dns-packet';
import {describe, expect, test} from 'vitest';
import {canonicalAddress, DecodeError, decodeMessage, encodeQuery, type QueryOptions} from './codec.ts';

const query: QueryOptions = {
  id: 4711,
  name: 'shop.example.com',
  type: 'A',
  recursionDesired: false,
  checkingDisabled: false,
  edns: true,
};

/** A response to `A shop.example.com` with the given answer sections in wire form. */
function response(records: readonly number[][], flags = 0x8400): Uint8Array {
  const question = [4, ...ascii('shop'), 7, ...ascii('example'), 3, ...ascii('com'), 0, 0, 1, 0, 1];
  const header = [0x12, 0x67, flags >> 8, flags & 0xff, 0, 1, 0, records.length, 0, 0, 0, 0];
  return Uint8Array.from([...header, ...question, ...records.flat()]);
}

function ascii(text: string): number[] {
  return [...text].map(character => character.charCodeAt(0));
}

/** A record of the question's own name, by a pointer to it. */
function record(type: number, data: readonly number[]): number[] {
  return [0xc0, 12, type >> 8, type & 0xff, 0, 1, 0, 0, 1, 44, data.length >> 8, data.length & 0xff, ...data];
}

describe('encodeQuery', () => {
  test('agrees with dns-packet', () => {
    const decoded = dnsPacket.decode(
      Buffer.from(encodeQuery({...query, recursionDesired: true, checkingDisabled: true})),
    );
    expect(decoded).toMatchObject({
      id: 4711,
      flag_rd: true,
      flag_cd: true,
      questions: [{name: 'shop.example.com', type: 'A', class: 'IN'}],
      additionals: [{type: 'OPT', udpPayloadSize: 1232, flag_do: false}],
    });
  });

  test.each(['a..b', `${'a'.repeat(64)}.com`, ''])('refuses the name %j, which dns-packet sends malformed', name => {
    expect(() => encodeQuery({...query, name})).toThrow(RangeError);
  });
});

describe('decodeMessage', () => {
  test('agrees with dns-packet on what dns-packet encodes', () => {
    const name = 'shop.example.com';
    const encoded = dnsPacket.encode({
      type: 'response',
      id: 4711,
      flags: dnsPacket.AUTHORITATIVE_ANSWER | 3,
      questions: [{name, type: 'A'}],
      answers: [
        {name: 'SHOP.example.com', type: 'A', ttl: 300, data: '192.0.2.1'},
        {name, type: 'AAAA', ttl: 300, data: '2001:db8::1'},
        {name, type: 'CNAME', ttl: 300, data: 'Target.Example.NET'},
        {name, type: 'DNAME', ttl: 300, data: 'x.test'},
        {name, type: 'TXT', ttl: 300, data: ['one ', 'two']},
        {name, type: 'CAA', ttl: 300, data: {flags: 128, tag: 'issue', value: 'ca.example'}},
        {name, type: 'MX', ttl: 300, data: {preference: 1, exchange: 'mx.test'}},
      ],
      authorities: [
        {name: 'example.com', type: 'NS', ttl: 300, data: 'ns1.example.com'},
        {
          name: 'example.com',
          type: 'SOA',
          ttl: 300,
          data: {mname: 'a.b', rname: 'c.d', serial: 1, refresh: 2, retry: 3, expire: 4, minimum: 60},
        },
      ],
      additionals: [
        {
          name: '.',
          type: 'OPT',
          udpPayloadSize: 1232,
          extendedRcode: 0,
          ednsVersion: 0,
          flags: 0,
          options: [{code: 15, data: Buffer.from([0, 6])}],
        } as never,
      ],
    });
    const base = {name, ttl: 300};
    expect(decodeMessage(encoded)).toEqual({
      id: 4711,
      question: {name, type: 1},
      authoritative: true,
      truncated: false,
      rcode: 3,
      edns: true,
      extendedErrors: [6],
      answers: [
        {...base, type: 'A', address: '192.0.2.1'},
        {...base, type: 'AAAA', address: '2001:db8::1'},
        {...base, type: 'CNAME', target: 'target.example.net'},
        {...base, type: 'DNAME', target: 'x.test'},
        {...base, type: 'TXT', text: 'one two'},
        {...base, type: 'CAA', critical: true, tag: 'issue', value: 'ca.example'},
      ],
      authority: [
        {type: 'NS', name: 'example.com', ttl: 300, target: 'ns1.example.com'},
        {type: 'SOA', name: 'example.com', ttl: 300, minimum: 60},
      ],
      additional: [],
    });
  });

  test('keeps a dot inside a label apart, which dns-packet does not', () => {
    const bytes = response([record(5, [9, ...ascii('edge.acme'), 3, ...ascii('com'), 0])]);
    expect(dnsPacket.decode(Buffer.from(bytes)).answers?.[0]).toMatchObject({data: 'edge.acme.com'});
    expect(decodeMessage(bytes).answers).toMatchObject([{target: 'edge\\.acme.com'}]);
  });

  test('refuses an A record of three bytes, which dns-packet decodes', () => {
    const bytes = response([record(1, [192, 0, 2])]);
    expect(dnsPacket.decode(Buffer.from(bytes)).answers).toHaveLength(1);
    expect(() => decodeMessage(bytes)).toThrow(DecodeError);
  });

  const refused: [string, Uint8Array][] = [
    ['nothing', Uint8Array.of()],
    ['half a header', Uint8Array.of(1, 2, 3)],
    ['a query', encodeQuery(query)],
    ['another opcode', response([], 0xa400)],
    ['an A record of five bytes', response([record(1, [1, 2, 3, 4, 5])])],
    ['an AAAA record of four bytes', response([record(28, [1, 2, 3, 4])])],
    ['a name that points at itself', response([[0xc0, 33, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0]])],
    ['a name that points ahead', response([record(5, [0xc0, 200])])],
    ['a label of an unknown kind', response([record(5, [0x41, 0])])],
    ['a CNAME with bytes after its name', response([record(5, [1, 97, 0, 0])])],
    ['a TXT string longer than its record', response([record(16, [200, 97])])],
    ['an empty TXT record', response([record(16, [])])],
    ['a record that ends with the message', response([record(1, [1, 2, 3, 4]).slice(0, -1)])],
    ['fewer records than announced', response([record(1, [1, 2, 3, 4]), []])],
  ];
  test.each(refused)('refuses %s', (_, bytes) => expect(() => decodeMessage(bytes)).toThrow(DecodeError));

  test('refuses a name over 255 bytes put together by pointers', () => {
    const label = [63, ...ascii('a'.repeat(63))];
    const first = record(16, [0]);
    const long = record(5, [...label, ...label, ...label, 0xc0, 12]);
    expect(decodeMessage(response([first, long])).answers).toHaveLength(2);
    const longer = record(5, [...label, ...label, ...label, 55, ...ascii('a'.repeat(55)), 0xc0, 12]);
    expect(() => decodeMessage(response([longer]))).toThrow('longer than 255');
  });

  test('draws nothing from a truncated message', () => {
    const bytes = response([record(1, [1, 2, 3, 4])], 0x8600);
    expect(decodeMessage(bytes)).toMatchObject({truncated: true, answers: []});
  });

  test('throws a DecodeError or answers, whatever is changed in a message', {timeout: 30_000}, () => {
    const valid = response([
      record(5, [1, 97, 0xc0, 17]),
      record(16, [3, 97, 98, 99]),
      record(257, [0, 5, ...ascii('issuex')]),
    ]);
    for (let at = 0; at < valid.length; at++) {
      for (let value = 0; value < 256; value += 1) {
        const mutated = valid.with(at, value);
        try {
          decodeMessage(mutated);
        } catch (error) {
          expect(error).toBeInstanceOf(DecodeError);
        }
      }
    }
  });
});

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['2001:0DB8::0001', '2001:db8::1'],
  ['192.0.2', undefined],
  ['fe80::1%1', undefined],
])('%s in one form: %s', (given, want) => expect(canonicalAddress(given)).toBe(want));
