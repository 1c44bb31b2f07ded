import type {Clock} from '../../time/clock.ts';
import type {TtlCache} from '../../time/ttl-cache.ts';
import {isPublicSuffix, isWildcard} from '../names/hosts.ts';
import {escapeText, parentOf, selfAndAncestors} from '../names/wire-names.ts';
import type {Directory} from '../resolve/directory.ts';
import {queryAny} from '../resolve/query-any.ts';
import {negativeTtl} from '../resolve/reply.ts';
import type {VerdictSession} from '../resolve/session.ts';
import type {Message} from '../wire/codec.ts';
import {type CaaRecord, judgeCaa} from './caa.ts';
import type {CaaVerdict, ProofQuestion} from './verdict.ts';

const MAX_HOPS = 8;
const REGISTRY_CACHE_MS = 300_000;
const UNCHECKED: CaaVerdict = {outcome: 'unchecked', message: 'The CA has no identity to check CAA for.'};

export interface CaaDependencies {
  /** The CAA sets of public suffixes. All hosts below them share these, and no tenant can change them. */
  readonly registryCaa: TtlCache<readonly CaaRecord[]>;
  readonly clock: Clock;
}

type Lookup =
  | {readonly ok: true; readonly records: readonly CaaRecord[]}
  | {readonly ok: false; readonly at: string; readonly why: string};

/**
 * Climbs from the host, or from the name that a wildcard is below, to its top-level domain (RFC 8659 section 3). Stops
 * at the first CAA set, or at the first name that no server answers for: a CA does not issue then either. One server's
 * answer is enough at each level.
 */
export async function lookUpCaa(
  question: ProofQuestion,
  directory: Directory,
  session: VerdictSession,
  {registryCaa, clock}: CaaDependencies,
): Promise<CaaVerdict> {
  const {host, caaIdentities} = question;
  if (caaIdentities.length === 0) return UNCHECKED;
  for (const name of selfAndAncestors(isWildcard(host) ? parentOf(host) : host)) {
    const cached = registryCaa.get(name);
    const lookup: Lookup = cached ? {ok: true, records: cached} : await lookUpCaaAt(name, directory, session, clock);
    if (!lookup.ok) return lookupFailed(host, lookup);
    if (!cached && isPublicSuffix(name)) registryCaa.set(name, lookup.records, REGISTRY_CACHE_MS);
    if (lookup.records.length > 0) return judgeCaa(host, lookup.records, question);
  }
  return {outcome: 'allowed', message: `No CAA record restricts who may issue for ${host}.`};
}

/** No server answers about the host, so none would answer the CA. */
export function caaUnanswered({host, caaIdentities}: ProofQuestion): CaaVerdict {
  if (caaIdentities.length === 0) return UNCHECKED;
  return lookupFailed(host, {ok: false, at: host, why: 'no name server answers queries about this host'});
}

/** The CAA set of one name. It follows CNAME records as a resolver would. */
async function lookUpCaaAt(
  start: string,
  directory: Directory,
  session: VerdictSession,
  clock: Clock,
): Promise<Lookup> {
  let name = start;
  for (let hop = 0; hop < MAX_HOPS; hop++) {
    const found = await directory.find(name, session, 'any');
    if (!found.ok) return {ok: false, at: name, why: `the name servers of ${found.zone} do not answer`};
    const reply = await queryAny(found.authority, name, 'CAA', session, clock);
    if (reply === undefined) {
      const unasked = session.remaining <= 0;
      const servers = found.authority.servers.map(({name: server}) => server).join(', ');
      const why = unasked
        ? 'this check could send no more queries'
        : `no name server answers the query for CAA records (${escapeText(servers, 300)})`;
      return {ok: false, at: name, why};
    }
    const {records, next} = readAnswer(reply.message, name, found.authority.recursive);
    if (next === undefined) return {ok: true, records};
    name = next;
  }
  return {ok: false, at: start, why: 'its chain of CNAME records is too long'};
}

/**
 * The CAA set of a name in an answer, or the name to query next. A resolver follows the chain itself, and shows with an
 * SOA record that the end of the chain has no CAA set. Other servers may have no authority over another name.
 */
function readAnswer(message: Message, start: string, recursive: boolean): {records: CaaRecord[]; next?: string} {
  const {answers} = message;
  let name = start;
  for (let hop = 0; hop < MAX_HOPS; hop++) {
    const records = answers.flatMap(record => (record.type === 'CAA' && record.name === name ? [record] : []));
    const alias = answers.find(record => record.type === 'CNAME' && record.name === name);
    const ended = alias?.type !== 'CNAME';
    if (records.length > 0 || (ended && name === start)) return {records};
    if (ended) return negativeTtl(message) === undefined ? {records, next: name} : {records};
    if (!recursive) return {records, next: alias.target};
    name = alias.target;
  }
  return {records: [], next: name};
}

function lookupFailed(host: string, {at, why}: Extract<Lookup, {ok: false}>): CaaVerdict {
  return {
    outcome: 'lookup-failed',
    message: `The CAA records of ${at} could not be looked up: ${why}. Until the lookup succeeds, no CA will issue a certificate for ${host}. Nameplate will try again.`,
  };
}
