import {describe, expect, test} from 'vitest';
import type {ChainEnd} from '../resolve/cname-chain.ts';
import type {ServerAnswer, ServerNoAnswer, ServerRecords} from '../resolve/query-all.ts';
import type {NoAnswer} from '../resolve/reply.ts';
import type {ResourceRecord} from '../wire/codec.ts';
import type {Evidence, HostEvidence} from './evidence.ts';
import {judge} from './judge.ts';
import type {ProofQuestion, Verdict} from './verdict.ts';

const HOST = 'shop.example.com';
const TARGET = 'acct.edge.example.net';

const cname = (target: string): ResourceRecord => ({type: 'CNAME', name: HOST, ttl: 300, target});
const a = (address: string): ResourceRecord => ({type: 'A', name: HOST, ttl: 300, address});
const aaaa = (address: string): ResourceRecord => ({type: 'AAAA', name: HOST, ttl: 300, address});
const txt = (text: string): ResourceRecord => ({type: 'TXT', name: `_nameplate.${HOST}`, ttl: 300, text});

function says(server: string, ...records: ResourceRecord[]): ServerAnswer {
  const [serverName = server] = server.split(' ');
  return {ok: true, server, serverName, records, path: []};
}

function silent(server: string, noAnswer: NoAnswer = 'timeout'): ServerAnswer {
  const [serverName = server] = server.split(' ');
  return {ok: false, server, serverName, noAnswer, detail: noAnswer};
}

/** BIND's answer for a CNAME that points back to itself. */
function fails(server: string, record: ResourceRecord): ServerAnswer {
  const failing = {ok: false, server, serverName: server, noAnswer: 'servfail', detail: 'servfail'} as const;
  return {ok: true, server, serverName: server, records: [record], path: [], failing};
}

const RIGHT = cname(TARGET);
const DEAD: ServerNoAnswer = {ok: false, server: 'ns9', serverName: 'ns9', noAnswer: 'timeout', detail: 'timeout'};
const UNASKED: ServerNoAnswer = {...DEAD, noAnswer: 'budget'};
const targetAddresses = {known: true, addresses: new Set(['192.0.2.10', '192.0.2.11', '2001:db8::10'])} as const;

function endsAtTarget(name: string): Map<string, ChainEnd> {
  return new Map([[name, {kind: 'addresses', at: name, addresses: ['192.0.2.10'], answers: [], missed: []}]]);
}

const CHALLENGE = {name: `_acme-challenge.${HOST}`, target: 'own.acme.example.net'};
const delegation = (target = CHALLENGE.target): ResourceRecord => ({
  type: 'CNAME',
  name: CHALLENGE.name,
  ttl: 300,
  target,
});
/** An apex with the right addresses and without the TXT record, at two name servers. */
function delegated(challenge: HostEvidence['challenge']): Pick<Row, 'answers' | 'more' | 'question'> {
  const answers = ['ns1', 'ns2'].map(server => says(server, a('192.0.2.10')));
  const txtEvidence = {answers: [says('ns1'), says('ns2')], wildcard: false};
  const more = {apex: true, targetAddresses, txt: txtEvidence, ...(challenge && {challenge})};
  return {answers, more, question: {challenge: CHALLENGE}};
}

interface Row {
  readonly case: string;
  readonly answers: readonly ServerAnswer[];
  readonly more?: Partial<HostEvidence>;
  readonly question?: Partial<ProofQuestion>;
  readonly want: Partial<Verdict>;
  readonly says?: readonly string[];
}

const rows: readonly Row[] = [
  {
    case: 'a server with one dead address and one that answers',
    answers: [says('ns1 (1)', RIGHT), silent('ns1 (2)'), says('ns2 (3)', RIGHT)],
    want: {reason: 'Verified', agreed: true},
  },
  {
    case: 'two addresses of one server that disagree',
    answers: [says('ns1 (1)', RIGHT), says('ns1 (2)')],
    want: {reason: 'Propagating', agreed: false},
  },
  {
    case: 'three dead servers of four',
    answers: [says('ns1', RIGHT), silent('ns2'), silent('ns3', 'servfail'), silent('ns4', 'lame')],
    want: {reason: 'Verified', agreed: false},
  },
  {
    case: 'an address next to the correct CNAME at one server',
    answers: [says('ns1', RIGHT), says('ns2', RIGHT, a('192.0.2.7'))],
    want: {reason: 'ConflictingRecord', agreed: false},
    says: ['ns2', 'Delete the A record 192.0.2.7 of shop.example.com', 'keep the CNAME'],
  },
  {
    case: 'an address next to a wrong CNAME',
    answers: [says('ns1', cname('other.test'), a('192.0.2.7'))],
    want: {reason: 'ConflictingRecord', agreed: true},
    says: ['change the CNAME record to shop.example.com. CNAME acct.edge.example.net.'],
  },
  {
    case: "even the target's own address next to the CNAME",
    answers: [says('ns1', RIGHT, a('192.0.2.10'))],
    want: {reason: 'ConflictingRecord', agreed: true},
  },
  {
    case: 'two CNAME records',
    answers: [says('ns1', RIGHT, cname('other.test'))],
    want: {reason: 'ConflictingRecord'},
    says: ['A name may have only one. Keep or create'],
  },
  {
    case: 'some of the addresses of a target that rotates',
    answers: [says('ns1', a('192.0.2.10')), says('ns2', a('192.0.2.11'))],
    more: {targetAddresses, txt: {answers: [says('ns1', txt('token')), says('ns2', txt('token'))], wildcard: false}},
    want: {reason: 'Verified', proof: 'address-txt', agreed: true},
  },
  {
    case: 'a foreign AAAA next to a correct A, at one of two servers',
    answers: [says('ns1', a('192.0.2.10')), says('ns2', a('192.0.2.10'), aaaa('2001:db8::66'))],
    more: {targetAddresses, txt: {answers: [says('ns1', txt('token'))], wildcard: false}},
    want: {reason: 'ConflictingRecord', agreed: false, addressesOnly: true},
    says: ['Delete the AAAA record 2001:db8::66'],
  },
  {
    case: 'addresses, when the target cannot be looked up',
    answers: [says('ns1', a('192.0.2.10'))],
    more: {targetAddresses: {known: false, detail: 'the addresses of the target could not be looked up'}},
    want: {reason: 'NameServersUnreachable', agreed: false},
  },
  {
    case: 'right addresses, when nobody answers about the TXT record',
    answers: [says('ns1', a('192.0.2.10'))],
    more: {targetAddresses, txt: {answers: [silent('ns1')], wildcard: false}},
    want: {reason: 'NameServersUnreachable', agreed: false},
  },
  {
    case: 'a missing TXT record, while one server is silent about it',
    answers: [says('ns1', a('192.0.2.10')), says('ns2', a('192.0.2.10'))],
    more: {targetAddresses, txt: {answers: [says('ns1'), silent('ns2')], wildcard: false}},
    want: {reason: 'ProofMissing', agreed: false},
  },
  {
    case: 'a token as a prefix of a wrong one',
    answers: [says('ns1', a('192.0.2.10'))],
    more: {targetAddresses, txt: {answers: [says('ns1', txt('token2'), txt('xtoken'), txt('Token'))], wildcard: false}},
    want: {reason: 'ProofMissing', agreed: true},
  },
  {
    case: 'a delegated challenge in place of the TXT record',
    ...delegated({answers: [says('ns1', delegation()), says('ns2', delegation())], wildcard: false}),
    want: {reason: 'Verified', proof: 'challenge', agreed: true},
    says: ['_acme-challenge.shop.example.com is delegated to own.acme.example.net'],
  },
  {
    case: 'a delegated challenge that one server does not have yet',
    ...delegated({answers: [says('ns1', delegation()), says('ns2')], wildcard: false}),
    want: {reason: 'Propagating', agreed: false},
    says: ['at ns1, but not yet at ns2'],
  },
  {
    case: 'a delegated challenge about which one server is silent',
    ...delegated({answers: [says('ns1', delegation()), silent('ns2')], wildcard: false}),
    want: {reason: 'Verified', proof: 'challenge', agreed: false},
  },
  {
    case: 'a challenge that is delegated to another account',
    ...delegated({
      answers: ['ns1', 'ns2'].map(server => says(server, delegation('x.acme.example.net'))),
      wildcard: false,
    }),
    want: {reason: 'ProofMissing', agreed: true},
    says: ['TXT "token"', 'create _acme-challenge.shop.example.com. CNAME own.acme.example.net.'],
  },
  {
    case: 'a missing TXT record, while one server is silent about the delegated challenge',
    ...delegated({answers: [says('ns1'), silent('ns2')], wildcard: false}),
    want: {reason: 'ProofMissing', agreed: false},
  },
  {
    case: 'a missing TXT record, while nobody answers for the zone of the challenge',
    ...delegated({answers: [], wildcard: 'unknown'}),
    want: {reason: 'ProofMissing', agreed: false},
  },
  {
    case: 'a delegated challenge that a wildcard synthesizes',
    ...delegated({answers: ['ns1', 'ns2'].map(server => says(server, delegation())), wildcard: true}),
    want: {reason: 'ProofMissing', agreed: true},
    says: ['comes from a wildcard record'],
  },
  {
    case: 'a delegated challenge that may come from a wildcard',
    ...delegated({answers: ['ns1', 'ns2'].map(server => says(server, delegation())), wildcard: 'unknown'}),
    want: {reason: 'NameServersUnreachable', agreed: false},
  },
  {
    case: 'a delegated challenge that the check did not get to',
    ...delegated({answers: [], wildcard: 'unasked'}),
    want: {reason: 'Checking', agreed: false},
  },
  {
    case: 'a TXT record although the challenge is delegated to another account',
    answers: [says('ns1', a('192.0.2.10'))],
    more: {targetAddresses, txt: {answers: [says('ns1', txt('token'))], wildcard: false}},
    question: {challenge: CHALLENGE},
    want: {reason: 'Verified', proof: 'address-txt'},
  },
  {
    case: "a name that leads to the target of another account, which has the target's addresses",
    answers: [says('ns1', cname('www.example.com'))],
    more: {
      targetAddresses,
      chains: new Map([['www.example.com', {kind: 'other-target', at: 'other.edge.example.net', missed: []}]]),
      txt: {answers: [says('ns1', txt('token'))], wildcard: false},
    },
    want: {reason: 'RecordMismatch', agreed: true},
    says: [
      'CNAME www.example.com., which leads to other.edge.example.net, and that is not the target of this account.',
      'Change it to shop.example.com. CNAME acct.edge.example.net.',
    ],
  },
  {
    case: "a name of a provider that flattens, with the target's addresses",
    answers: [says('ns1', cname('shop.provider.test'))],
    more: {targetAddresses, chains: endsAtTarget('shop.provider.test'), txt: {answers: [says('ns1')], wildcard: false}},
    want: {reason: 'ProofMissing', agreed: true},
  },
  {
    case: 'a chain whose servers disagree',
    answers: [says('ns1', cname('a.test'))],
    more: {chains: new Map<string, ChainEnd>([['a.test', {kind: 'unsettled', at: 'b.test'}]])},
    want: {reason: 'Propagating', agreed: false},
    says: ['b.test'],
  },
  {
    case: 'a chain whose servers are silent',
    answers: [says('ns1', cname('a.test'))],
    more: {chains: new Map<string, ChainEnd>([['a.test', {kind: 'unknown', at: 'b.test', silent: [DEAD]}]])},
    want: {reason: 'NameServersUnreachable', agreed: false},
    says: ['it points to b.test, whose name servers do not answer (ns9: timeout)'],
  },
  {
    case: 'a chain that the check did not get to',
    answers: [says('ns1', cname('a.test'))],
    more: {chains: new Map<string, ChainEnd>([['a.test', {kind: 'unknown', at: 'b.test', silent: [UNASKED]}]])},
    want: {reason: 'Checking', verified: false, agreed: false},
    says: ['No action needed'],
  },
  {
    case: 'a chain to the target, while a server on the way is silent',
    answers: [says('ns1', cname('a.test'))],
    more: {chains: new Map<string, ChainEnd>([['a.test', {kind: 'target', missed: [DEAD]}]])},
    want: {reason: 'Verified', agreed: false, doubt: expect.stringContaining('ns9: timeout')},
  },
  {
    case: 'the proof at the one server of eight that was queried',
    answers: [says('ns1', RIGHT), ...Array.from({length: 7}, (_, n) => silent(`ns${n + 2}`, 'budget'))],
    want: {reason: 'Checking', verified: false, agreed: false},
    says: ['so far is right', 'Not queried yet: ns2, ns3, ns4, ns5 and 3 more'],
  },
  {
    case: 'an address next to the CNAME at the one server that was queried',
    answers: [says('ns1', RIGHT, a('192.0.2.7')), silent('ns2', 'budget')],
    want: {reason: 'ConflictingRecord', agreed: false},
  },
  {
    case: 'nothing at the one server that was queried',
    answers: [says('ns1'), silent('ns2', 'budget')],
    want: {reason: 'RecordMissing', agreed: false},
  },
  {
    case: 'an old record at one of the two servers that were queried',
    answers: [says('ns1', RIGHT), says('ns2', a('192.0.2.7')), silent('ns3', 'budget')],
    more: {targetAddresses},
    want: {reason: 'Propagating', agreed: false},
  },
  {
    case: 'no server that was queried',
    answers: [silent('ns1', 'budget'), silent('ns2', 'budget')],
    want: {reason: 'Checking', agreed: false},
    says: ['Not queried yet: ns1, ns2'],
  },
  {
    case: 'the TXT record at the servers that were queried',
    answers: [says('ns1', a('192.0.2.10')), says('ns2', a('192.0.2.10'))],
    more: {targetAddresses, txt: {answers: [says('ns1', txt('token')), silent('ns2', 'budget')], wildcard: false}},
    want: {reason: 'Checking', verified: false},
  },
  {
    case: 'the TXT record, of which it is not known yet whether a wildcard gives it',
    answers: [says('ns1', a('192.0.2.10'))],
    more: {targetAddresses, txt: {answers: [says('ns1', txt('token'))], wildcard: 'unasked'}},
    want: {reason: 'Checking', verified: false},
  },
  {
    case: 'a zone with more name servers than are ever queried',
    answers: [says('ns1', RIGHT), silent('3 more', 'limit')],
    want: {reason: 'Verified', agreed: false, doubt: expect.stringContaining('3 more')},
  },
  {
    case: 'the proof everywhere but at a dead server, which is named',
    answers: [says('ns1', RIGHT), silent('ns2 (20.9.0.1)')],
    want: {
      reason: 'Verified',
      agreed: false,
      doubt: expect.stringMatching(/ns2 \(20\.9\.0\.1\): timeout.*remove it from the name servers of example\.com/),
    },
  },
  {
    case: 'an address at a server that fails at the other family',
    answers: [
      {...(says('ns1', a('192.0.2.10')) as ServerRecords), lacking: {...DEAD, detail: 'fails for AAAA records'}},
    ],
    more: {targetAddresses, txt: {answers: [says('ns1', txt('token'))], wildcard: false}},
    want: {reason: 'Verified', agreed: false},
    says: ['fails for AAAA records'],
  },
  {
    case: 'a chain to nowhere, by the word of all on the way',
    answers: [says('ns1', cname('a.test'))],
    more: {chains: new Map<string, ChainEnd>([['a.test', {kind: 'nothing', at: 'a.test', missed: []}]])},
    want: {reason: 'RecordMismatch', agreed: true},
  },
  {
    case: 'a chain to nowhere, while servers on the way are silent',
    answers: [says('ns1', cname('a.test'))],
    more: {chains: new Map<string, ChainEnd>([['a.test', {kind: 'nothing', at: 'a.test', missed: [DEAD]}]])},
    want: {reason: 'RecordMismatch', agreed: false},
  },
  {
    case: 'the correct CNAME at a server that fails address queries',
    answers: [fails('ns1', RIGHT), says('ns2', RIGHT)],
    want: {reason: 'Verified', agreed: false},
    says: ['No answer from ns1: servfail'],
  },
  {
    case: 'a CNAME loop, for which servers fail',
    answers: [fails('ns1', cname(HOST)), fails('ns2', cname(HOST))],
    more: {chains: new Map<string, ChainEnd>([[HOST, {kind: 'loop', missed: []}]])},
    want: {reason: 'RecordMismatch', agreed: true},
    says: ['CNAME loop'],
  },
  {
    case: 'several wrong answers: the one that conflicts',
    answers: [says('ns1'), says('ns2', a('192.0.2.7'))],
    more: {targetAddresses},
    want: {reason: 'ConflictingRecord', agreed: true},
    says: ['ns2'],
  },
  {
    case: 'DNSSEC that does not validate',
    answers: [silent('198.51.100.53', 'bogus')],
    more: {zone: '.', recursive: true},
    want: {reason: 'Bogus', agreed: false},
    says: ['DS record'],
  },
  {
    case: 'resolvers that refuse',
    answers: [silent('198.51.100.53', 'refused')],
    more: {zone: '.', recursive: true},
    want: {reason: 'NameServersUnreachable', agreed: false},
  },
  {
    case: 'a mix of refusals and silence',
    answers: [silent('ns1', 'refused'), silent('ns2', 'timeout')],
    want: {reason: 'NameServersUnreachable', agreed: false},
  },
  {
    case: 'an apex that a provider serves with a CNAME all the same',
    answers: [says('ns1', RIGHT)],
    more: {apex: true},
    want: {reason: 'Verified', proof: 'cname', addressesOnly: true},
  },
];

describe('the judge of', () => {
  test.each(rows)('$case', row => {
    const evidence: Evidence = {
      kind: 'host',
      zone: 'example.com',
      recursive: false,
      apex: false,
      chains: new Map(),
      ...row.more,
      answers: row.answers,
    };
    const question: ProofQuestion = {
      host: HOST,
      target: TARGET,
      txtName: `_nameplate.${HOST}`,
      txtValue: 'token',
      apexProof: 'txt',
      caaIdentities: [],
      ...row.question,
    };
    const judgment = judge(question, evidence);
    expect(judgment, judgment.message).toMatchObject(row.want);
    expect(judgment.verified).toBe(row.want.reason === 'Verified');
    for (const text of row.says ?? []) expect(judgment.message).toContain(text);
    expect(judgment.message).toMatch(/^[\x20-\x7e]{1,1500}$/);
  });
});
