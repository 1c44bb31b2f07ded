/**
 * What the zone of the challenges contains: at its top, its SOA and its name servers; at each name that a tenant may
 * delegate to, the values of the open challenges; and nothing else. Pure.
 */
import {isWithin} from '../dns/names/wire-names.ts';
import {type Question, RCODE} from './query.ts';

export const TYPE = {NS: 2, SOA: 6, TXT: 16, IXFR: 251, AXFR: 252, ANY: 255} as const;

export interface Zone {
  /** Lower case, without a trailing dot. */
  readonly domain: string;
  /** Names outside of the zone: so it needs no addresses. */
  readonly nameServers: readonly string[];
  /** The values of the open challenges of a name; none for any other name. */
  readonly valuesOf: (name: string) => readonly string[];
}

export type ZoneRecord =
  | {readonly type: typeof TYPE.SOA; readonly mname: string; readonly rname: string}
  | {readonly type: typeof TYPE.NS; readonly target: string}
  | {readonly type: typeof TYPE.TXT; readonly text: string};

export interface ZoneAnswer {
  readonly rcode: number;
  /** Of the question's name. */
  readonly answers: readonly ZoneRecord[];
  /** Whether nothing was found: then the zone's SOA says for how long this may be cached (RFC 2308). */
  readonly isNegative: boolean;
}

/**
 * As names are derived (src/operator/kinds/derived-names.ts). Each of them exists, with or without an open challenge:
 * so the answer shows nobody which are in use, and no resolver remembers that one did not exist.
 */
const LABEL = /^[a-z2-7]{32}$/;

const REFUSED: ZoneAnswer = {rcode: RCODE.REFUSED, answers: [], isNegative: false};
const NXDOMAIN: ZoneAnswer = {rcode: RCODE.NXDOMAIN, answers: [], isNegative: true};

export function lookUp({name, type, isInternet}: Question, zone: Zone): ZoneAnswer {
  const {domain, nameServers, valuesOf} = zone;
  if (!isInternet || type === TYPE.AXFR || type === TYPE.IXFR || !isWithin(name, domain)) return REFUSED;
  const is = (wanted: number) => type === wanted || type === TYPE.ANY; // any part of ANY will do (RFC 8482)
  if (name === domain) {
    if (is(TYPE.SOA)) return found([soaOf(zone)]);
    return found(type === TYPE.NS ? nameServers.map(target => ({type: TYPE.NS, target})) : []);
  }
  if (!LABEL.test(name.slice(0, -domain.length - 1))) return NXDOMAIN;
  return found(is(TYPE.TXT) ? valuesOf(name).map(text => ({type: TYPE.TXT, text})) : []);
}

/** The mailbox is the zone's own name, because that takes the fewest bytes in every negative answer. */
export function soaOf({domain, nameServers: [mname = domain]}: Zone): ZoneRecord {
  return {type: TYPE.SOA, mname, rname: domain};
}

function found(answers: readonly ZoneRecord[]): ZoneAnswer {
  return {rcode: RCODE.NOERROR, answers, isNegative: answers.length === 0};
}
