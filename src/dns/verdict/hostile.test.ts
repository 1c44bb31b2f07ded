/**
 * Answers that respect all limits of a message, but are built to be slow to judge. The tests count the cost of a
 * verdict; they do not time it.
 */
import {expect, test} from 'vitest';
import {type Meter, metered} from '../../../test/integration/dns/meter.ts';
import {EVIL_QUESTION as question} from '../../../test/support/proof-question.ts';
import {systemClock} from '../../time/clock.ts';
import {TtlCache} from '../../time/ttl-cache.ts';
import {createDelegations} from '../resolve/delegation.ts';
import {createTargets} from '../resolve/targets.ts';
import type {Message, ResourceRecord} from '../wire/codec.ts';
import type {DnsTransport, Query} from '../wire/transport.ts';
import type {CaaRecord} from './caa.ts';
import {verifyQuestion} from './verify.ts';

/** The most that a message may have. */
const RECORDS = 200;
/** Reads per record: judging, showing, and remembering each go over the records a few times. */
const READS_PER_RECORD = 40;

const SERVERS = range(8).map(n => `ns${n}.evil.test`);

function range(count: number): number[] {
  return Array.from({length: count}, (_, n) => n);
}

function longName(n: number): string {
  return `x${n}.${'\\000.'.repeat(100)}shop.evil.test`;
}

/** The servers of one zone, at two addresses each, which answer every query with `answers`. */
function serversThatSay(answers: (query: Query) => ResourceRecord[], meter: Meter): DnsTransport {
  const base = {id: 0, truncated: false, rcode: 0, edns: true};
  const empty = {authoritative: true, answers: [], authority: [], additional: []};
  const sections = (query: Query): Partial<Message> => {
    if (query.type !== 'NS') return {answers: answers(query)};
    if (query.name !== 'evil.test') return {};
    const authority = SERVERS.map((target): ResourceRecord => ({type: 'NS', name: query.name, ttl: 60, target}));
    const additional = SERVERS.flatMap((name, n) =>
      [1, 2].map((k): ResourceRecord => ({type: 'A', name, ttl: 60, address: `127.1.${n}.${k}`})),
    );
    return {authoritative: false, authority, additional};
  };
  return {
    async query(query) {
      const message = {...base, ...empty, question: {name: query.name, type: 1}, ...sections(query)};
      return {ok: true, message: metered(message, meter)};
    },
  };
}

const attacks: [string, (query: Query) => ResourceRecord[]][] = [
  [
    'a chain of names of the maximum length, the last one first',
    ({name, type}) =>
      type === 'TXT' || type === 'CAA'
        ? []
        : range(RECORDS)
            .map((n): ResourceRecord => {
              return {type: 'CNAME', name: n === 0 ? name : longName(n), ttl: 60, target: longName(n + 1)};
            })
            .reverse(),
  ],
  [
    'CNAME records that each point to a different name',
    ({name}) => range(RECORDS).map((n): ResourceRecord => ({type: 'CNAME', name, ttl: 60, target: longName(n)})),
  ],
  [
    'addresses that differ from server to server',
    ({name, endpoint}) => {
      const [, , n = '', k = ''] = endpoint.address.split('.');
      return range(RECORDS).map(
        (last): ResourceRecord => ({type: 'A', name, ttl: last, address: `10.${n}.${k}.${last}`}),
      );
    },
  ],
  [
    'TXT records of characters that must be escaped',
    ({name, type, endpoint}) =>
      type === 'TXT'
        ? range(RECORDS).map(
            (n): ResourceRecord => ({type, name, ttl: 60, text: `${'\0'.repeat(320)}${n}${endpoint.address}`}),
          )
        : [{type: 'A', name, ttl: 60, address: '192.0.2.1'}],
  ],
  [
    'CAA records that no CA can read',
    ({name, type}) =>
      type === 'CAA'
        ? range(RECORDS).map(
            (): ResourceRecord => ({
              type,
              name,
              ttl: 60,
              critical: false,
              tag: 'issue',
              value: `a;a${' '.repeat(300)}!`,
            }),
          )
        : [{type: 'A', name, ttl: 60, address: '192.0.2.1'}],
  ],
];

// attack: hostile-dns
test.each(attacks)('%s: the work is linear in the size of the answer', async (_, answers) => {
  const meter = {records: 0, reads: 0};
  const target = (query: Query): ResourceRecord[] =>
    query.name.endsWith('good.test') ? [{type: 'A', name: query.name, ttl: 60, address: '192.0.2.1'}] : answers(query);
  const transport = serversThatSay(target, meter);
  const roots = [{name: 'root', endpoints: [{address: '127.0.0.1', port: 53}]}];
  const deps = {
    authoritative: createDelegations({transport, roots, port: 53, clock: systemClock}),
    targets: createTargets(systemClock),
    blocked: new TtlCache<true>(systemClock, 1),
    registryCaa: new TtlCache<readonly CaaRecord[]>(systemClock, 1),
    clock: systemClock,
    timeoutMs: 60_000,
  };
  const verdict = await verifyQuestion(question, deps, new AbortController().signal);
  expect(meter.records).toBeGreaterThan(RECORDS);
  expect(meter.reads).toBeLessThan(READS_PER_RECORD * meter.records);
  expect(verdict.verified).toBe(false);
  expect(verdict.message.length).toBeLessThan(4000);
  expect(JSON.stringify(verdict.observed).length).toBeLessThanOrEqual(8192);
});
