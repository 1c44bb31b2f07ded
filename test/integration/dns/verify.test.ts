import {pino} from 'pino';
import {Registry} from 'prom-client';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {type DnsConfig, defaultDnsConfig} from '../../../src/dns/config.ts';
import {createDns} from '../../../src/dns/dns.ts';
import type {ProofQuestion, Verdict} from '../../../src/dns/verdict.ts';
import {systemClock} from '../../../src/runtime/clock.ts';
import {addressOf, ROOT, startWorld, type World, type ZoneSpec} from './world.ts';

const TARGET = 'acct.edge-np.test';
const TOKEN = 'np-proof-1';
const CNAME = `shop CNAME ${TARGET}.`;
const ALIAS = '@ A 192.0.2.10';
const ab = ['a', 'b'] as const;
const abcd = ['a', 'b', 'c', 'd'] as const;

interface Row {
  readonly case: string;
  readonly zone: Omit<ZoneSpec, 'name'> & {readonly name?: string};
  readonly host?: string;
  readonly question?: Partial<ProofQuestion>;
  readonly config?: Partial<DnsConfig>;
  readonly want: Partial<Verdict>;
  readonly says?: readonly (string | RegExp)[];
}

const rows: readonly Row[] = [
  {case: 'right', zone: {at: ab, records: CNAME}, want: {reason: 'Verified', proof: 'cname', agreed: true}},
  {
    case: 'one dead server of four',
    zone: {at: ['a', 'b', 'c', 'silent'], records: CNAME},
    want: {reason: 'Verified', agreed: false},
    says: ['No answer from silent.dns.test (127.77.0.18'],
  },
  {
    case: 'one server of two that refuses',
    zone: {at: ['a', 'stranger'], records: CNAME},
    want: {reason: 'Verified', agreed: false},
  },
  {
    case: 'one server of two that fails',
    zone: {at: ['a', 'failing'], records: CNAME},
    want: {reason: 'Verified', agreed: false},
    says: ['SERVFAIL'],
  },
  {
    case: 'no such name',
    zone: {at: ab, records: 'other A 192.0.2.1'},
    want: {reason: 'RecordMissing', agreed: true},
    says: ['$HOST. CNAME acct.edge-np.test.', 'name "shop"', 'a.dns.test', 'b.dns.test'],
  },
  {
    case: 'no record of use',
    zone: {at: ab, records: 'shop TXT "hello"'},
    want: {reason: 'RecordMissing', agreed: true},
  },
  {
    case: 'missing, and one server dead',
    zone: {at: ['a', 'silent'], records: 'other A 192.0.2.1'},
    want: {reason: 'RecordMissing', agreed: false},
  },
  {
    case: 'another target',
    zone: {at: ab, records: 'shop CNAME other.edge-np.test.'},
    want: {reason: 'RecordMismatch', agreed: true},
    says: ['CNAME other.edge-np.test.', 'Change it to'],
  },
  {
    case: 'the target as a prefix: a value without its final dot',
    zone: {at: ab, records: `shop CNAME ${TARGET}`},
    want: {reason: 'RecordMismatch', agreed: true},
    says: ['end the value with a dot'],
  },
  {
    case: 'the target as a suffix',
    zone: {at: ab, records: `shop CNAME x.${TARGET}.`},
    want: {reason: 'RecordMismatch'},
  },
  {
    case: 'the target with a dot inside of a label',
    zone: {at: ab, records: 'shop CNAME acct\\.edge-np.test.'},
    want: {reason: 'RecordMismatch'},
    says: ['acct\\.edge-np.test'],
  },
  {
    case: 'the target in capitals',
    zone: {at: ab, records: 'SHOP CNAME ACCT.Edge-NP.TEST.'},
    want: {reason: 'Verified'},
  },
  {
    case: 'an address instead of the CNAME',
    zone: {at: ab, records: 'shop A 192.0.2.7'},
    want: {reason: 'ConflictingRecord', agreed: true, addressesOnly: false},
    says: ['$HOST. A 192.0.2.7', 'Delete the A record 192.0.2.7', 'a.dns.test (127.77.0.11'],
  },
  {
    case: 'an IPv6 address instead of the CNAME',
    zone: {at: ab, records: 'shop AAAA 2001:db8::7'},
    want: {reason: 'ConflictingRecord', agreed: true},
    says: ['Delete the AAAA record 2001:db8::7'],
  },
  {
    case: 'servers of which one still has the old address',
    zone: {at: ab, records: CNAME, instead: {b: 'shop A 192.0.2.7'}},
    want: {reason: 'Propagating', agreed: false},
    says: ['a.dns.test', 'b.dns.test', '192.0.2.7'],
  },
  {
    case: 'servers of which one has no record yet',
    zone: {at: abcd, records: CNAME, instead: {d: ''}},
    want: {reason: 'Propagating', agreed: false},
    says: [/d\.dns\.test \(127\.77\.0\.14.* still answers that there is no record/],
  },
  {
    case: 'a chain within the zone',
    zone: {at: ab, records: `shop CNAME www\nwww CNAME ${TARGET}.`},
    want: {reason: 'Verified', proof: 'cname', agreed: true},
  },
  {
    case: 'a chain over zones',
    zone: {at: ab, records: 'shop CNAME shop.right.test.'},
    want: {reason: 'Verified', proof: 'cname'},
  },
  {
    case: 'a chain in a circle',
    zone: {at: ab, records: 'shop CNAME x.there.test.'},
    want: {reason: 'RecordMismatch'},
    says: ['circle'],
  },
  {
    case: 'a chain to nowhere',
    zone: {at: ab, records: 'shop CNAME nowhere'},
    want: {reason: 'RecordMismatch', agreed: true},
    says: ['no address'],
  },
  {case: 'a wildcard', zone: {at: ab, records: `* CNAME ${TARGET}.`}, want: {reason: 'Verified'}},
  {
    case: 'all servers silent',
    zone: {at: ['silent'], records: CNAME},
    want: {reason: 'NameServersUnreachable', agreed: false},
    says: ['silent.dns.test', 'no answer'],
  },
  {
    case: 'all servers closed',
    zone: {at: ['closed'], records: CNAME},
    want: {reason: 'NameServersUnreachable', agreed: false},
    says: ['connection refused'],
  },
  {
    case: 'all servers fail',
    zone: {at: ['failing'], records: CNAME},
    want: {reason: 'NameServersUnreachable', agreed: false},
    says: ['SERVFAIL'],
  },
  {
    case: 'a delegation to servers that refuse',
    zone: {at: ['stranger'], records: CNAME},
    want: {reason: 'DelegationBroken', agreed: false},
    says: ['stranger.dns.test', 'refuses', 'registrar'],
  },
  {
    case: 'a delegation to names without address',
    zone: {at: ['a'], records: CNAME, delegation: 'ZONE NS nobody.dns.test.'},
    want: {reason: 'DelegationBroken'},
    says: ['nobody.dns.test', 'no address'],
  },
  {
    case: 'a name server at an address that is not allowed',
    zone: {at: ['a'], records: CNAME, delegation: 'ZONE NS ns.ZONE\nns.ZONE A 169.254.169.254'},
    want: {reason: 'DelegationBroken'},
    says: ['169.254.169.254', 'not a public address'],
  },
  {
    case: 'delegations that need each other',
    zone: {at: ['a'], records: ''},
    host: 'shop.hen.test',
    want: {reason: 'DelegationBroken'},
    says: ['ns.egg.test', 'no address'],
  },
  {
    case: 'name servers named in another zone',
    zone: {at: ['a'], records: CNAME, delegation: 'ZONE NS ns.right.test.'},
    want: {reason: 'Verified'},
  },
  {
    case: 'a name server that only the child lists, with an old answer',
    zone: {at: ['a', 'd'], records: CNAME, instead: {d: ''}, delegation: 'ZONE NS a.dns.test.'},
    want: {reason: 'Propagating'},
    says: ['d.dns.test'],
  },
  {
    case: 'a subdomain that is a zone of its own',
    zone: {at: ab, records: ''},
    host: 'shop.sub.parent.test',
    want: {reason: 'Verified', proof: 'cname'},
  },
  {
    case: 'a domain that is not registered',
    zone: {at: ['a'], records: CNAME},
    host: 'shop.unregistered.test',
    want: {reason: 'DelegationBroken', agreed: true},
    says: ['register'],
  },
  {
    case: 'an apex, right',
    zone: {at: ab, records: `${ALIAS}\n_nameplate TXT "${TOKEN}"`},
    host: '@',
    want: {reason: 'Verified', proof: 'address-txt', agreed: true, addressesOnly: true, txtValues: [TOKEN]},
  },
  {
    case: 'an apex without TXT',
    zone: {at: ab, records: ALIAS},
    host: '@',
    want: {reason: 'ProofMissing', agreed: true, addressesOnly: true},
    says: ['_nameplate.$HOST. TXT "np-proof-1"', 'name "_nameplate"'],
  },
  {
    case: 'an apex with the TXT of somebody else',
    zone: {at: ab, records: `${ALIAS}\n_nameplate TXT "other"`},
    host: '@',
    want: {reason: 'ProofMissing', agreed: true, txtValues: ['other']},
    says: ['only "other"'],
  },
  {
    case: 'an apex with two TXT records, one of them ours',
    zone: {at: ab, records: `${ALIAS}\n_nameplate TXT "other"\n_nameplate TXT "np-" "proof-1"`},
    host: '@',
    want: {reason: 'Verified', txtValues: [TOKEN, 'other']},
  },
  {
    case: 'an apex with TXT at one server only',
    zone: {at: ab, records: `${ALIAS}\n_nameplate TXT "${TOKEN}"`, instead: {b: ALIAS}},
    host: '@',
    want: {reason: 'Propagating', agreed: false},
  },
  {
    case: 'an apex with TXT by wildcard',
    zone: {at: ab, records: `${ALIAS}\n* TXT "${TOKEN}"`},
    host: '@',
    want: {reason: 'ProofMissing'},
    says: ['wildcard'],
  },
  {
    case: 'an apex with TXT over a CNAME',
    zone: {at: ab, records: `${ALIAS}\n_nameplate CNAME proof\nproof TXT "${TOKEN}"`},
    host: '@',
    want: {reason: 'ProofMissing'},
  },
  {
    case: 'an apex where the address is enough',
    zone: {at: ab, records: ALIAS},
    host: '@',
    question: {apexProof: 'address'},
    want: {reason: 'Verified', proof: 'address', agreed: true},
  },
  {
    case: 'an apex at another address',
    zone: {at: ab, records: `@ A 192.0.2.99\n_nameplate TXT "${TOKEN}"`},
    host: '@',
    want: {reason: 'RecordMismatch', agreed: true},
    says: ['192.0.2.99', 'ALIAS'],
  },
  {
    case: 'a foreign AAAA beside a right A',
    zone: {at: ab, records: `${ALIAS}\n@ AAAA 2001:db8::66\n_nameplate TXT "${TOKEN}"`},
    host: '@',
    want: {reason: 'ConflictingRecord', agreed: true},
    says: ['Delete the AAAA record 2001:db8::66'],
  },
  {
    case: 'an apex without records',
    zone: {at: ab, records: ''},
    host: '@',
    want: {reason: 'RecordMissing', agreed: true},
    says: ['ALIAS', '_nameplate.$HOST. TXT'],
  },
  {
    case: 'a flattened name',
    zone: {at: ab, records: `shop A 192.0.2.10\n_nameplate.shop TXT "${TOKEN}"`},
    want: {reason: 'Verified', proof: 'address-txt', addressesOnly: true},
  },
  {
    case: 'a CNAME to an apex that is flattened',
    zone: {at: ab, records: `shop CNAME @\n${ALIAS}\n_nameplate.shop TXT "${TOKEN}"`},
    // A name with a CNAME has names below it like any other.
    want: {reason: 'Verified', proof: 'address-txt'},
  },
  {
    case: 'no CAA record',
    zone: {at: ab, records: CNAME},
    question: {caaIdentities: ['ca.example']},
    want: {caa: expect.objectContaining({outcome: 'allowed'})},
  },
  {
    case: 'a CAA record at the parent that forbids',
    zone: {at: ab, records: `${CNAME}\n@ CAA 0 issue "other.example"`},
    question: {caaIdentities: ['ca.example']},
    want: {
      reason: 'Verified',
      caa: {
        outcome: 'forbidden',
        record: expect.stringContaining('CAA 0 issue "other.example"'),
        message: expect.stringMatching(
          /z\d+\.test\. CAA 0 issue "other\.example" .* Add z\d+\.test\. CAA 0 issue "ca\.example"/,
        ),
      },
    },
  },
  {
    case: 'a CAA record that allows',
    zone: {at: ab, records: `${CNAME}\n@ CAA 0 issue "other.example"\n@ CAA 0 issue "ca.example"`},
    question: {caaIdentities: ['ca.example']},
    want: {caa: expect.objectContaining({outcome: 'allowed'})},
  },
  {
    case: 'a CAA record at the name that a CNAME leads to',
    zone: {at: ab, records: 'shop CNAME other.forbidding.test.'},
    question: {caaIdentities: ['ca.example']},
    want: {reason: 'RecordMismatch', caa: expect.objectContaining({outcome: 'forbidden'})},
  },
  {
    case: 'CAA records that nobody answers for',
    zone: {at: ['silent'], records: CNAME},
    question: {caaIdentities: ['ca.example']},
    want: {caa: expect.objectContaining({outcome: 'lookup-failed'})},
  },
  {
    case: 'a right record, as a resolver has it',
    zone: {at: ab, records: CNAME},
    config: {mode: 'recursive'},
    want: {reason: 'Verified', proof: 'cname'},
  },
  {
    case: 'an old record, as a resolver has it',
    zone: {at: ab, records: CNAME, instead: {recursive: 'shop A 192.0.2.7'}},
    config: {mode: 'recursive'},
    want: {reason: 'ConflictingRecord', agreed: true},
  },
  {
    case: 'no record, as a resolver has it',
    zone: {at: ab, records: ''},
    config: {mode: 'recursive'},
    want: {reason: 'RecordMissing', agreed: true},
  },
  {
    case: 'more TXT records than a datagram holds',
    zone: {
      at: ab,
      records: [
        ALIAS,
        ...Array.from({length: 40}, (_, n) => `_nameplate TXT "${n}${'x'.repeat(90)}"`),
        `_nameplate TXT "${TOKEN}"`,
      ].join('\n'),
    },
    host: '@',
    want: {reason: 'Verified', proof: 'address-txt'},
  },
  {
    case: 'a right record that a resolver does not have yet',
    zone: {at: ab, records: CNAME, instead: {recursive: 'shop A 192.0.2.7'}},
    config: {mode: 'auto'},
    want: {reason: 'Propagating', agreed: false},
    says: ['resolver', 'old answer 192.0.2.7'],
  },
  {
    case: 'a right record that a resolver has too',
    zone: {at: ab, records: CNAME},
    config: {mode: 'auto'},
    want: {reason: 'Verified', agreed: true},
  },
  {
    case: 'a right record, with the way to all authoritative servers closed',
    zone: {at: ab, records: CNAME},
    config: {mode: 'auto', rootServers: [addressOf('closed')]},
    want: {reason: 'Verified'},
  },
  {
    case: 'a right record, where one server holds everything from the root down',
    zone: {at: ab, records: CNAME},
    config: {rootServers: [addressOf('alone')]},
    question: {caaIdentities: ['ca.example']},
    want: {reason: 'Verified', agreed: true, caa: expect.objectContaining({outcome: 'allowed'})},
  },
  {
    case: 'a zone whose own servers are dead, while a resolver still remembers',
    zone: {at: ['closed'], records: CNAME},
    config: {mode: 'auto'},
    want: {reason: 'NameServersUnreachable'},
  },
  {
    case: 'anything, with all ways closed',
    zone: {at: ab, records: CNAME},
    config: {mode: 'authoritative', rootServers: [addressOf('closed')]},
    want: {reason: 'NameServersUnreachable'},
    says: ['egress to port 53'],
  },
];

let world: World;
const zoneOf = (index: number) => `z${index}.test`;

beforeAll(async () => {
  const zones = rows.map(({zone}, index): ZoneSpec => {
    const {delegation, ...rest} = zone;
    const name = zoneOf(index);
    return {name, ...rest, ...(delegation && {delegation: delegation.replaceAll('ZONE', `${name}.`)})};
  });
  const edge: ZoneSpec = {name: 'edge-np.test', at: ab, records: 'acct A 192.0.2.10\nacct AAAA 2001:db8::10'};
  const right: ZoneSpec = {name: 'right.test', at: ab, records: `${CNAME}\nns A ${addressOf('a')}`};
  const there: ZoneSpec = {name: 'there.test', at: ['c'], records: 'x CNAME x.back.test.'};
  const forbidding: ZoneSpec = {name: 'forbidding.test', at: ab, records: 'other CAA 0 issue ";"\nother A 192.0.2.3'};
  const back: ZoneSpec = {name: 'back.test', at: ['d'], records: 'x CNAME x.there.test.'};
  const more: ZoneSpec[] = [
    {name: 'hen.test', at: ['a'], records: '', delegation: 'hen NS ns.egg.test.'},
    {name: 'egg.test', at: ['a'], records: '', delegation: 'egg NS ns.hen.test.'},
    {name: 'parent.test', at: ab, records: 'sub NS c.dns.test.'},
    {name: 'sub.parent.test', at: ['c'], records: CNAME, delegation: ''},
  ];
  world = await startWorld([...more, ...zones, edge, right, there, back, forbidding]);
});
afterAll(() => world?.stop());

function dnsOf(config: Partial<DnsConfig> = {}) {
  return createDns(
    {
      ...defaultDnsConfig,
      mode: 'authoritative',
      rootServers: [ROOT],
      allowAddresses: ['127.0.0.0/8'],
      queryTimeoutMs: 500,
      ...(config.mode && config.mode !== 'authoritative' && {recursives: [`${addressOf('recursive')}:${world.port}`]}),
      ...config,
    },
    {logger: pino({level: 'silent'}), registry: new Registry(), clock: systemClock, port: world.port},
  );
}

function questionAbout(host: string, more: Partial<ProofQuestion> = {}): ProofQuestion {
  const txtName = `_nameplate.${host}`;
  return {host, target: TARGET, txtName, txtValue: TOKEN, apexProof: 'txt', caaIdentities: [], ...more};
}

describe('the verdict about', () => {
  test.concurrent.each(rows.map((row, index) => ({...row, index})))('$case', async row => {
    const zone = zoneOf(row.index);
    const host = row.host === '@' ? zone : (row.host ?? `shop.${zone}`);
    const verdict = await dnsOf(row.config).verify(questionAbout(host, row.question), new AbortController().signal);
    expect(verdict, verdict.message).toMatchObject(row.want);
    expect(verdict.verified).toBe(verdict.reason === 'Verified');
    for (const text of row.says ?? []) {
      if (typeof text === 'string') expect(verdict.message).toContain(text.replace('$HOST', host));
      else expect(verdict.message).toMatch(text);
    }
  });
});
