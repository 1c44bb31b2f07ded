/** A platform that has addresses of one family only, while name servers have those of both, or only of the other. */
import {expect, test} from 'vitest';
import {EVIL_QUESTION as question} from '../../../test/support/proof-question.ts';
import {systemClock} from '../../time/clock.ts';
import {TtlCache} from '../../time/ttl-cache.ts';
import {createDelegations} from '../resolve/delegation.ts';
import {createRecursiveDirectory} from '../resolve/directory.ts';
import {rootServers} from '../resolve/root-hints.ts';
import {createTargets} from '../resolve/targets.ts';
import type {Family} from '../wire/addresses.ts';
import {mayQueryAddress, rangesOf} from '../wire/addresses.ts';
import type {Message, ResourceRecord} from '../wire/codec.ts';
import type {DnsTransport, Query, Reply} from '../wire/transport.ts';
import {verifyQuestion} from './verify.ts';

const never = new AbortController().signal;
const BOTH = {A: (n: number) => `8.1.${n}.1`, AAAA: (n: number) => `2600:${n}::1`};
type Types = readonly ('A' | 'AAAA')[];

const cname = (name: string): ResourceRecord => ({type: 'CNAME', name, ttl: 60, target: question.target});
const NONE = rangesOf([]);
const familyOf = (address: string): Family => (address.includes(':') ? 6 : 4);

function reply({name}: Query, more: Partial<Message>): Reply {
  const none = {answers: [], authority: [], additional: []};
  const head = {id: 0, question: {name, type: 1}, authoritative: true, truncated: false, rcode: 0, edns: true};
  return {ok: true, message: {...head, ...none, ...more}};
}

/** All servers have the CNAME. `typesOf`: the types of addresses that a server of the zone has. */
function internet(own: Family, servers: number, typesOf: (n: number) => Types, hidden?: string) {
  const names = Array.from({length: servers}, (_, n) => `ns${n}.evil.test`);
  const glue = names.flatMap((name, n) =>
    typesOf(n).map((type): ResourceRecord => ({type, name, ttl: 60, address: hidden ?? BOTH[type](n)})),
  );
  const sent: string[] = [];
  const transport: DnsTransport = {
    async query(query) {
      const {name, type, endpoint} = query;
      if (!mayQueryAddress(endpoint.address, NONE)) return {ok: false, failure: 'forbidden', detail: 'is not public'};
      sent.push(endpoint.address);
      if (familyOf(endpoint.address) !== own) return {ok: false, failure: 'unreachable', detail: 'no route'};
      if (type !== 'NS') return reply(query, {answers: [cname(name)]});
      if (name !== 'evil.test') return reply(query, {});
      const authority = names.map((target): ResourceRecord => ({type, name, ttl: 60, target}));
      return reply(query, {authoritative: false, authority, additional: glue});
    },
  };
  return {transport, sent};
}

function platformOf(own: Family, transport: DnsTransport) {
  const families = new Set([own]);
  const roots = rootServers(undefined, 53, families);
  return {
    authoritative: createDelegations({transport, roots, port: 53, families, clock: systemClock}),
    targets: createTargets(systemClock),
    blocked: new TtlCache<true>(systemClock, 1),
    registryCaa: new TtlCache<never[]>(systemClock, 1),
    clock: systemClock,
    timeoutMs: 10_000,
  };
}

const resolver: DnsTransport = {query: async query => reply(query, {answers: [cname(query.name)]})};
const fallback = createRecursiveDirectory([{address: '::1', port: 53}], resolver);

test.each([4, 6] as const)(
  'with IPv%i only, all of eight servers with both are queried, and no other address',
  async own => {
    const {transport, sent} = internet(own, 8, () => ['A', 'AAAA']);
    const verdict = await verifyQuestion(question, platformOf(own, transport), never);
    expect(verdict).toMatchObject({reason: 'Verified', agreed: true});
    expect(sent.filter(address => familyOf(address) !== own)).toEqual([]);
  },
);

test('a server that has only IPv4 addresses is named, and nothing is agreed without it', async () => {
  const {transport} = internet(6, 2, n => (n === 0 ? ['AAAA'] : ['A']));
  const verdict = await verifyQuestion(question, platformOf(6, transport), never);
  const doubt = expect.stringContaining('ns1.evil.test: has no address that the platform can reach');
  expect(verdict).toMatchObject({reason: 'Verified', agreed: false, doubt});
});

test('if all servers have only IPv4 addresses, the resolvers verify the host, but never move it', async () => {
  const {transport} = internet(6, 3, () => ['A']);
  const verdict = await verifyQuestion(question, {...platformOf(6, transport), fallback}, never);
  expect(verdict).toMatchObject({reason: 'Verified', agreed: false, doubt: expect.stringContaining('over IPv4')});
});

test('without resolvers, the platform team reads what to do', async () => {
  const {transport} = internet(6, 3, () => ['A']);
  const verdict = await verifyQuestion(question, platformOf(6, transport), never);
  expect(verdict).toMatchObject({reason: 'NameServersUnreachable', verified: false});
  expect(verdict.message).toContain('Platform team: set config.dns.mode to auto or recursive');
});

test.each([
  [4, '64:ff9b::7f00:1'],
  [4, '::ffff:127.0.0.1'],
  [4, 'fd00::1'],
  [6, '127.0.0.1'],
  [6, '10.0.0.1'],
] as const)(
  'with IPv%i only, a name server at %s is refused as not public, and no resolver is asked',
  async (own, hidden) => {
    const {transport, sent} = internet(own, 1, () => [hidden.includes(':') ? 'AAAA' : 'A'], hidden);
    const verdict = await verifyQuestion(question, {...platformOf(own, transport), fallback}, never);
    expect(verdict).toMatchObject({reason: 'DelegationBroken', verified: false});
    expect(sent).not.toContain(hidden);
  },
);
