import {askAny} from './ask-any.ts';
import {type CaaRecord, judgeCaa} from './caa.ts';
import type {Clock} from './clock.ts';
import type {Directory} from './directory.ts';
import type {Session} from './session.ts';
import type {CaaVerdict, ProofQuestion} from './verdict.ts';
import {selfAndAncestors} from './wire-names.ts';

const MAX_HOPS = 8;

type Lookup =
  | {readonly ok: true; readonly records: readonly CaaRecord[]}
  | {readonly ok: false; readonly at: string; readonly why: string};

/**
 * Climbs from the host to its top-level domain (RFC 8659 section 3) and stops at the first CAA set, or at the first
 * name that nobody answers for: a CA does not issue then either. One server's word is enough at each level.
 */
export async function checkCaa(
  question: ProofQuestion,
  directory: Directory,
  session: Session,
  clock: Clock,
): Promise<CaaVerdict> {
  const {host, caaIdentities} = question;
  if (caaIdentities.length === 0) return {outcome: 'unchecked', message: 'The CA has no identity to check CAA for.'};
  for (const name of selfAndAncestors(host)) {
    const lookup = await lookUpCaa(name, directory, session, clock);
    if (!lookup.ok) return lookupFailed(host, lookup);
    if (lookup.records.length > 0) return judgeCaa(host, lookup.records, question);
  }
  return {outcome: 'allowed', message: `No CAA record restricts who may issue for ${host}.`};
}

/** The CAA set of one name, over CNAME records as a resolver would follow them. */
async function lookUpCaa(start: string, directory: Directory, session: Session, clock: Clock): Promise<Lookup> {
  let name = start;
  for (let hop = 0; hop < MAX_HOPS; hop++) {
    const found = await directory.find(name, session);
    if (!found.ok) return {ok: false, at: name, why: `the name servers of ${found.zone} do not answer`};
    const heard = await askAny(found.authority, name, 'CAA', session, clock);
    if (heard === undefined) return {ok: false, at: name, why: 'no name server answers the question for CAA records'};
    const {answers} = heard.message;
    const records = answers.flatMap(record => (record.type === 'CAA' && record.name === name ? [record] : []));
    const next = answers.find(record => record.type === 'CNAME' && record.name === name);
    if (records.length > 0 || next?.type !== 'CNAME') return {ok: true, records};
    name = next.target;
  }
  return {ok: false, at: start, why: 'its chain of CNAME records is too long'};
}

function lookupFailed(host: string, {at, why}: Extract<Lookup, {ok: false}>): CaaVerdict {
  return {
    outcome: 'lookup-failed',
    message: `The CAA records of ${at} could not be looked up: ${why}. Until they can, no CA issues for ${host}; it is tried again.`,
  };
}
