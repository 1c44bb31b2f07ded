import type {Endpoint} from './addresses.ts';
import type {QueryType, ResourceRecord} from './codec.ts';
import {serverLabel} from './directory.ts';
import {type Heard, hear, negativeTtl, type Silence, silenceWithoutAddress} from './reply.ts';
import type {Authority, NameServer, Session} from './session.ts';
import {isWithin} from './wire-names.ts';

const MAX_ENDPOINTS = 10;

/** What one address of one name server says about one name. */
export type ServerAnswer = ServerRecords | ServerSilence;

export interface ServerRecords {
  readonly ok: true;
  readonly server: string;
  /** The name server, which may have several addresses. */
  readonly serverName: string;
  /** Records of the asked types and CNAME, and of exactly the asked name. */
  readonly records: readonly ResourceRecord[];
  /** The names that its CNAME records lead over, in order, as far as they lie in the zone, and the first one outside. */
  readonly path: readonly string[];
  /** Seconds; for the types that had no record. */
  readonly negativeTtl?: number;
  /** It has a CNAME, but fails when it is asked for addresses: only a CNAME that leads nowhere is taken from it. */
  readonly failing?: ServerSilence;
}

export interface ServerSilence {
  readonly ok: false;
  readonly server: string;
  readonly serverName: string;
  readonly silence: Silence;
  readonly detail: string;
}

/** Kept back when a host is looked up, beside one question to each server: for the TXT record or the chain of a CNAME. */
const RESERVE = 4;

/**
 * Asks every address of every server of an authority, in parallel, and each for the first type before the others, so
 * that a dead server costs one question. No question is asked for the CNAME itself: it answers those for addresses. A
 * server that leaves one of the types unanswered has not answered: what it hides could be the record in the way.
 * `questions` is what may be spent on it.
 */
export async function lookEverywhere(
  authority: Authority,
  name: string,
  types: readonly [QueryType, ...QueryType[]],
  session: Session,
  questions = session.remaining - (types.length > 1 ? authority.servers.length + RESERVE : 0),
): Promise<ServerAnswer[]> {
  const share = Math.min(MAX_ENDPOINTS, Math.floor(questions / types.length));
  const chosen = endpointsOf(authority.servers).slice(0, Math.max(share, 1));
  const asked = chosen.map(({server, endpoint}) => look(authority, server, endpoint, name, types, session));
  const unasked = authority.servers.filter(server => chosen.every(choice => choice.server !== server));
  return [...(await Promise.all(asked)), ...unasked.map(notAsked)];
}

/** The first address of each server, then the second ones: where the budget ends, every server still has a say. */
function endpointsOf(servers: readonly NameServer[]): {server: NameServer; endpoint: Endpoint}[] {
  return [0, 1].flatMap(nth =>
    servers.flatMap(server => {
      const endpoint = server.endpoints[nth];
      return endpoint === undefined ? [] : [{server, endpoint}];
    }),
  );
}

function notAsked(server: NameServer): ServerSilence {
  const common = {ok: false, server: server.name, serverName: server.name} as const;
  return server.endpoints.length === 0
    ? {...common, ...silenceWithoutAddress(server)}
    : {...common, silence: 'budget', detail: 'not asked: too many servers for one check'};
}

async function look(
  authority: Authority,
  server: NameServer,
  endpoint: Endpoint,
  name: string,
  [first, ...others]: readonly [QueryType, ...QueryType[]],
  session: Session,
): Promise<ServerAnswer> {
  const ask = (type: QueryType) => askOne(authority, endpoint, name, type, session);
  const opening = await ask(first);
  const heard = opening.ok ? [opening, ...(await Promise.all(others.map(ask)))] : [opening];
  const label = {server: serverLabel(server.name, endpoint), serverName: server.name};
  const silent = heard.find(each => !each.ok);
  if (silent?.ok !== false) return {ok: true, ...label, ...summarise(heard, name, [first, ...others], authority)};
  const silence: ServerSilence = {ok: false, ...label, silence: silent.silence, detail: silent.detail};
  if (silent.silence !== 'servfail' || first === 'TXT') return silence;
  const found = summarise([await ask('CNAME')], name, [], authority);
  return found.records.length > 0 ? {ok: true, ...label, ...found, failing: silence} : silence;
}

/**
 * The records of the types, and the CNAME that stands in their place. A CNAME answers all types: where one of them finds
 * nothing, the server is between two states (a cache holds answers by type), and the old one counts.
 */
function summarise(heard: readonly Heard[], name: string, types: readonly QueryType[], authority: Authority) {
  const messages = heard.flatMap(each => (each.ok ? [each.message] : []));
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

/** A server answers with the whole chain within its zone; what it says about other zones is not its to say. */
function pathIn(records: readonly ResourceRecord[], start: string, zone: string): string[] {
  const path: string[] = [];
  for (let name = start; isWithin(name, zone); ) {
    const next = records.find(record => record.type === 'CNAME' && record.name === name);
    if (next?.type !== 'CNAME' || path.includes(next.target)) break;
    path.push(next.target);
    name = next.target;
  }
  return path;
}

/**
 * A validating resolver that fails is asked again without validation: if that works, and the other way fails once more, the
 * zone's DNSSEC is broken. One that falls silent has not said so.
 */
async function askOne(
  authority: Authority,
  endpoint: Endpoint,
  name: string,
  type: QueryType,
  session: Session,
): Promise<Heard> {
  const {recursive} = authority;
  const ask = async (checkingDisabled: boolean) =>
    hear(await session.ask(endpoint, name, type, {recursionDesired: recursive, checkingDisabled}), authority);
  const heard = await ask(false);
  if (!recursive || heard.ok || heard.silence !== 'servfail') return heard;
  const unchecked = await ask(true);
  if (!unchecked.ok) return heard;
  const again = await ask(false);
  const failsAgain = !again.ok && again.silence === 'servfail';
  return failsAgain ? {ok: false, silence: 'bogus', detail: 'DNSSEC validation fails'} : again;
}
