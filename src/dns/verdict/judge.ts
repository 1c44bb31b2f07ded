import {isRegistrySuffix, isWildcard} from '../names/hosts.ts';
import {missedIn, onlyAnswered} from '../resolve/cname-chain.ts';
import type {SilentServer} from '../resolve/directory.ts';
import type {ServerAnswer, ServerNoAnswer} from '../resolve/query-all.ts';
import {isMisdelegation} from '../resolve/reply.ts';
import {type Case, type Classification, classify} from './classify.ts';
import {type Evidence, type RecordEvidence, targetsIn, textsIn, type ZoneFault} from './evidence.ts';
import * as say from './explain.ts';
import type {DnsReason, ProofQuestion, Verdict} from './verdict.ts';

/**
 * How the answers of all servers become one judgment.
 *
 * Verified: at least one name server answered, and every server that answered shows the proof. Servers that do not
 * answer (timeout, SERVFAIL, REFUSED, lame, no address) are skipped, as resolvers skip them. A server with any other
 * answer is not, nor is a server that this check did not get to: then the next check continues. So one dead server of
 * four does not reject a good domain, but one stale server of four keeps the domain from being verified until that
 * server has caught up.
 *
 * Agreed: in addition, every name server answered, and all give the same yes or no. Only an agreed "no" may count as
 * drift or move a claim. Faults of servers, delegation, or DNSSEC are never agreed.
 *
 * A wrong answer outweighs a right one only if waiting would not fix it (a record next to the CNAME). Otherwise, if one
 * server has the proof, the reason is Propagating. If none has it, the reason is the most specific thing to fix.
 */
export type Judgment = Pick<
  Verdict,
  'reason' | 'verified' | 'proof' | 'message' | 'agreed' | 'doubt' | 'addressesOnly' | 'zone'
>;

export function judge(question: ProofQuestion, evidence: Evidence): Judgment {
  if (evidence.kind === 'fault') return judgeFault(question, evidence);
  const all = onlyAnswered(evidence.answers).map(answer => classify(answer, question, evidence));
  const classifications = all.filter(({answer, kind}) => answer.failing === undefined || kind === 'elsewhere');
  const failing = all.flatMap(each => (classifications.includes(each) ? [] : (each.answer.failing ?? [])));
  const used = new Set<ServerAnswer>(classifications.map(({answer}) => answer));
  const lacking = classifications.flatMap(({answer}) => answer.lacking ?? []);
  const missed = missedIn([...evidence.answers.filter(answer => !answer.ok || used.has(answer)), ...failing]);
  const silent = [...missed, ...lacking];
  const addressesOnly = evidence.apex || classifications.some(({kind}) => kind === 'addresses' || kind === 'mixed');
  const judgment = judgeClassifications({question, evidence, classifications, silent});
  const {ownZone} = evidence;
  return {...judgment, addressesOnly, ...(ownZone !== undefined && {zone: ownZone})};
}

type Fold = Omit<Judgment, 'addressesOnly' | 'zone'>;

/** Answers that need a fix, the most specific first. */
const WRONG = ['beside', 'many-cnames', 'mixed', 'foreign', 'elsewhere', 'missing'] as const;

function judgeClassifications(given: Case): Fold {
  const {classifications, question} = given;
  const {wildcard} = given.evidence.hints ?? {};
  if (classifications.length === 0) return judgeNoAnswer(given);
  const of = (...kinds: Classification['kind'][]) => classifications.filter(({kind}) => kinds.includes(kind));
  const [clash] = of('beside', 'many-cnames', 'mixed');
  if (clash?.kind === 'mixed' && wildcard !== undefined) return ofWildcard(given, clash, wildcard);
  if (clash !== undefined) return negative(given, 'ConflictingRecord', say.conflict(given, clash));
  const right = of('proved', 'addresses');
  const wrong = of(...WRONG);
  if (right.length > 0 && wrong.length > 0) return propagating(say.propagating(given, right, wrong));
  const [unsettled] = of('unsettled');
  if (unsettled?.kind === 'unsettled') return propagating(say.unsettled(given, unsettled));
  const [unknown] = of('unknown');
  if (unknown?.kind === 'unknown' && unknown.isUnasked) return unfinished(given);
  if (unknown?.kind === 'unknown') return uncertain('NameServersUnreachable', say.unknown(given, unknown));
  if (right.length === 0) return judgeWrong(given, wrong);
  if (given.silent.some(isUnasked)) return unfinished(given);
  if (isWildcard(question.host)) return judgeChallenge(withMissed(given, given.evidence.challenge));
  if (of('addresses').length === 0) return verified(given, 'cname');
  return question.apexProof === 'address' ? verified(given, 'address') : judgeTxt(given);
}

function judgeWrong(given: Case, wrong: readonly Classification[]): Fold {
  const {zone, apex, recursive} = given.evidence;
  const undelegated = !recursive && isRegistrySuffix(zone);
  const worst = WRONG.map(kind => wrong.find(each => each.kind === kind)).find(each => each !== undefined);
  const {wildcard} = given.evidence.hints ?? {};
  if (wildcard !== undefined && (worst?.kind === 'foreign' || worst?.kind === 'elsewhere')) {
    return ofWildcard(given, worst, wildcard);
  }
  switch (worst?.kind) {
    case 'foreign':
      return apex
        ? negative(given, 'RecordMismatch', say.mismatchAtApex(given, worst))
        : negative(given, 'ConflictingRecord', say.conflict(given, worst));
    case 'elsewhere':
      return negative(given, 'RecordMismatch', say.mismatch(given, worst));
    default:
      return undelegated
        ? negative(given, 'DelegationBroken', say.notDelegated(given))
        : negative(given, 'RecordMissing', say.missing(given));
  }
}

function ofWildcard(given: Case, {answer}: Classification, wildcard: string): Fold {
  return negative(given, 'RecordMissing', say.fromWildcard(given, answer, wildcard));
}

function judgeTxt(addressCase: Case): Fold {
  const {evidence, question} = addressCase;
  const given = withMissed(withMissed(addressCase, evidence.txt), evidence.challenge);
  const answers = onlyAnswered(evidence.txt?.answers ?? []);
  const isOpen = given.silent.some(isUnasked) || evidence.txt?.wildcard === 'unasked';
  if (answers.length === 0 && isOpen) return unfinished(given);
  if (answers.length === 0) return uncertain('NameServersUnreachable', say.txtUnreachable(given));
  const [having, lacking] = [true, false].map(has =>
    answers.filter(answer => textsIn(answer).includes(question.txtValue) === has),
  );
  if (evidence.txt?.wildcard === 'unasked') return unfinished(given);
  if (evidence.txt?.wildcard === 'unknown') return uncertain('NameServersUnreachable', say.txtUnreachable(given));
  if (evidence.txt?.wildcard) return negative(given, 'ProofMissing', say.proofFromWildcard(given));
  if (having?.length === 0) return judgeChallenge(given);
  if (lacking?.length !== 0) return propagating(say.proofPropagating(given, having ?? [], lacking ?? []));
  return isOpen ? unfinished(given) : verified(given, 'address-txt');
}

function withMissed(given: Case, {answers}: Pick<RecordEvidence, 'answers'> = {answers: []}): Case {
  return {...given, silent: [...given.silent, ...missedIn(answers)]};
}

/**
 * The delegated challenge proves the host in place of the TXT record, which is missing, and is the only proof of a
 * wildcard: its CNAME is also what every name below shows, and a CA does not validate a wildcard otherwise.
 */
function judgeChallenge(given: Case): Fold {
  const {question, evidence} = given;
  const {answers = [], wildcard} = evidence.challenge ?? {};
  if (wildcard === 'unasked') return unfinished(given);
  const [having = [], lacking = []] = [true, false].map(has =>
    onlyAnswered(answers).filter(answer => targetsIn(answer).includes(question.challenge?.target ?? '') === has),
  );
  if (having.length === 0) {
    const missing = negative(given, 'ProofMissing', say.proofMissing(given));
    return wildcard === 'unknown' ? {...missing, agreed: false} : missing; // unknown: no server could be found
  }
  if (wildcard === 'unknown') return uncertain('NameServersUnreachable', say.challengeUnreachable(given));
  if (wildcard) return negative(given, 'ProofMissing', say.challengeFromWildcard(given));
  if (lacking.length > 0) return propagating(say.challengePropagating(given, having, lacking));
  return given.silent.some(isUnasked) ? unfinished(given) : verified(given, 'challenge');
}

/** No server answered about the host. */
function judgeNoAnswer(given: Case): Fold {
  const noAnswers = new Set(given.silent.map(({noAnswer}) => noAnswer));
  if (noAnswers.has('budget')) return unfinished(given);
  if (noAnswers.has('bogus')) return uncertain('Bogus', say.bogus(given));
  const broken = [...noAnswers].every(isMisdelegation);
  return broken && !given.evidence.recursive
    ? uncertain('DelegationBroken', say.delegationBroken(given.evidence.zone, given.silent))
    : uncertain('NameServersUnreachable', say.unreachable(given.evidence.zone, given.silent));
}

function judgeFault(question: ProofQuestion, {fault, zone, silent}: ZoneFault): Judgment {
  const addressesOnly = false;
  if (silent.some(isUnasked))
    return {...uncertain('Checking', say.unfinishedOnTheWay(question.host, zone)), addressesOnly};
  switch (fault) {
    case 'broken':
      return {...uncertain('DelegationBroken', say.delegationBroken(zone, silent)), addressesOnly};
    case 'unreachable':
      return {...uncertain('NameServersUnreachable', say.unreachable(zone, silent)), addressesOnly};
    case 'egress':
      return {...uncertain('NameServersUnreachable', say.noEgress(question.host)), addressesOnly};
  }
}

function verified(given: Case, proof: NonNullable<Verdict['proof']>): Fold {
  const silent = [...given.silent, ...given.classifications.flatMap(missedBehind)];
  return {
    reason: 'Verified',
    verified: true,
    proof,
    message: say.verified(given, proof),
    agreed: silent.length === 0,
    ...(silent.length > 0 && {doubt: say.doubt(given.evidence.zone, silent)}),
  };
}

function negative(given: Case, reason: DnsReason, message: string): Fold {
  const undecided: Classification['kind'][] = ['unknown', 'unsettled'];
  // A right record is a yes, unless it is a second one that is missing: the TXT record, or the proof of a wildcard.
  const isSecond = reason === 'ProofMissing';
  if (!isSecond) undecided.push('addresses');
  if (!isSecond || !isWildcard(given.question.host)) undecided.push('proved');
  const unanimous = given.classifications.every(
    each => !undecided.includes(each.kind) && missedBehind(each).length === 0,
  );
  return {reason, verified: false, message, agreed: unanimous && given.silent.length === 0};
}

/** Servers further along a chain that did not answer, and could have answered something else. */
function missedBehind(classification: Classification): readonly ServerNoAnswer[] {
  if ('missed' in classification) return classification.missed;
  return classification.kind === 'elsewhere' && 'missed' in classification.end ? classification.end.missed : [];
}

function isUnasked({noAnswer}: SilentServer): boolean {
  return noAnswer === 'budget';
}

function unfinished(given: Case): Fold {
  return uncertain('Checking', say.unfinished(given));
}

function propagating(message: string): Fold {
  return {reason: 'Propagating', verified: false, message, agreed: false};
}

function uncertain(reason: DnsReason, message: string): Fold {
  return {reason, verified: false, message, agreed: false};
}
