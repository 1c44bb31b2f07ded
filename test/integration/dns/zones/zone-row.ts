import type {DnsConfig} from '../../../../src/dns/config.ts';
import type {ProofQuestion, Verdict} from '../../../../src/dns/verdict/verdict.ts';
import {RESOLVER, SERVERS, type ZoneSpec} from '../internet/plan.ts';

export const TARGET = 'acct.edge-np.net';
export const TOKEN = 'np-proof-1';
/** The addresses of TARGET. */
export const TARGET_A = '192.0.2.10';
export const TARGET_AAAA = '2001:db8::10';
export const CNAME = `shop CNAME ${TARGET}.`;
export const ALIAS = `@ A ${TARGET_A}`;
export const PROOF = `_nameplate TXT "${TOKEN}"`;

/** BIND, NSD, Knot, and CoreDNS, all with the same zone. */
export const ALL = ['a', 'b', 'c', 'd'] as const;
/** Servers that refuse to load what a zone must not contain. */
export const STRICT = ['a', 'b', 'c'] as const;

export const RECURSIVE = {mode: 'recursive', recursives: [RESOLVER]} as const;
/** `auto`, with a resolver that must have the new answer, too. */
export const CONFIRMED = {recursives: [RESOLVER]} as const;
/** `auto`, without a path to the root servers. */
export const NO_EGRESS = {rootServers: [SERVERS.closed[0]], recursives: [RESOLVER]} as const;

/** ZONE stands for the row's own zone in all texts, and HOST for the checked host in `says`. */
export interface ZoneRow {
  readonly case: string;
  readonly zone: Omit<ZoneSpec, 'name'> & {readonly name?: string};
  /** `shop.ZONE` by default. */
  readonly host?: string;
  readonly question?: Partial<ProofQuestion>;
  /** The shipped configuration by default. */
  readonly config?: Partial<DnsConfig>;
  readonly want: Partial<Verdict>;
  /** What the message must name. */
  readonly says?: readonly string[];
  /** What it must not name. */
  readonly saysNot?: readonly string[];
}

/** Zones that several rows point to. */
export const SHARED: readonly ZoneSpec[] = [
  {
    name: 'edge-np.net',
    at: ALL,
    records: `acct A ${TARGET_A}\nacct AAAA ${TARGET_AAAA}\nother A ${TARGET_A}\nbalanced CNAME lb.balancer.com.`,
  },
  {name: 'balancer.com', at: ALL, records: `lb A ${TARGET_A}\nlb AAAA ${TARGET_AAAA}`},
  {name: 'right.com', at: ALL, records: `${CNAME}\nns A ${SERVERS.a[0]}\nalias CNAME ns`},
  {name: 'there.com', at: ['c'], records: 'x CNAME x.back.com.'},
  {name: 'back.com', at: ['d'], records: 'x CNAME x.there.com.'},
  {name: 'forbidding.com', at: ALL, records: 'other CAA 0 issue ";"\nother A 192.0.2.3'},
  {name: 'dead.com', at: ['silent'], records: ''},
  {name: 'hen.com', at: ['a'], records: '', delegation: 'hen NS ns.egg.com.'},
  {name: 'egg.com', at: ['a'], records: '', delegation: 'egg NS ns.hen.com.'},
];

/** The zone of a row, with its name filled in. */
export function zoneOfRow({zone}: ZoneRow, index: number): ZoneSpec {
  const name = zone.name ?? `z${index}.com`;
  const named = (text: string) => text.replaceAll('ZONE', name);
  const {delegation, resolverSays, instead, parent} = zone;
  return {
    ...zone,
    name,
    records: named(zone.records),
    ...(delegation !== undefined && {delegation: named(delegation)}),
    ...(parent !== undefined && {parent: named(parent)}),
    ...(resolverSays && {resolverSays: resolverSays.map(named)}),
    ...(instead && {instead: Object.fromEntries(Object.entries(instead).map(([at, text]) => [at, named(text)]))}),
  };
}

export function hostOfRow(row: ZoneRow, zone: string): string {
  return (row.host ?? 'shop.ZONE').replaceAll('ZONE', zone);
}

/** Fills a row's names into its expectations. */
export function fill<T>(value: T, zone: string, host: string): T {
  return JSON.parse(JSON.stringify(value).replaceAll('ZONE', zone).replaceAll('HOST', host)) as T;
}

export function questionOfRow(row: ZoneRow, zone: string): ProofQuestion {
  const host = hostOfRow(row, zone);
  return questionAbout(host, fill(row.question ?? {}, zone, host));
}

export function questionAbout(host: string, more: Partial<ProofQuestion> = {}): ProofQuestion {
  const txtName = `_nameplate.${host}`;
  return {host, target: TARGET, txtName, txtValue: TOKEN, apexProof: 'txt', caaIdentities: [], ...more};
}
