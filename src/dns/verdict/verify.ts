/** Checks one host: gathers evidence, judges it, has recursives confirm it, and looks up CAA, within query budgets. */
import {randomBytes} from 'node:crypto';
import {withDeadline} from '../../time/deadline.ts';
import type {TtlCache} from '../../time/ttl-cache.ts';
import {canonicalName} from '../names/wire-names.ts';
import {onlyAnswered} from '../resolve/cname-chain.ts';
import type {Directory} from '../resolve/directory.ts';
import {VerdictSession} from '../resolve/session.ts';
import type {Targets} from '../resolve/targets.ts';
import {type CaaDependencies, caaUnanswered, lookUpCaa} from './caa-lookup.ts';
import {type Evidence, gatherEvidence, type HostEvidence} from './evidence.ts';
import {cachedElsewhere, noAuthority} from './explain.ts';
import {type Judgment, judge} from './judge.ts';
import {observe} from './observe.ts';
import {signsOf} from './poll.ts';
import type {CaaVerdict, ProofQuestion, Signs, Verdict} from './verdict.ts';

/** Together, the 60 queries that one verdict may send to strangers' servers. */
const PROOF_BUDGET = 48;
const CAA_BUDGET = 12;
/** Queries to our own recursives, in addition. */
const CONFIRM_BUDGET = 32;
/** How long we do not try the authoritative servers again after egress was closed. */
const BLOCKED_MS = 60_000;
const EGRESS = 'egress';

/** Recursives, which see what the zone's own servers do not show. */
export interface Confirmation {
  readonly directory: Directory;
  /** Whether they must have the new answer too. Otherwise, they only check whether the zone's DNSSEC is broken. */
  readonly answer: boolean;
}

export interface VerifyDependencies extends CaaDependencies {
  readonly targets: Targets;
  /** Absent in mode `recursive`. */
  readonly authoritative?: Directory;
  /** Takes the place of the authoritative servers in mode `recursive`, and in mode `auto` if none can be reached. */
  readonly fallback?: Directory;
  /** Queried before a name is verified, in mode `auto`. */
  readonly confirm?: Confirmation;
  /** Remembers that egress to the authoritative servers is closed. */
  readonly blocked: TtlCache<true>;
  readonly timeoutMs: number;
}

/** One verdict. Faults of DNS are verdicts. Rejects only if the signal aborts. */
export async function verifyQuestion(
  given: ProofQuestion,
  deps: VerifyDependencies,
  signal: AbortSignal,
): Promise<Verdict> {
  const question = canonicalQuestion(given);
  return withDeadline(deps.timeoutMs, signal, async deadline => {
    const attempt = await tryInOrder(question, deps, deadline);
    const {signs, ...judgment} = await confirmed(question, attempt, deps, deadline);
    const isByDns = judgment.proof === 'challenge';
    const caa = await caaOf(isByDns ? {caaValidationMethods: ['dns-01'], ...question} : question, attempt, deps);
    signal.throwIfAborted();
    const unfinished = attempt.unfinished && {unfinished: true as const};
    return {...judgment, ...unfinished, ...observe(attempt.evidence), caa, ...(signs && {signs})};
  });
}

function canonicalQuestion(question: ProofQuestion): ProofQuestion {
  const canonical = (name: string) => canonicalName(name) ?? name;
  const {host, target, txtName, challenge} = question;
  return {
    ...question,
    host: canonical(host),
    target: canonical(target),
    txtName: canonical(txtName),
    ...(challenge && {challenge: {name: canonical(challenge.name), target: canonical(challenge.target)}}),
  };
}

/** Whether no authoritative server could be reached a moment ago. */
function isEgressBlocked({blocked}: Pick<VerifyDependencies, 'blocked'>): boolean {
  return blocked.get(EGRESS) === true;
}

/** Tries the authoritative servers. If none can be reached, tries the fallback, and for a while only the fallback. */
async function tryInOrder(question: ProofQuestion, deps: VerifyDependencies, signal: AbortSignal): Promise<Attempt> {
  const {authoritative, fallback, blocked} = deps;
  const first = authoritative ?? fallback;
  if (first === undefined) throw new Error('no servers to ask: neither authoritative nor recursive');
  const closed = first === authoritative && fallback !== undefined && isEgressBlocked(deps);
  if (closed) return withoutAuthority(await tryDirectory(question, fallback, deps, signal));
  const attempt = await tryDirectory(question, first, deps, signal);
  const {evidence} = attempt;
  if (fallback === undefined) return attempt;
  if (evidence.kind === 'host' && isOutOfReach(evidence)) {
    return withoutAuthority(await tryDirectory(question, fallback, deps, signal));
  }
  if (evidence.kind !== 'fault' || evidence.fault !== 'egress') return attempt;
  blocked.set(EGRESS, true, BLOCKED_MS);
  return withoutAuthority(await tryDirectory(question, fallback, deps, signal));
}

/** All servers of the zone have only addresses of a family that the platform does not have, but resolvers may have it. */
function isOutOfReach({answers}: HostEvidence): boolean {
  return answers.length > 0 && answers.every(answer => !answer.ok && answer.noAnswer === 'no-route');
}

/** A resolver's answer in place of servers that cannot be reached may be old: it moves no claim and is not drift. */
function withoutAuthority(attempt: Attempt): Attempt {
  const {judgment} = attempt;
  const doubt = judgment.verified && {doubt: noAuthority()};
  return {...attempt, judgment: {...judgment, ...doubt, agreed: false}};
}

/** If no server answers about the host, looks up no CAA records: a CA would not get an answer either. */
function caaOf(
  question: ProofQuestion,
  {evidence, directory, session}: Attempt,
  deps: CaaDependencies,
): Promise<CaaVerdict> {
  const answered = evidence.kind === 'host' && evidence.answers.some(answer => answer.ok);
  if (!answered) return Promise.resolve(caaUnanswered(question));
  session.grant(CAA_BUDGET);
  return lookUpCaa(question, directory, session, deps);
}

interface Attempt {
  readonly directory: Directory;
  readonly session: VerdictSession;
  readonly evidence: Evidence;
  readonly judgment: Judgment;
  readonly unfinished: boolean;
}

async function tryDirectory(
  question: ProofQuestion,
  directory: Directory,
  {targets, clock}: VerifyDependencies,
  signal: AbortSignal,
  budget = PROOF_BUDGET,
): Promise<Attempt> {
  const session = new VerdictSession({transport: directory.transport, budget, signal});
  const randomLabel = () => randomBytes(8).toString('hex');
  const evidence = await gatherEvidence(question, session, {directory, targets, clock, randomLabel});
  return {directory, session, evidence, judgment: judge(question, evidence), unfinished: session.unfinished};
}

/**
 * Holds a verified name back while a recursive finds its DNSSEC broken, or while a configured recursive still has an
 * old answer: the CA would see the same. A recursive that does not answer holds nothing back.
 */
async function confirmed(
  question: ProofQuestion,
  attempt: Attempt,
  deps: VerifyDependencies,
  signal: AbortSignal,
): Promise<Judgment & {readonly signs?: Signs | undefined}> {
  const {directory, judgment} = attempt;
  const {confirm} = deps;
  if (!judgment.verified) return {...judgment, signs: signsAtZone(question, attempt)};
  if (confirm === undefined || confirm.directory === directory) return judgment;
  const again = await tryDirectory(question, confirm.directory, deps, signal, CONFIRM_BUDGET);
  const {evidence, judgment: second} = again;
  if (second.verified || evidence.kind === 'fault') return judgment;
  const {proof: _, doubt: __, ...rest} = judgment;
  const unconfirmed = {...rest, verified: false, agreed: false};
  if (second.reason === 'Bogus') return {...unconfirmed, reason: 'Bogus', message: second.message};
  if (!confirm.answer || second.reason === 'NameServersUnreachable') return judgment;
  const {minTtlSeconds} = observe(evidence);
  const message = cachedElsewhere(question, onlyAnswered(evidence.answers), minTtlSeconds);
  return {...unconfirmed, reason: 'Propagating', message, signs: signsOf(question, again)};
}

/** A recursive is not polled about a record that may not exist yet: it would cache that for as long as the SOA says. */
function signsAtZone(question: ProofQuestion, attempt: Attempt): Signs | undefined {
  const {evidence} = attempt;
  return evidence.kind === 'host' && !evidence.recursive ? signsOf(question, attempt) : undefined;
}
