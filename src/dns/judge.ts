import {heardIn} from './chain.ts';
import {type Evidence, type HostEvidence, textsIn, type ZoneFault} from './evidence.ts';
import type {ServerAnswer, ServerSilence} from './look.ts';
import * as say from './message.ts';
import {isPublicSuffix} from './names.ts';
import {type Opinion, opinionOf} from './opinion.ts';
import {isMisdelegation} from './reply.ts';
import type {DnsReason, ProofQuestion, Verdict} from './verdict.ts';

/**
 * The rule of the fold.
 *
 * Verified: at least one name server answered, and every one that answered shows the proof. Servers that are silent
 * (timeout, SERVFAIL, REFUSED, lame, no address) are passed over, as resolvers pass over them; a server that says
 * anything else than the proof never is. So one dead server of four refuses no good domain, and one stale server of
 * four keeps a domain from being verified until it has caught up.
 *
 * Agreed: besides, no name server was silent, and all say the same yes or no. Only an agreed "no" may count as drift or
 * move a claim. Faults of servers, delegation or DNSSEC are never agreed.
 *
 * A wrong answer outweighs a right one only where waiting would not mend it (a record beside the CNAME); else servers
 * of which one has the proof are Propagating. Where none has it, the most specific thing to mend is the reason.
 */
export type Judgement = Pick<Verdict, 'reason' | 'verified' | 'proof' | 'message' | 'agreed' | 'addressesOnly'>;

export function judge(question: ProofQuestion, evidence: Evidence): Judgement {
  if (evidence.kind === 'fault') return judgeFault(question, evidence);
  const all = heardIn(evidence.answers).map(answer => opinionOf(answer, question, evidence));
  const opinions = all.filter(({answer, kind}) => answer.failing === undefined || kind === 'elsewhere');
  const failing = all.flatMap(opinion => (opinions.includes(opinion) ? [] : (opinion.answer.failing ?? [])));
  const used = new Set<ServerAnswer>(opinions.map(({answer}) => answer));
  const silent = silentServers([...evidence.answers.filter(answer => !answer.ok || used.has(answer)), ...failing]);
  const addressesOnly = evidence.apex || opinions.some(({kind}) => kind === 'addresses' || kind === 'mixed');
  const judgement = judgeOpinions({question, evidence, opinions, silent});
  return {...judgement, addressesOnly};
}

export interface Case {
  readonly question: ProofQuestion;
  readonly evidence: HostEvidence;
  readonly opinions: readonly Opinion[];
  /** One entry for each name server of which no address answered. */
  readonly silent: readonly ServerSilence[];
}

type Fold = Omit<Judgement, 'addressesOnly'>;

/** Opinions that only somebody's action can mend, the most specific first. */
const WRONG = ['beside', 'many-cnames', 'mixed', 'foreign', 'elsewhere', 'missing'] as const;

function judgeOpinions(given: Case): Fold {
  const {opinions, question} = given;
  if (opinions.length === 0) return judgeSilence(given);
  const of = (...kinds: Opinion['kind'][]) => opinions.filter(({kind}) => kinds.includes(kind));
  const [clash] = of('beside', 'many-cnames', 'mixed');
  if (clash !== undefined) return negative(given, 'ConflictingRecord', say.conflict(given, clash));
  const right = of('proved', 'addresses');
  const wrong = of(...WRONG);
  if (right.length > 0 && wrong.length > 0) return propagating(say.propagating(given, right, wrong));
  const [unsettled] = of('unsettled');
  if (unsettled?.kind === 'unsettled') return propagating(say.unsettled(given, unsettled));
  const [unknown] = of('unknown');
  if (unknown?.kind === 'unknown') return uncertain('NameServersUnreachable', say.unknown(given, unknown));
  if (right.length === 0) return judgeWrong(given, wrong);
  if (of('addresses').length === 0) return verified(given, 'cname');
  return question.apexProof === 'address' ? verified(given, 'address') : judgeTxt(given);
}

function judgeWrong(given: Case, wrong: readonly Opinion[]): Fold {
  const {zone, apex, recursive} = given.evidence;
  const undelegated = !recursive && (zone === '.' || isPublicSuffix(zone));
  const worst = WRONG.map(kind => wrong.find(opinion => opinion.kind === kind)).find(opinion => opinion !== undefined);
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

function judgeTxt(addressCase: Case): Fold {
  const {evidence, question} = addressCase;
  const all = evidence.txt?.answers ?? [];
  const given = {...addressCase, silent: [...addressCase.silent, ...silentServers(all)]};
  const answers = heardIn(all);
  if (answers.length === 0) return uncertain('NameServersUnreachable', say.txtUnreachable(given));
  const [having, lacking] = [true, false].map(has =>
    answers.filter(answer => textsIn(answer).includes(question.txtValue) === has),
  );
  if (evidence.txt?.wildcard === 'unknown') return uncertain('NameServersUnreachable', say.txtUnreachable(given));
  if (evidence.txt?.wildcard) return negative(given, 'ProofMissing', say.proofFromWildcard(given));
  if (having?.length === 0) return negative(given, 'ProofMissing', say.proofMissing(given));
  if (lacking?.length !== 0) return propagating(say.proofPropagating(given, having ?? [], lacking ?? []));
  return verified(given, 'address-txt');
}

/** Nobody answered about the host. */
function judgeSilence(given: Case): Fold {
  const silences = new Set(given.silent.map(({silence}) => silence));
  if (silences.has('bogus')) return uncertain('Bogus', say.bogus(given));
  const broken = [...silences].every(isMisdelegation);
  return broken && !given.evidence.recursive
    ? uncertain('DelegationBroken', say.delegationBroken(given.evidence.zone, given.silent))
    : uncertain('NameServersUnreachable', say.unreachable(given.evidence.zone, given.silent));
}

function judgeFault(question: ProofQuestion, {fault, zone, silent}: ZoneFault): Judgement {
  const addressesOnly = false;
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
  return {
    reason: 'Verified',
    verified: true,
    proof,
    message: say.verified(given, proof),
    agreed: given.silent.length === 0,
  };
}

function negative(given: Case, reason: DnsReason, message: string): Fold {
  const undecided: Opinion['kind'][] = ['proved', 'unknown', 'unsettled'];
  // Right addresses are a yes, but where it is the TXT record that is missing.
  if (reason !== 'ProofMissing') undecided.push('addresses');
  const unanimous = given.opinions.every(opinion => !undecided.includes(opinion.kind) && !isPartial(opinion));
  return {reason, verified: false, message, agreed: unanimous && given.silent.length === 0};
}

/** It leads elsewhere by the word of some servers, while others on the way were silent. */
function isPartial(opinion: Opinion): boolean {
  return opinion.kind === 'elsewhere' && 'partial' in opinion.end && opinion.end.partial;
}

function propagating(message: string): Fold {
  return {reason: 'Propagating', verified: false, message, agreed: false};
}

function uncertain(reason: DnsReason, message: string): Fold {
  return {reason, verified: false, message, agreed: false};
}

function silentServers(answers: readonly ServerAnswer[]): ServerSilence[] {
  const heard = new Set(heardIn(answers).map(({serverName}) => serverName));
  const silent = new Map<string, ServerSilence>();
  for (const answer of answers) {
    if (!answer.ok && !heard.has(answer.serverName)) silent.set(answer.serverName, answer);
  }
  return [...silent.values()];
}
