/**
 * Polls: between the checks of a host whose record is missing, a few queries of the last check are repeated. If an
 * answer has changed, it is time for the next check. An answer to a poll decides nothing else.
 */
import {createHash} from 'node:crypto';
import {withDeadline} from '../../time/deadline.ts';
import {onlyAnswered} from '../resolve/cname-chain.ts';
import {serverLabel} from '../resolve/directory.ts';
import type {ServerAnswer} from '../resolve/query-all.ts';
import {isMisdelegation} from '../resolve/reply.ts';
import type {Asked, VerdictSession} from '../resolve/session.ts';
import type {QueryType, ResourceRecord} from '../wire/codec.ts';
import type {DnsTransport, Reply} from '../wire/transport.ts';
import {type Classification, classify} from './classify.ts';
import {type Evidence, type HostEvidence, targetsIn, textsIn} from './evidence.ts';
import type {Judgment} from './judge.ts';
import type {DnsReason, ProofQuestion, Sign, Signs} from './verdict.ts';

/** What a poll found: `silent` if a server did not answer about a record. */
export type PollResult = 'changed' | 'same' | 'silent';

/** Something to fix, unlike faults that pass. */
const LASTING: ReadonlySet<DnsReason> = new Set([
  'RecordMissing',
  'RecordMismatch',
  'ConflictingRecord',
  'ProofMissing',
  'DelegationBroken',
  'Propagating',
]);
/** Longer digests are hashed. */
const MAX_DIGEST = 128;
const NOERROR = 0;
const NXDOMAIN = 3;

interface Checked {
  readonly evidence: Evidence;
  readonly session: VerdictSession;
  readonly judgment: Pick<Judgment, 'reason' | 'verified'>;
}

/** Undefined if no answer is in the way that a single query could show to have changed. */
export function signsOf(question: ProofQuestion, {evidence, session, judgment}: Checked): Signs | undefined {
  if (evidence.kind === 'fault' || judgment.verified || session.unfinished || !LASTING.has(judgment.reason)) return;
  const {recursive} = evidence;
  const answers = onlyAnswered(evidence.answers).map(answer => classify(answer, question, evidence));
  const wrong = answers.find(isWrong);
  const sign = ({endpoint, name, type, reply}: Asked): Sign => ({
    ...{endpoint, name, type, recursive},
    seen: digest(reply) ?? '',
  });
  const asked = (name: string, type: QueryType, of?: ServerAnswer) =>
    session.asked.find(
      each =>
        each.name === name &&
        each.type === type &&
        (of === undefined || of.server === serverLabel(of.serverName, each.endpoint)),
    );
  const records = wrong
    ? [asked(question.host, typeOf(wrong), wrong.answer)]
    : [...proofsInTheWay(question, evidence), ...refusal(question, evidence)].map(each => asked(...each));
  const end = wrong?.kind === 'elsewhere' && 'at' in wrong.end ? asked(wrong.end.at, 'A') : undefined;
  const others = [recursive ? undefined : asked(evidence.zone, 'NS'), end];
  const found = records.filter(each => each !== undefined).map(sign);
  if (found.length === 0) return undefined;
  return {records: found, others: others.filter(each => each !== undefined).map(sign)};
}

function isWrong({kind}: Classification): boolean {
  return ['beside', 'many-cnames', 'mixed', 'foreign', 'elsewhere', 'missing'].includes(kind);
}

/** A CNAME answers queries for addresses. */
function typeOf(wrong: Classification): 'A' | 'AAAA' {
  return 'foreign' in wrong && wrong.foreign[0]?.type === 'AAAA' ? 'AAAA' : 'A';
}

type Query = [name: string, type: QueryType, of: ServerAnswer];

/** The TXT record or, in its place, the delegated challenge: one server of each that lacks it. */
function proofsInTheWay({txtName, txtValue, challenge}: ProofQuestion, {txt, challenge: found}: HostEvidence): Query[] {
  const text = txt?.answers.find(answer => answer.ok && !textsIn(answer).includes(txtValue));
  const alias = found?.answers.find(answer => answer.ok && !targetsIn(answer).includes(challenge?.target ?? ''));
  return [
    ...(text ? [[txtName, 'TXT', text] satisfies Query] : []),
    ...(alias && challenge ? [[challenge.name, 'CNAME', alias] satisfies Query] : []),
  ];
}

/** A server that does not serve the zone, if no server does. */
function refusal({host}: ProofQuestion, {answers}: HostEvidence): Query[] {
  if (answers.some(answer => answer.ok)) return [];
  const refusing = answers.find(answer => !answer.ok && isMisdelegation(answer.noAnswer));
  return refusing ? [[host, 'A', refusing]] : [];
}

/** Sends one query per sign, about `everything` or only about the records, and never takes longer than `timeoutMs`. */
export async function poll(
  {records, others}: Signs,
  everything: boolean,
  transportFor: (sign: Sign) => DnsTransport | undefined,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<PollResult> {
  const results = await withDeadline(timeoutMs, signal, deadline =>
    Promise.all([...records, ...(everything ? others : [])].map(sign => pollOne(sign, transportFor(sign), deadline))),
  );
  if (results.includes('changed')) return 'changed';
  return results.slice(0, records.length).includes('silent') ? 'silent' : 'same';
}

async function pollOne(
  {endpoint, name, type, recursive, seen}: Sign,
  transport: DnsTransport | undefined,
  signal: AbortSignal,
): Promise<PollResult> {
  const reply = await transport?.query({endpoint, name, type, recursionDesired: recursive}, signal);
  if (!reply?.ok) return 'silent';
  const now = digest(reply);
  return now === undefined || now === seen ? 'same' : 'changed';
}

/**
 * The records of the answer without their TTLs, and the delegation in a referral; undefined for a failure. Leaves out
 * the addresses of other names, which may change with every answer.
 */
function digest(reply: Reply): string | undefined {
  if (!reply.ok) return undefined;
  const {rcode, authoritative, answers, authority, question} = reply.message;
  if (rcode !== NOERROR && rcode !== NXDOMAIN) return undefined;
  const shown = answers.filter(record => record.type === 'CNAME' || record.name === question?.name);
  const referral = answers.length === 0 && !authoritative ? authority.filter(({type}) => type === 'NS') : [];
  const text = [authoritative ? 'AA' : '', ...[...shown, ...referral].map(lineOf).sort()].join('\n');
  return text.length <= MAX_DIGEST ? text : createHash('sha256').update(text).digest('base64');
}

function lineOf({ttl: _, ...record}: ResourceRecord): string {
  return JSON.stringify(record);
}
