import type {Clock} from '../../time/clock.ts';
import {isApex, isRegistrySuffix, isWildcard} from '../names/hosts.ts';
import {parentOf} from '../names/wire-names.ts';
import type {Authority} from '../resolve/authority.ts';
import {addressesIn, type ChainEnd, cnamesIn, followChain, onlyAnswered} from '../resolve/cname-chain.ts';
import type {Directory, SilentServer} from '../resolve/directory.ts';
import {queryAll, type ServerAnswer} from '../resolve/query-all.ts';
import {queryAny} from '../resolve/query-any.ts';
import type {VerdictSession} from '../resolve/session.ts';
import type {TargetAddresses, Targets} from '../resolve/targets.ts';
import {findDoubled, findWildcard, type Hints} from './hints.ts';
import type {ProofQuestion} from './verdict.ts';

/** All answers about one question, before anything is concluded from them. */
export type Evidence = ZoneFault | HostEvidence;

export interface ZoneFault {
  readonly kind: 'fault';
  readonly fault: 'egress' | 'unreachable' | 'broken';
  readonly zone: string;
  readonly silent: readonly SilentServer[];
}

export interface HostEvidence {
  readonly kind: 'host';
  readonly zone: string;
  readonly recursive: boolean;
  /** The zone that the host's owner edits, if DNS shows it: not that of a registry, which lacks the delegation. */
  readonly ownZone?: string;
  /** Whether the host is a zone or, if that is not known, by the Public Suffix List. An apex cannot have a CNAME. */
  readonly apex: boolean;
  readonly hints?: Hints;
  readonly answers: readonly ServerAnswer[];
  /** Where each CNAME value other than the target leads. */
  readonly chains: ReadonlyMap<string, ChainEnd>;
  /** Absent: not needed. */
  readonly targetAddresses?: TargetAddresses;
  /** Absent: not needed. */
  readonly txt?: RecordEvidence;
  /** The CNAME of the delegated challenge. Absent: not needed. */
  readonly challenge?: RecordEvidence;
}

/** A record besides those of the host itself. */
export interface RecordEvidence {
  readonly answers: readonly ServerAnswer[];
  /**
   * Whether the value comes from a wildcard record, which proves nothing about this name. `unknown`: no server answered;
   * `unasked`: this check did not get to it.
   */
  readonly wildcard: boolean | 'unknown' | 'unasked';
  readonly hints?: Hints;
}

/** More distinct CNAME values than this are wrong, wherever they lead. */
const MAX_CHAINS = 2;
/** Queries reserved for the probe of a wildcard and for hints, including some that dead servers do not answer. */
const PROBE_RESERVE = 5;

interface GatherDependencies {
  readonly directory: Directory;
  readonly targets: Targets;
  readonly clock: Clock;
  /** A label that no zone has. */
  readonly randomLabel: () => string;
}

export async function gatherEvidence(
  question: ProofQuestion,
  session: VerdictSession,
  deps: GatherDependencies,
): Promise<Evidence> {
  const {host, target} = question;
  const found = await deps.directory.find(host, session, 'every');
  if (!found.ok) return {kind: 'fault', fault: found.fault, zone: found.zone, silent: found.silent};
  const {authority} = found;
  const {zone, recursive} = authority;
  const ownZone = recursive || isRegistrySuffix(zone) ? undefined : zone;
  const apex = ownZone === undefined ? isApex(host) : ownZone === host;
  const answers = await queryAll(authority, host, ['A', 'AAAA'], session);
  const chains = await followChains(answers, question, session, deps);
  const flat = showsAddresses(answers, chains);
  const [targetAddresses, proofs] = await Promise.all([
    flat ? deps.targets.addressesOf(target, deps.directory, session.signal) : undefined,
    isWildcard(host)
      ? gatherChallenge(question, session, deps)
      : question.apexProof === 'txt' && (apex || flat)
        ? gatherProofs(question, session, deps)
        : undefined,
  ]);
  const hints = apex || isWildcard(host) ? undefined : await hintsAbout(authority, question, answers, session, deps);
  const optional = {...(ownZone && {ownZone}), ...(targetAddresses && {targetAddresses}), ...proofs};
  return {kind: 'host', zone, recursive, apex, answers, chains, ...optional, ...(hints && {hints})};
}

/** If no server has the CNAME, the record may be missing in a way that can be explained. */
async function hintsAbout(
  authority: Authority,
  {host, target}: ProofQuestion,
  answers: readonly ServerAnswer[],
  session: VerdictSession,
  deps: GatherDependencies,
): Promise<Hints | undefined> {
  const answered = onlyAnswered(answers);
  if (answered.length === 0 || answered.some(({records}) => cnamesIn(records).includes(target))) return undefined;
  const isShown = answered.some(({records}) => records.length > 0);
  const wildcard = isShown ? await findWildcard(authority, host, answers, session, deps) : undefined;
  if (isShown && wildcard === undefined) return undefined;
  const doubled = await findDoubled(authority, host, ['CNAME', target], session, deps);
  return {...(wildcard && {wildcard}), ...(doubled && {doubled})};
}

async function followChains(
  answers: readonly ServerAnswer[],
  {host, target}: ProofQuestion,
  session: VerdictSession,
  {directory}: GatherDependencies,
): Promise<Map<string, ChainEnd>> {
  const values = new Set(onlyAnswered(answers).flatMap(answer => cnamesIn(answer.records)));
  values.delete(target);
  const chains = new Map<string, ChainEnd>();
  for (const value of [...values].slice(0, MAX_CHAINS)) {
    chains.set(
      value,
      value === host ? {kind: 'loop', missed: []} : await followChain(value, target, directory, session),
    );
  }
  return chains;
}

function showsAddresses(answers: readonly ServerAnswer[], chains: ReadonlyMap<string, ChainEnd>): boolean {
  const direct = onlyAnswered(answers).some(answer => addressesIn(answer.records).length > 0);
  return direct || [...chains.values()].some(end => end.kind === 'addresses');
}

/** The TXT record; the delegated challenge only if no server has that one. */
async function gatherProofs(
  question: ProofQuestion,
  session: VerdictSession,
  deps: GatherDependencies,
): Promise<Pick<HostEvidence, 'txt' | 'challenge'>> {
  const {txtName, txtValue} = question;
  const txt = await gatherRecord({type: 'TXT', name: txtName, value: txtValue}, question, session, deps);
  if (txt.answers.some(answer => textsIn(answer).includes(txtValue))) return {txt};
  return {txt, ...(await gatherChallenge(question, session, deps))};
}

async function gatherChallenge(
  question: ProofQuestion,
  session: VerdictSession,
  deps: GatherDependencies,
): Promise<Pick<HostEvidence, 'challenge'>> {
  const {challenge} = question;
  if (!challenge) return {};
  const {name, target} = challenge;
  return {challenge: await gatherRecord({type: 'CNAME', name, value: target}, question, session, deps)};
}

interface WantedRecord {
  readonly type: 'TXT' | 'CNAME';
  readonly name: string;
  readonly value: string;
}

async function gatherRecord(
  {type, name, value}: WantedRecord,
  {txtName, txtValue}: ProofQuestion,
  session: VerdictSession,
  {directory, randomLabel, clock}: GatherDependencies,
): Promise<RecordEvidence> {
  const found = await directory.find(name, session, 'every');
  const open = () => (session.unfinished ? 'unasked' : 'unknown');
  if (!found.ok) return {answers: [], wildcard: open()};
  const answers = await queryAll(found.authority, name, [type], session, session.remaining - PROBE_RESERVE);
  const valuesIn = type === 'TXT' ? textsIn : targetsIn;
  if (!answers.some(answer => valuesIn(answer).includes(value))) {
    if (type === 'CNAME') return {answers, wildcard: false};
    const hints = await hintsAboutText(found.authority, {txtName, txtValue}, answers, session, {clock, randomLabel});
    return {answers, wildcard: false, ...(hints && {hints})};
  }
  const sibling = `_${randomLabel()}.${parentOf(name)}`;
  const probe = await queryAny(found.authority, sibling, type, session, clock);
  if (probe === undefined) return {answers, wildcard: open()};
  const {answers: records} = probe.message;
  const wildcard = records.some(record =>
    record.type === 'TXT' ? record.text === value : record.type === 'CNAME' && record.target === value,
  );
  return {answers, wildcard};
}

async function hintsAboutText(
  authority: Authority,
  {txtName, txtValue}: Pick<ProofQuestion, 'txtName' | 'txtValue'>,
  answers: readonly ServerAnswer[],
  session: VerdictSession,
  deps: Pick<GatherDependencies, 'clock' | 'randomLabel'>,
): Promise<Hints | undefined> {
  const isAlias = onlyAnswered(answers).some(({records}) => cnamesIn(records).length > 0);
  const wildcard = isAlias ? await findWildcard(authority, txtName, answers, session, deps) : undefined;
  const doubled = await findDoubled(authority, txtName, ['TXT', txtValue], session, deps);
  return {...(wildcard && {wildcard}), ...(doubled && {doubled})};
}

export function textsIn(answer: ServerAnswer): string[] {
  return answer.ok ? answer.records.flatMap(record => (record.type === 'TXT' ? [record.text] : [])) : [];
}

export function targetsIn(answer: ServerAnswer): string[] {
  return answer.ok ? cnamesIn(answer.records) : [];
}
