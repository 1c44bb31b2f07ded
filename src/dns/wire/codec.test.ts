import dnsPacket from 'dns-packet';
import {describe, expect, test} from 'vitest';
import {
  emptyStrings,
  honestLargest,
  longChain,
  recordOf,
  responseOf,
  spaces,
  staircase,
} from '../../../test/integration/dns/hostile.ts';
import {canonicalAddress, decodeHead, decodeMessage, encodeQuery, type QueryOptions} from './codec.ts';
import {DecodeError} from './wire-reader.ts';

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

  test('throws a DecodeError or answers, whatever is changed in a message', () => {
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

describe('a message that is built to be slow', () => {
  const question = {id: 4711, name: 'shop.example.com', type: 1};
  /** Twice the longest message. Without bounds, the staircase made us read 57 million bytes. */
  const MOST = 2 * 0xffff;

  function costOf(bytes: Uint8Array): {bytesRead: number; error?: string} {
    const meter = {bytesRead: 0};
    try {
      decodeMessage(bytes, meter);
      return meter;
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      return {...meter, error: error.message};
    }
  }

  test.each([
    // attack: hostile-dns
    ['3,511 records at the top of 8,170 pointers', staircase(question), 'more than 200 records'],
    ['600 records there', staircase(question, 600), 'more than 200 records'],
    ['199 records there', staircase(question, 199), 'more than 16 compression pointers in a name'],
    ['one record at the top of 17 pointers', staircase(question, 1, 17), 'more than 16 compression pointers in a name'],
    ['as many honest records as fit', honestLargest(question), 'more than 200 records'],
  ])('%s: refused', (_, bytes, error) => {
    expect(bytes.length).toBeLessThanOrEqual(0xffff);
    const cost = costOf(bytes);
    expect(cost.error).toBe(error);
    expect(cost.bytesRead).toBeLessThan(MOST);
  });

  test.each([
    ['199 records at the top of 15 pointers', staircase(question, 199, 15)],
    ['a TXT record of 65,000 empty strings', emptyStrings(question)],
    ['a CAA record of 65,000 spaces', spaces(question)],
    ['a chain of 200 names of the maximum length', longChain(question)],
  ])('%s: read within the bound', (_, bytes) => {
    const cost = costOf(bytes);
    expect(cost.error).toBeUndefined();
    expect(cost.bytesRead).toBeLessThanOrEqual(MOST);
  });

  test('200 names of 255 bytes, three per record, exceed the bound', () => {
    const far = [0xc0, 47];
    const name = [...Array.from({length: 117}, () => [1, 97]).flat(), 0xc0, 12];
    const soa = recordOf(6, [...far, ...far, ...Array(20).fill(0)], far);
    const bytes = responseOf(question, [recordOf(99, [0, ...name]), ...Array(199).fill(soa)]);
    expect(decodeMessage(responseOf(question, [recordOf(99, [0, ...name]), soa])).answers).toMatchObject([
      {type: 'SOA', name: `${'a.'.repeat(117)}shop.example.com`},
    ]);
    expect(costOf(bytes).error).toBe('name compression that expands too far');
  });

  test('what honest servers send fits: 100 addresses of 16 bytes, a chain, and 13 name servers with their addresses', () => {
    const name = [...labelBytes('an-unusually-long-host-name-for-a-name-server'), 0xc0, 17];
    const records = [
      ...Array(12).fill(recordOf(5, name)),
      ...Array(100).fill(recordOf(28, Array(16).fill(1), name)),
      ...Array(13).fill(recordOf(2, name)),
      ...Array(26).fill(recordOf(28, Array(16).fill(1), name)),
    ];
    expect(decodeMessage(responseOf(question, records)).answers).toHaveLength(151);
  });

  test('the id and the question are read without the records', () => {
    const bytes = staircase(question);
    expect(decodeHead(bytes)).toEqual({id: 4711, question: {name: question.name, type: 1}, truncated: false});
  });
});

function labelBytes(label: string): number[] {
  return [label.length, ...ascii(label)];
}

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['2001:0DB8::0001', '2001:db8::1'],
  ['192.0.2', undefined],
  ['fe80::1%1', undefined],
])('%s in one form: %s', (given, want) => expect(canonicalAddress(given)).toBe(want));
