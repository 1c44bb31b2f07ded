import type {ResourceRecord} from '../wire/codec.ts';
import type {Directory} from './directory.ts';
import {MAX_HOPS, queryAll, type ServerAnswer, type ServerRecords} from './query-all.ts';
import type {VerdictSession} from './session.ts';

/** Each hop may use a third of the queries that are left, so a long chain can be followed to its end. */
const SHARE_OF_HOP = 3;
/** The least number of servers that a hop queries. */
const MIN_SERVERS = 2;

/** `partial`: a server on the way did not answer, and could have answered something else. */
interface Followed {
  readonly partial: boolean;
}

/** Where a chain of CNAME records leads. */
export type ChainEnd =
  | {readonly kind: 'target'}
  | (Followed & {
      readonly kind: 'addresses';
      readonly at: string;
      readonly addresses: readonly string[];
      readonly answers: readonly ServerAnswer[];
    })
  | (Followed & {readonly kind: 'nothing'; readonly at: string})
  | (Followed & {readonly kind: 'loop'})
  | (Followed & {readonly kind: 'too-long'})
  /** The servers of the name at `at` give different answers. */
  | {readonly kind: 'unsettled'; readonly at: string}
  /** The servers of the name at `at` do not answer. `why` completes the sentence that begins with the name. */
  | {readonly kind: 'unknown'; readonly at: string; readonly why: string};

type Hop = {readonly kind: 'hop'; readonly path: readonly string[]; readonly partial: boolean};

/** Follows a chain from zone to zone, querying the servers of each, until it reaches the target or ends elsewhere. */
export async function followChain(
  start: string,
  target: string | undefined,
  directory: Directory,
  session: VerdictSession,
): Promise<ChainEnd> {
  const seen = new Set<string>();
  let name = start;
  let partial = false;
  while (name !== target) {
    if (seen.has(name)) return {kind: 'loop', partial};
    if (seen.size >= MAX_HOPS) return {kind: 'too-long', partial};
    const next = await nextHop(name, directory, session);
    if ('partial' in next) partial ||= next.partial;
    if (next.kind !== 'hop') return 'partial' in next ? {...next, partial} : next;
    for (const passed of [name, ...next.path.slice(0, -1)]) seen.add(passed);
    name = next.path.at(-1) ?? name;
  }
  return seen.size > MAX_HOPS ? {kind: 'too-long', partial} : {kind: 'target'};
}

async function nextHop(name: string, directory: Directory, session: VerdictSession): Promise<Hop | ChainEnd> {
  const found = await directory.find(name, session);
  if (!found.ok) return silentAt(name, []);
  const share = () => Math.max(Math.floor(session.remaining / SHARE_OF_HOP), MIN_SERVERS);
  const answers = await queryAll(found.authority, name, ['A'], session, share());
  const answered = onlyAnswered(answers);
  if (answered.length === 0) return silentAt(name, answers);
  const targets = new Set(answered.map(answer => cnamesIn(answer.records).join(' ')));
  const [only] = targets;
  if (targets.size > 1 || only?.includes(' ')) return {kind: 'unsettled', at: name};
  if (only) return {kind: 'hop', path: commonPath(answered), partial: isPartial(answers)};
  return addressEnd(name, answers, await queryAll(found.authority, name, ['AAAA'], session, share()));
}

/** The path as far as all answers agree. */
function commonPath(answers: readonly ServerRecords[]): string[] {
  const [first = [], ...others] = answers.map(({path}) => path);
  const end = first.findIndex((name, at) => others.some(path => path[at] !== name));
  return end < 0 ? [...first] : first.slice(0, end);
}

function addressEnd(at: string, ipv4: readonly ServerAnswer[], ipv6: readonly ServerAnswer[]): ChainEnd {
  if (onlyAnswered(ipv6).length === 0) return silentAt(at, ipv6);
  const answers = [...ipv4, ...ipv6];
  const addresses = [...new Set(onlyAnswered(answers).flatMap(answer => addressesIn(answer.records)))];
  const partial = isPartial(ipv4) || isPartial(ipv6);
  return addresses.length === 0 ? {kind: 'nothing', at, partial} : {kind: 'addresses', at, addresses, answers, partial};
}

function silentAt(at: string, answers: readonly ServerAnswer[]): ChainEnd {
  const unasked = answers.length > 0 && answers.every(answer => !answer.ok && answer.noAnswer === 'budget');
  const why = unasked ? 'which was not queried: too many queries for one check' : 'whose name servers do not answer';
  return {kind: 'unknown', at, why};
}

/** Servers that were skipped to save queries do not count: those that were queried represent them. */
function isPartial(answers: readonly ServerAnswer[]): boolean {
  const answered = new Set(onlyAnswered(answers).map(({serverName}) => serverName));
  return answers.some(answer => !answer.ok && answer.noAnswer !== 'budget' && !answered.has(answer.serverName));
}

export function onlyAnswered(answers: readonly ServerAnswer[]): ServerRecords[] {
  return answers.filter(answer => answer.ok);
}

export function cnamesIn(records: readonly ResourceRecord[]): string[] {
  return [...new Set(records.flatMap(record => (record.type === 'CNAME' ? [record.target] : [])))].sort();
}

export function addressesIn(records: readonly ResourceRecord[]): string[] {
  return records.flatMap(record => (record.type === 'A' || record.type === 'AAAA' ? [record.address] : []));
}
