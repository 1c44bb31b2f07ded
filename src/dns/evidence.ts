import {askAny} from './ask-any.ts';
import {addressesIn, type ChainEnd, cnamesIn, followChain, heardIn} from './chain.ts';
import type {Clock} from './clock.ts';
import type {Directory, SilentServer} from './directory.ts';
import {lookEverywhere, type ServerAnswer} from './look.ts';
import {isApex} from './names.ts';
import type {Session} from './session.ts';
import type {TargetAddresses, Targets} from './targets.ts';
import type {ProofQuestion} from './verdict.ts';

/** Everything that was heard about one question, before anything is concluded from it. */
export type Evidence = ZoneFault | HostEvidence;

export interface ZoneFault {
  readonly kind: 'fault';
  readonly fault: 'egress' | 'unreachable' | 'broken';
  readonly zone: string;
  readonly silent: readonly SilentServer[];
}

export interface HostEvidence {
  readonly kind: 'heard';
  readonly zone: string;
  readonly recursive: boolean;
  /** By the Public Suffix List or by a zone cut at the host itself: no CNAME may stand here. */
  readonly apex: boolean;
  readonly answers: readonly ServerAnswer[];
  /** For each CNAME value other than the target: where it leads. */
  readonly chains: ReadonlyMap<string, ChainEnd>;
  /** Absent: not needed. */
  readonly targetAddresses?: TargetAddresses;
  /** Absent: not needed, or nobody to ask. */
  readonly txt?: TxtEvidence;
}

export interface TxtEvidence {
  readonly answers: readonly ServerAnswer[];
  /** The value comes from a wildcard record, which proves nothing about this name; or nobody answered whether it does. */
  readonly wildcard: boolean | 'unknown';
}

/** More distinct CNAME values than this are wrong whatever they lead to. */
const MAX_CHAINS = 2;
/** Questions kept back for the probe of a wildcard, which a dead server may have to be asked in vain. */
const PROBE_RESERVE = 3;

export interface GatherDependencies {
  readonly directory: Directory;
  readonly targets: Targets;
  readonly clock: Clock;
  /** A label that no zone has. */
  readonly randomLabel: () => string;
}

export async function gatherEvidence(
  question: ProofQuestion,
  session: Session,
  deps: GatherDependencies,
): Promise<Evidence> {
  const {host, target} = question;
  const found = await deps.directory.find(host, session);
  if (!found.ok) return {kind: 'fault', fault: found.fault, zone: found.zone, silent: found.silent};
  const {zone, recursive} = found.authority;
  const apex = isApex(host) || zone === host;
  const answers = await lookEverywhere(found.authority, host, ['A', 'AAAA'], session);
  const chains = await followChains(answers, question, session, deps);
  const flat = showsAddresses(answers, chains);
  const [targetAddresses, txt] = await Promise.all([
    flat ? deps.targets.addressesOf(target, deps.directory, session.signal) : undefined,
    question.apexProof === 'txt' && (apex || flat) ? gatherTxt(question, session, deps) : undefined,
  ]);
  const optional = {...(targetAddresses && {targetAddresses}), ...(txt && {txt})};
  return {kind: 'heard', zone, recursive, apex, answers, chains, ...optional};
}

async function followChains(
  answers: readonly ServerAnswer[],
  {host, target}: ProofQuestion,
  session: Session,
  {directory}: GatherDependencies,
): Promise<Map<string, ChainEnd>> {
  const values = new Set(heardIn(answers).flatMap(answer => cnamesIn(answer.records)));
  values.delete(target);
  const chains = new Map<string, ChainEnd>();
  for (const value of [...values].slice(0, MAX_CHAINS)) {
    chains.set(
      value,
      value === host ? {kind: 'loop', partial: false} : await followChain(value, target, directory, session),
    );
  }
  return chains;
}

function showsAddresses(answers: readonly ServerAnswer[], chains: ReadonlyMap<string, ChainEnd>): boolean {
  const direct = heardIn(answers).some(answer => addressesIn(answer.records).length > 0);
  return direct || [...chains.values()].some(end => end.kind === 'addresses');
}

async function gatherTxt(
  {txtName, txtValue, host}: ProofQuestion,
  session: Session,
  {directory, randomLabel, clock}: GatherDependencies,
): Promise<TxtEvidence | undefined> {
  const found = await directory.find(txtName, session);
  if (!found.ok) return undefined;
  const answers = await lookEverywhere(found.authority, txtName, ['TXT'], session, session.remaining - PROBE_RESERVE);
  if (!holdsText(answers, txtValue)) return {answers, wildcard: false};
  const sibling = `_${randomLabel()}.${host}`;
  const probe = await askAny(found.authority, sibling, 'TXT', session, clock);
  if (probe === undefined) return {answers, wildcard: 'unknown'};
  const wildcard = probe.message.answers.some(record => record.type === 'TXT' && record.text === txtValue);
  return {answers, wildcard};
}

export function textsIn(answer: ServerAnswer): string[] {
  return answer.ok ? answer.records.flatMap(record => (record.type === 'TXT' ? [record.text] : [])) : [];
}

function holdsText(answers: readonly ServerAnswer[], value: string): boolean {
  return answers.some(answer => textsIn(answer).includes(value));
}
