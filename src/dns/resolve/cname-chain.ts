import {parentOf} from '../names/wire-names.ts';
import type {ResourceRecord} from '../wire/codec.ts';
import type {Directory, SilentServer} from './directory.ts';
import {MAX_HOPS, queryAll, type ServerAnswer, type ServerNoAnswer, type ServerRecords} from './query-all.ts';
import {isRefusal} from './reply.ts';
import type {VerdictSession} from './session.ts';

/** If not all servers can be queried, a hop uses a third of the queries that are left, to reach the end of the chain. */
const SHARE_OF_HOP = 3;
/** The least number of servers that a hop queries. */
const MIN_SERVERS = 2;
/** Queries that a hop leaves for those after it. */
const RESERVE = 4;

/** `missed`: the servers on the way that did not answer, and could have answered something else. */
interface Followed {
  readonly missed: readonly ServerNoAnswer[];
}

/** Where a chain of CNAME records leads. */
export type ChainEnd =
  | (Followed & {readonly kind: 'target'})
  | (Followed & {
      readonly kind: 'addresses';
      readonly at: string;
      readonly addresses: readonly string[];
      readonly answers: readonly ServerAnswer[];
    })
  | (Followed & {readonly kind: 'nothing'; readonly at: string})
  /** The target of another account, wherever that leads. */
  | (Followed & {readonly kind: 'other-target'; readonly at: string})
  | (Followed & {readonly kind: 'loop'})
  | (Followed & {readonly kind: 'too-long'})
  /** The servers of the name at `at` give different answers. */
  | {readonly kind: 'unsettled'; readonly at: string}
  /** The servers of the name at `at`, `silent`, do not answer. */
  | {readonly kind: 'unknown'; readonly at: string; readonly silent: readonly SilentServer[]};

type Hop = Followed & {readonly kind: 'hop'; readonly path: readonly string[]};

/** Follows a chain from zone to zone, querying the servers of each, until it reaches the target or ends elsewhere. */
export async function followChain(
  start: string,
  target: string | undefined,
  directory: Directory,
  session: VerdictSession,
): Promise<ChainEnd> {
  const seen = new Set<string>();
  const missed: ServerNoAnswer[] = [];
  let name = start;
  if (isOtherTarget(start, target)) return {kind: 'other-target', at: start, missed};
  while (name !== target) {
    if (seen.has(name)) return {kind: 'loop', missed};
    if (seen.size >= MAX_HOPS) return {kind: 'too-long', missed};
    const next = await nextHop(name, directory, session);
    if ('missed' in next) missed.push(...next.missed);
    if (next.kind !== 'hop') return 'missed' in next ? {...next, missed} : next;
    for (const passed of next.path) {
      seen.add(name);
      name = passed;
      if (name === target) break;
      if (isOtherTarget(name, target)) return {kind: 'other-target', at: name, missed};
    }
  }
  return {kind: seen.size > MAX_HOPS ? 'too-long' : 'target', missed};
}

/** The targets of all accounts are names in one zone, which may lead to the same addresses. */
function isOtherTarget(name: string, target: string | undefined): boolean {
  return target !== undefined && name !== target && parentOf(name) === parentOf(target);
}

async function nextHop(name: string, directory: Directory, session: VerdictSession): Promise<Hop | ChainEnd> {
  const found = await directory.find(name, session, 'every');
  if (!found.ok) return {kind: 'unknown', at: name, silent: found.silent};
  const {servers} = found.authority;
  const share = () => {
    const third = Math.floor(session.remaining / SHARE_OF_HOP);
    return Math.max(Math.min(servers.length, session.remaining - RESERVE), third, MIN_SERVERS);
  };
  const answers = await queryAll(found.authority, name, ['A'], session, share());
  const answered = onlyAnswered(answers);
  if (answered.length === 0) return silentAt(name, answers);
  const targets = new Set(answered.map(answer => cnamesIn(answer.records).join(' ')));
  const [only] = targets;
  if (targets.size > 1 || only?.includes(' ')) return {kind: 'unsettled', at: name};
  if (only) return {kind: 'hop', path: commonPath(answered), missed: missedIn(answers)};
  return addressEnd(name, answers, await queryAll(found.authority, name, ['AAAA'], session, share()));
}

/** The path as far as all answers agree. */
function commonPath(answers: readonly ServerRecords[]): string[] {
  const [first = [], ...others] = answers.map(({path}) => path);
  const end = first.findIndex((name, at) => others.some(path => path[at] !== name));
  return end < 0 ? [...first] : first.slice(0, end);
}

function addressEnd(at: string, ipv4: readonly ServerAnswer[], ipv6: readonly ServerAnswer[]): ChainEnd {
  // Servers that refuse to answer about IPv6 addresses have none.
  const failing = ipv6.filter(answer => answer.ok || !isRefusal(answer.noAnswer));
  if (failing.length > 0 && onlyAnswered(ipv6).length === 0) return silentAt(at, failing);
  const answers = [...ipv4, ...failing];
  const addresses = [...new Set(onlyAnswered(answers).flatMap(answer => addressesIn(answer.records)))];
  const missed = [...missedIn(ipv4), ...missedIn(failing)];
  return addresses.length === 0 ? {kind: 'nothing', at, missed} : {kind: 'addresses', at, addresses, answers, missed};
}

function silentAt(at: string, answers: readonly ServerAnswer[]): ChainEnd {
  return {kind: 'unknown', at, silent: answers.filter(answer => !answer.ok)};
}

/** The servers of which no address answered. */
export function missedIn(answers: readonly ServerAnswer[]): ServerNoAnswer[] {
  const answered = new Set(onlyAnswered(answers).map(({serverName}) => serverName));
  const missed = new Map<string, ServerNoAnswer>();
  for (const answer of answers) {
    if (!answer.ok && !answered.has(answer.serverName)) missed.set(answer.serverName, answer);
  }
  return [...missed.values()];
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
