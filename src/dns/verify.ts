import {randomBytes} from 'node:crypto';
import {type CaaDependencies, checkCaa} from './caa-lookup.ts';
import {heardIn} from './chain.ts';
import type {Directory} from './directory.ts';
import {type Evidence, gatherEvidence} from './evidence.ts';
import {type Judgement, judge} from './judge.ts';
import {cachedElsewhere} from './message.ts';
import {observe} from './observe.ts';
import {Session} from './session.ts';
import type {Targets} from './targets.ts';
import type {TtlCache} from './ttl-cache.ts';
import type {CaaVerdict, ProofQuestion, Verdict} from './verdict.ts';
import {canonicalName} from './wire-names.ts';
import {within} from './within.ts';

/** Together the 60 questions that a verdict may ask of strangers' servers. */
const PROOF_BUDGET = 48;
const CAA_BUDGET = 12;
/** Our own recursives are asked besides. */
const CONFIRM_BUDGET = 32;
/** How long a closed way to all authoritative servers is not tried again. */
const BLOCKED_MS = 60_000;
const EGRESS = 'egress';

/** Recursives that see what the zone's own servers do not show. */
export interface Confirmation {
  readonly directory: Directory;
  /** Whether they must have the new answer too; else all that counts is whether they find the zone's DNSSEC broken. */
  readonly answer: boolean;
}

export interface VerifyDependencies extends CaaDependencies {
  readonly targets: Targets;
  /** Absent in mode `recursive`. */
  readonly authoritative?: Directory;
  /** Answers instead of the authoritative servers: in mode `recursive`, and in `auto` where none can be reached. */
  readonly fallback?: Directory;
  /** Asked before a name is verified, in mode `auto`. */
  readonly confirm?: Confirmation;
  /** Remembers that the way to the authoritative servers is closed. */
  readonly blocked: TtlCache<true>;
  readonly timeoutMs: number;
}

/** One verdict. Faults of DNS are verdicts; it rejects only when the signal aborts. */
export async function verifyQuestion(
  asked: ProofQuestion,
  deps: VerifyDependencies,
  signal: AbortSignal,
): Promise<Verdict> {
  const question = canonicalQuestion(asked);
  return within(deps.timeoutMs, signal, async deadline => {
    const attempt = await tryInOrder(question, deps, deadline);
    const judgement = await confirmed(question, attempt, deps, deadline);
    const caa = await caaOf(question, attempt, deps);
    signal.throwIfAborted();
    return {...judgement, ...observe(attempt.evidence), caa};
  });
}

function canonicalQuestion(question: ProofQuestion): ProofQuestion {
  const canonical = (name: string) => canonicalName(name) ?? name;
  const {host, target, txtName} = question;
  return {...question, host: canonical(host), target: canonical(target), txtName: canonical(txtName)};
}

/** The authoritative servers; where none at all can be reached, the fallback, and for a while that at once. */
async function tryInOrder(question: ProofQuestion, deps: VerifyDependencies, signal: AbortSignal): Promise<Attempt> {
  const {authoritative, fallback, blocked} = deps;
  const first = authoritative ?? fallback;
  if (first === undefined) throw new Error('no servers to ask: neither authoritative nor recursive');
  const closed = first === authoritative && fallback !== undefined && blocked.get(EGRESS);
  if (closed) return withoutAuthority(await tryDirectory(question, fallback, deps, signal));
  const attempt = await tryDirectory(question, first, deps, signal);
  const {evidence} = attempt;
  if (evidence.kind !== 'fault' || evidence.fault !== 'egress' || fallback === undefined) return attempt;
  blocked.set(EGRESS, true, BLOCKED_MS);
  return withoutAuthority(await tryDirectory(question, fallback, deps, signal));
}

/** What a resolver says in the place of servers that cannot be reached may be old: it moves no claim and is no drift. */
function withoutAuthority(attempt: Attempt): Attempt {
  return {...attempt, judgement: {...attempt.judgement, agreed: false}};
}

/** Where no server answers about the host, none is asked about its CAA records: a CA would not get an answer either. */
function caaOf(
  question: ProofQuestion,
  {evidence, directory, session}: Attempt,
  deps: CaaDependencies,
): Promise<CaaVerdict> {
  const heard = evidence.kind === 'heard' && evidence.answers.some(answer => answer.ok);
  session.grant(heard ? CAA_BUDGET : -session.remaining);
  return checkCaa(question, directory, session, deps);
}

interface Attempt {
  readonly directory: Directory;
  readonly session: Session;
  readonly evidence: Evidence;
  readonly judgement: Judgement;
}

async function tryDirectory(
  question: ProofQuestion,
  directory: Directory,
  {targets, clock}: VerifyDependencies,
  signal: AbortSignal,
  budget = PROOF_BUDGET,
): Promise<Attempt> {
  const session = new Session({transport: directory.transport, budget, signal});
  const randomLabel = () => randomBytes(8).toString('hex');
  const evidence = await gatherEvidence(question, session, {directory, targets, clock, randomLabel});
  return {directory, session, evidence, judgement: judge(question, evidence)};
}

/**
 * A verified name is held back while a recursive finds its DNSSEC broken, or one that was configured still has an old
 * answer: the CA would see the same. A recursive that is silent holds nothing back.
 */
async function confirmed(
  question: ProofQuestion,
  {directory, judgement}: Attempt,
  deps: VerifyDependencies,
  signal: AbortSignal,
): Promise<Judgement> {
  const {confirm} = deps;
  if (!judgement.verified || confirm === undefined || confirm.directory === directory) return judgement;
  const {evidence, judgement: second} = await tryDirectory(question, confirm.directory, deps, signal, CONFIRM_BUDGET);
  if (second.verified || evidence.kind === 'fault') return judgement;
  const {proof: _, ...rest} = judgement;
  const heldBack = {...rest, verified: false, agreed: false};
  if (second.reason === 'Bogus') return {...heldBack, reason: 'Bogus', message: second.message};
  if (!confirm.answer || second.reason === 'NameServersUnreachable') return judgement;
  const {minTtlSeconds} = observe(evidence);
  const message = cachedElsewhere(question, heardIn(evidence.answers), minTtlSeconds);
  return {...heldBack, reason: 'Propagating', message};
}
