/** The fault zones of the tests as questions, each with its correct answers. */
import type {CaaVerdict, DnsReason, ProofQuestion} from '../../src/dns/verdict/verdict.ts';
import type {ZoneSpec} from '../../test/integration/dns/internet/plan.ts';
import {apexRows} from '../../test/integration/dns/zones/apex.rows.ts';
import {caaRows} from '../../test/integration/dns/zones/caa.rows.ts';
import {challengeRows} from '../../test/integration/dns/zones/challenge.rows.ts';
import {recordRows} from '../../test/integration/dns/zones/records.rows.ts';
import {resolverRows} from '../../test/integration/dns/zones/resolver.rows.ts';
import {serverRows} from '../../test/integration/dns/zones/servers.rows.ts';
import {wildcardRows} from '../../test/integration/dns/zones/wildcard.rows.ts';
import {wireRows} from '../../test/integration/dns/zones/wire.rows.ts';
import {CONFIRMED, questionOfRow, SHARED, type ZoneRow, zoneOfRow} from '../../test/integration/dns/zones/zone-row.ts';

/** Whether the host is proved. `unknown`: nobody can tell now. */
export type Answer = 'yes' | 'no' | 'unknown';

/** What each reason means for the proof. */
export const ANSWER: Record<DnsReason, Answer> = {
  Verified: 'yes',
  RecordMissing: 'no',
  RecordMismatch: 'no',
  ConflictingRecord: 'no',
  ProofMissing: 'no',
  DelegationBroken: 'no',
  Propagating: 'unknown',
  Checking: 'unknown',
  NameServersUnreachable: 'unknown',
  Bogus: 'unknown',
};

export const CAA_ANSWER: Record<CaaVerdict['outcome'], Answer> = {
  allowed: 'yes',
  forbidden: 'no',
  'lookup-failed': 'unknown',
  unchecked: 'unknown',
};

/** For servers that disagree and delegations to servers that refuse, both `no` and `unknown` are right. */
const EITHER: readonly DnsReason[] = ['Propagating', 'DelegationBroken'];

/**
 * The RFCs forbid these (RFC 2181 section 10.3, an answer without authority), but resolvers accept them: any answer is
 * right.
 */
const FORGIVEN = [
  'a delegation to an alias of a name server',
  'a server without authority that has the correct answer',
];

/**
 * `cname`: the record is queried. `addresses`: the name has only addresses, and a TXT record proves it. `challenge`: so
 * does the delegated challenge, which alone proves a `wildcard`. `caa`: whether the CA may issue.
 */
export type Kind = 'cname' | 'addresses' | 'challenge' | 'wildcard' | 'caa';

export interface Case {
  readonly name: string;
  readonly kind: Kind;
  readonly question: ProofQuestion;
  readonly right: readonly Answer[];
}

const groups: Record<Kind, readonly ZoneRow[]> = {
  cname: [...recordRows, ...serverRows, ...wireRows, ...resolverRows],
  addresses: apexRows,
  challenge: challengeRows,
  wildcard: wildcardRows,
  caa: caaRows,
};
const rows = Object.entries(groups).flatMap(([kind, group]) => group.map(row => ({kind: kind as Kind, row})));

export const zones: readonly ZoneSpec[] = [...SHARED, ...rows.map(({row}, index) => zoneOfRow(row, index))];

/** Rows whose answer depends only on the zone, not on our verifier's configuration or a resolver's cache. */
function isComparable(kind: Kind, {config, question, zone}: ZoneRow): boolean {
  const isShipped = config === undefined || config === CONFIRMED;
  const isAsked = question === undefined || kind === 'challenge' || kind === 'wildcard' || kind === 'caa';
  return isShipped && isAsked && zone.resolverSays === undefined;
}

export const cases: readonly Case[] = rows.flatMap(({kind, row}, index): Case[] => {
  if (!isComparable(kind, row)) return [];
  const question = questionOfRow(row, zoneOfRow(row, index).name);
  return [
    {name: row.case, kind, question, right: question.caaIdentities.length > 0 ? rightCaa(row) : rightAnswers(row)},
  ];
});

function rightCaa({want: {caa}}: ZoneRow): readonly Answer[] {
  return [CAA_ANSWER[caa?.outcome ?? 'unchecked']];
}

function rightAnswers({case: name, want: {reason}}: ZoneRow): readonly Answer[] {
  if (FORGIVEN.includes(name)) return ['yes', 'no', 'unknown'];
  return reason === undefined || EITHER.includes(reason) ? ['no', 'unknown'] : [ANSWER[reason]];
}
