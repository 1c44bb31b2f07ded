/** The fault zones of the tests as questions, each with its correct answers. */
import type {DnsReason, ProofQuestion} from '../../src/dns/verdict/verdict.ts';
import type {ZoneSpec} from '../../test/integration/dns/internet/plan.ts';
import {apexRows} from '../../test/integration/dns/zones/apex.rows.ts';
import {recordRows} from '../../test/integration/dns/zones/records.rows.ts';
import {resolverRows} from '../../test/integration/dns/zones/resolver.rows.ts';
import {serverRows} from '../../test/integration/dns/zones/servers.rows.ts';
import {wireRows} from '../../test/integration/dns/zones/wire.rows.ts';
import {
  CONFIRMED,
  hostOfRow,
  questionAbout,
  SHARED,
  type ZoneRow,
  zoneOfRow,
} from '../../test/integration/dns/zones/zone-row.ts';

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

export interface Case {
  readonly name: string;
  /** `cname`: the record is queried. `addresses`: the name has only addresses, and a TXT record proves it. */
  readonly kind: 'cname' | 'addresses';
  readonly question: ProofQuestion;
  readonly right: readonly Answer[];
}

const groups = {
  cname: [...recordRows, ...serverRows, ...wireRows, ...resolverRows],
  addresses: apexRows,
} as const;
const rows = Object.values(groups).flat();

export const zones: readonly ZoneSpec[] = [...SHARED, ...rows.map(zoneOfRow)];

/**
 * Rows whose answer depends only on the zone, not on our verifier's configuration or a resolver's cache. CAA is left
 * out, because the others do not check it.
 */
function isComparable({config, question, zone}: ZoneRow): boolean {
  return (config === undefined || config === CONFIRMED) && question === undefined && zone.resolverSays === undefined;
}

export const cases: readonly Case[] = rows.flatMap((row, index): Case[] => {
  if (!isComparable(row)) return [];
  const kind = groups.cname.includes(row) ? 'cname' : 'addresses';
  const question = questionAbout(hostOfRow(row, zoneOfRow(row, index).name));
  return [{name: row.case, kind, question, right: rightAnswers(row)}];
});

function rightAnswers({case: name, want: {reason}}: ZoneRow): readonly Answer[] {
  if (FORGIVEN.includes(name)) return ['yes', 'no', 'unknown'];
  return reason === undefined || EITHER.includes(reason) ? ['no', 'unknown'] : [ANSWER[reason]];
}
