import {isWithin} from '../names/wire-names.ts';
import type {Endpoint} from '../wire/addresses.ts';
import type {QueryType, ResourceRecord} from '../wire/codec.ts';
import type {Authority, NameServer} from './authority.ts';
import {serverLabel} from './directory.ts';
import {
  type InterpretedReply,
  interpretReply,
  isRefusal,
  type NoAnswer,
  negativeTtl,
  noAnswerWithoutAddress,
} from './reply.ts';
import type {VerdictSession} from './session.ts';

/** The most names in a chain of CNAME records. */
export const MAX_HOPS = 8;
/** The most servers of a zone that we query: as many as the root has. */
export const MAX_SERVERS = 13;
const MAX_ENDPOINTS = MAX_SERVERS;
/** The most names taken from one answer: more than a chain may have, so that an overlong chain is noticed. */
const MAX_PATH = MAX_HOPS + 2;

/** The answer of one address of one name server about one name. */
export type ServerAnswer = ServerRecords | ServerNoAnswer;

export interface ServerRecords {
  readonly ok: true;
  readonly server: string;
  /** The name server. It may have several addresses. */
  readonly serverName: string;
  /** Records of the queried types and CNAME, and only of the queried name. */
  readonly records: readonly ResourceRecord[];
  /** The names along its CNAME records, in order: those in the zone, and the first one outside. */
  readonly path: readonly string[];
  /** In seconds, for the types without a record. */
  readonly negativeTtl?: number;
  /** It has a CNAME, but fails to answer about addresses. Its CNAME counts only if it leads elsewhere. */
  readonly failing?: ServerNoAnswer;
  /** It has addresses of one family, and fails to answer about the other. */
  readonly lacking?: ServerNoAnswer;
}

export interface ServerNoAnswer {
  readonly ok: false;
  readonly server: string;
  readonly serverName: string;
  readonly noAnswer: NoAnswer;
  readonly detail: string;
}

/** Queries reserved for the TXT record or the chain of a CNAME, in addition to one for each server. */
const RESERVE = 4;

/**
 * Queries every address of every server of an authority, in parallel. Queries each for the first type before the
 * others, so a dead server costs one query. Does not query for the CNAME itself: a CNAME answers queries for addresses.
 * `questions` is the most queries to send.
 */
export async function queryAll(
  authority: Authority,
  name: string,
  types: readonly [QueryType, ...QueryType[]],
  session: VerdictSession,
  questions = session.remaining - (types.length > 1 ? authority.servers.length + RESERVE : 0),
): Promise<ServerAnswer[]> {
  const share = Math.min(MAX_ENDPOINTS, Math.floor(questions / types.length));
  const chosen = endpointsOf(authority.servers).slice(0, Math.max(share, 1));
  const queried = chosen.map(({server, endpoint}) => queryServer(authority, server, endpoint, name, types, session));
  const skipped = authority.servers.filter(server => chosen.every(choice => choice.server !== server));
  if (skipped.some(({endpoints}) => endpoints.length > 0)) session.markUnfinished();
  return [...(await Promise.all(queried)), ...skipped.map(notQueried), ...omittedServers(authority)];
}

/** The first address of each server, then the second ones: even a small budget covers every server once. */
function endpointsOf(servers: readonly NameServer[]): {server: NameServer; endpoint: Endpoint}[] {
  return [0, 1].flatMap(nth =>
    servers.flatMap(server => {
      const endpoint = server.endpoints[nth];
      return endpoint === undefined ? [] : [{server, endpoint}];
    }),
  );
}

function notQueried(server: NameServer): ServerNoAnswer {
  const common = {ok: false, server: server.name, serverName: server.name} as const;
  return server.endpoints.length === 0
    ? {...common, ...noAnswerWithoutAddress(server)}
    : {...common, noAnswer: 'budget', detail: 'not queried yet: one check sends a limited number of queries'};
}

function omittedServers({omitted = 0}: Authority): ServerNoAnswer[] {
  const name = `${omitted} more`;
  const detail = `not queried: Nameplate queries at most ${MAX_SERVERS} name servers of a zone`;
  return omitted > 0 ? [{ok: false, server: name, serverName: name, noAnswer: 'limit', detail}] : [];
}

async function queryServer(
  authority: Authority,
  server: NameServer,
  endpoint: Endpoint,
  name: string,
  types: readonly [QueryType, ...QueryType[]],
  session: VerdictSession,
): Promise<ServerAnswer> {
  const [first, ...others] = types;
  const query = (type: QueryType) => queryEndpoint(authority, endpoint, name, type, session);
  const opening = await query(first);
  const isWorthMore = opening.ok || isRefusal(opening.noAnswer) || opening.noAnswer === 'servfail';
  const replies = [opening, ...(isWorthMore ? await Promise.all(others.map(query)) : [])];
  const label = {server: serverLabel(server.name, endpoint), serverName: server.name};
  const silent = replies.find(each => !each.ok);
  if (silent?.ok !== false) return {ok: true, ...label, ...summarize(replies, name, types, authority)};
  const noAnswer: ServerNoAnswer = {ok: false, ...label, noAnswer: silent.noAnswer, detail: silent.detail};
  const lacking = {...noAnswer, detail: `${silent.detail} for ${types[replies.indexOf(silent)]} records`};
  const half = halfAnswer(replies, lacking, summarize(replies, name, types, authority));
  if (half !== undefined) return {ok: true, ...label, ...half};
  if (silent.noAnswer !== 'servfail' || first === 'TXT') return noAnswer;
  const found = summarize([await query('CNAME')], name, [], authority);
  return found.records.length > 0 ? {ok: true, ...label, ...found, failing: noAnswer} : noAnswer;
}

/**
 * The answer that resolvers give if a server answers about only one of two types (RFC 4074 section 4); undefined if
 * the missing answer could contradict the one that is there. A CNAME stands for all types. A type that the server
 * refuses to answer for has no records there. If it fails at a type, it counts, but does not speak for the other type.
 */
function halfAnswer(
  [opening, ...others]: readonly InterpretedReply[],
  lacking: ServerNoAnswer,
  found: ReturnType<typeof summarize>,
): (ReturnType<typeof summarize> & Pick<ServerRecords, 'lacking'>) | undefined {
  const failures = [opening, ...others].flatMap(each => (each && !each.ok ? [each.noAnswer] : []));
  if (failures.length > others.length || failures.includes('bogus')) return undefined;
  if (found.records.some(({type}) => type === 'CNAME')) return found;
  if (failures.every(isRefusal) && (opening?.ok || found.records.length > 0)) return found;
  const isFailing = failures.every(each => isRefusal(each) || each === 'servfail');
  return isFailing && found.records.length > 0 ? {...found, lacking} : undefined;
}

/**
 * The records of the types, or the CNAME in their place. A CNAME answers all types. If one type has no answer, the
 * server is between two states (a cache stores answers by type), and the old state counts.
 */
function summarize(
  replies: readonly InterpretedReply[],
  name: string,
  types: readonly QueryType[],
  authority: Authority,
) {
  const messages = replies.flatMap(each => (each.ok ? [each.message] : []));
  const all = messages.flatMap(message => message.answers);
  const ofName = messages.map(({answers}) => answers.filter(record => record.name === name));
  const settled = ofName.every(answers => answers.length > 0);
  const records = new Map<string, ResourceRecord>();
  for (const record of ofName.flat()) {
    const wanted = types.includes(record.type) || (record.type === 'CNAME' && settled);
    if (wanted) records.set(JSON.stringify({...record, ttl: 0}), record);
  }
  const ttls = messages.map(negativeTtl).filter(ttl => ttl !== undefined);
  return {
    records: [...records.values()],
    path: pathIn(all, name, authority.zone),
    ...(ttls.length > 0 && {negativeTtl: Math.min(...ttls)}),
  };
}

/** A server answers with the whole chain within its zone. It has no authority over other zones. */
function pathIn(records: readonly ResourceRecord[], start: string, zone: string): string[] {
  const targets = new Map<string, string>();
  for (const record of records) {
    if (record.type === 'CNAME' && !targets.has(record.name)) targets.set(record.name, record.target);
  }
  const path: string[] = [];
  for (let name = start; path.length < MAX_PATH && isWithin(name, zone); ) {
    const next = targets.get(name);
    if (next === undefined || path.includes(next)) break;
    path.push(next);
    name = next;
  }
  return path;
}

/**
 * Queries a validating resolver that fails again without validation. If that works, and validation fails once more, the
 * zone's DNSSEC is broken. If the resolver stops answering, it is not.
 */
async function queryEndpoint(
  authority: Authority,
  endpoint: Endpoint,
  name: string,
  type: QueryType,
  session: VerdictSession,
): Promise<InterpretedReply> {
  const {recursive} = authority;
  const query = async (checkingDisabled: boolean) =>
    interpretReply(
      await session.query(endpoint, name, type, {recursionDesired: recursive, checkingDisabled}),
      authority,
    );
  const result = await query(false);
  if (!recursive || result.ok || result.noAnswer !== 'servfail') return result;
  const unchecked = await query(true);
  if (!unchecked.ok) return result;
  const again = await query(false);
  const failsAgain = !again.ok && again.noAnswer === 'servfail';
  return failsAgain ? {ok: false, noAnswer: 'bogus', detail: 'DNSSEC validation fails'} : again;
}
