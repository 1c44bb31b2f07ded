/** Follows delegations from the root to the name servers of a zone, so that no verdict depends on a recursive. */
import type {Clock} from '../../time/clock.ts';
import {TtlCache} from '../../time/ttl-cache.ts';
import {isPublicSuffix} from '../names/hosts.ts';
import {isWithin, parentOf, selfAndAncestors} from '../names/wire-names.ts';
import {type Family, ofFamilies} from '../wire/addresses.ts';
import type {Message, ResourceRecord} from '../wire/codec.ts';
import type {DnsTransport} from '../wire/transport.ts';
import type {Authority, NameServer} from './authority.ts';
import {type Directory, type SilentServer, serverLabel, type ZoneFinding} from './directory.ts';
import {hedged} from './hedge.ts';
import {MAX_SERVERS} from './query-all.ts';
import {candidatesOf, HEDGE_MS, queryAny} from './query-any.ts';
import {
  type InterpretedReply,
  interpretReply,
  isMisdelegation,
  type NoAnswer,
  noAnswerWithoutAddress,
} from './reply.ts';
import type {VerdictSession} from './session.ts';

/** Bounds of what a stranger's zone can make us do. */
const MAX_ADDRESSES = 2;
const MAX_DEPTH = 3;
/** As many servers without glue are looked up if the answer of any of them is enough. */
const ENOUGH_SERVERS = 3;

const CACHE_ENTRIES = 10_000;
const BOTH_FAMILIES: ReadonlySet<Family> = new Set([4, 6]);
/**
 * For name servers: their addresses, and the zones of their names. It affects all tenants of a DNS provider, and the
 * provider may move a name server. It is longer than a check and the next one after it, which continues with what the
 * first one has learned.
 */
const HOST_CACHE_MS = 300_000;
const MIN_CACHE_MS = 60_000;
const MAX_CACHE_MS = 3_600_000;

interface DelegationOptions {
  readonly transport: DnsTransport;
  readonly roots: readonly NameServer[];
  /** 53, except in tests: NS records have no port. */
  readonly port: number;
  /** The families of addresses that this machine can send to. Default: both. */
  readonly families?: ReadonlySet<Family>;
  readonly clock: Clock;
}

interface Cut {
  readonly kind: 'cut';
  readonly names: readonly string[];
  readonly message: Message;
  readonly ttl: number;
}

/** Which zone is sought, and why: how deep within the search for another zone's servers. */
interface Search {
  readonly name: string;
  readonly which: 'every' | 'any';
  readonly depth: number;
}

/** The answer of a zone's servers about a zone cut at the next name below it. */
type Step = Cut | {readonly kind: 'same'} | {readonly kind: 'silent'; readonly silent: readonly SilentServer[]};

/**
 * Finds the zone of a name and all name servers of that zone, from the root down, label by label (as in RFC 9156).
 * Every verdict queries the parent of the host's zone again, so it sees a changed delegation immediately. Only the zones
 * of registries, and the addresses and zones of name servers, outlive a verdict, so a check that had too many of them to
 * find gets further the next time. If a tenant's servers do not answer about NS records, they still count as the name's
 * servers: some answer only about addresses, and whether they do shows when they are queried.
 */
export function createDelegations({
  transport,
  roots,
  port,
  families = BOTH_FAMILIES,
  clock,
}: DelegationOptions): Directory {
  const root: Authority = {zone: '.', servers: roots, recursive: false};
  const suffixes = new TtlCache<Authority>(clock, CACHE_ENTRIES);
  const hosts = new TtlCache<readonly string[]>(clock, CACHE_ENTRIES);
  /** The zones of name servers' names, for searches for any server. */
  const zones = new TtlCache<Authority>(clock, CACHE_ENTRIES);
  const memories = new WeakMap<VerdictSession, SessionMemory>();
  let turn = 0;

  async function find(search: Search, session: VerdictSession): Promise<ZoneFinding> {
    const path = selfAndAncestors(search.name);
    const known = path.findIndex(ancestor => authorityOf(ancestor, search, session) !== undefined);
    let authority = known < 0 ? root : (authorityOf(path[known] ?? '', search, session) ?? root);
    for (const next of path.slice(0, known < 0 ? path.length : known).reverse()) {
      const step: Step = session.mute.has(authority.zone) ? {kind: 'same'} : await cutAt(authority, next, session);
      if (step.kind === 'silent' && isRegistry(authority.zone)) return faultOf(authority.zone, step.silent, session);
      if (step.kind === 'silent' && search.which === 'any') break; // they may still answer about addresses
      if (step.kind === 'cut') authority = await descend(authority, next, step, search, session);
      if (search.which === 'every') session.authorities.set(next, authority);
      else if (isComplete(authority)) zones.set(next, authority, HOST_CACHE_MS);
    }
    return {ok: true, authority};
  }

  async function descend(
    parent: Authority,
    zone: string,
    cut: Cut,
    search: Search,
    session: VerdictSession,
  ): Promise<Authority> {
    const parentView = await delegate(parent, zone, cut, search, session);
    if (isGuide(zone, search) && isComplete(parentView) && parentView.omitted === undefined) {
      suffixes.set(zone, parentView, cacheMs(cut.ttl));
    }
    if (search.which === 'any' || isGuide(zone, search)) return parentView;
    session.authorities.set(zone, parentView);
    const child = await queryCut(parentView, zone, session);
    if (child.kind === 'silent' && child.silent.every(({noAnswer}) => isMute(noAnswer))) session.mute.add(zone);
    return child.kind === 'cut' ? unite(parentView, child, search, session) : parentView;
  }

  /** Egress is closed only if the root does not answer either: a registry may be silent through its own fault. */
  async function faultOf(zone: string, silent: readonly SilentServer[], session: VerdictSession): Promise<ZoneFinding> {
    const unasked = silent.some(({noAnswer}) => noAnswer === 'budget');
    const closed =
      !unasked && (zone === '.' || (!session.answered && (await queryCut(root, '.', session)).kind === 'silent'));
    if (closed) return {ok: false, fault: 'egress', zone, silent};
    const broken = silent.every(({noAnswer}) => isMisdelegation(noAnswer));
    return {ok: false, fault: broken ? 'broken' : 'unreachable', zone, silent};
  }

  function authorityOf(name: string, search: Search, session: VerdictSession): Authority | undefined {
    const known = session.authorities.get(name) ?? (isGuide(name, search) ? suffixes.get(name) : undefined);
    return known ?? (search.which === 'any' ? zones.get(name) : undefined);
  }

  function memoryOf(session: VerdictSession): SessionMemory {
    const memory = memories.get(session) ?? {steps: new Map(), replies: new Map()};
    memories.set(session, memory);
    return memory;
  }

  /** Queries once per verdict: most name servers of a zone are in one zone, and are looked up at the same time. */
  function cutAt(authority: Authority, next: string, session: VerdictSession): Promise<Step> {
    const key = `${authority.zone} ${next}`;
    return once(memoryOf(session).steps, key, () => queryCut(authority, next, session));
  }

  async function queryCut(authority: Authority, next: string, session: VerdictSession): Promise<Step> {
    const silent: SilentServer[] = [];
    const step = await hedged(
      candidatesOf(authority, turn++),
      async ({server, endpoint}): Promise<Step | undefined> => {
        const reply = await session.query(endpoint, next, 'NS');
        const cut = reply.ok ? cutIn(reply.message, next) : undefined;
        if (cut !== undefined) return cut;
        const result = interpretReply(reply, authority);
        if (result.ok) return {kind: 'same'};
        silent.push({server: serverLabel(server.name, endpoint), noAnswer: result.noAnswer, detail: result.detail});
        return undefined;
      },
      signal => clock.sleep(HEDGE_MS, signal),
    );
    return step ?? {kind: 'silent', silent: [...silent, ...withoutAddress(authority)]};
  }

  async function delegate(
    queried: Authority,
    zone: string,
    {names, message}: Cut,
    {which, depth}: Search,
    session: VerdictSession,
  ): Promise<Authority> {
    const glue = message.additional.filter(record => isWithin(record.name, queried.zone));
    // A server inside a zone of which no server is known yet has glue, or the parent's servers serve the zone.
    const isHidden = (name: string) => isWithin(name, zone) && !session.authorities.has(zone);
    const chosen = which === 'every' ? names.slice(0, MAX_SERVERS) : someOf(names, glue, isHidden);
    const servers = chosen.map(async (name): Promise<NameServer> => {
      let addresses: readonly string[] | undefined = addressesOfHost(glue, name);
      if (addresses.length === 0 && !isHidden(name)) addresses = await addressesOf(name, session, depth + 1);
      else if (addresses.length === 0 && message.authoritative) addresses = await addressesAt(queried, name, session);
      if (addresses === undefined) {
        return {name, endpoints: [], unresolved: session.unfinished ? 'unasked' : 'silent'};
      }
      const usable = ofFamilies(addresses, families);
      if (usable.length === 0 && addresses.length > 0) return {name, endpoints: [], unresolved: 'no-route'};
      return {name, endpoints: usable.slice(0, MAX_ADDRESSES).map(address => ({address, port}))};
    });
    const omitted = names.length - chosen.length;
    return {zone, servers: await Promise.all(servers), recursive: false, ...(omitted > 0 && {omitted})};
  }

  /** Resolvers use both the parent's list of servers and the child's, so we query both. */
  async function unite(parentView: Authority, child: Cut, search: Search, session: VerdictSession): Promise<Authority> {
    const {zone, servers, omitted = 0} = parentView;
    const names = child.names.filter(name => servers.every(server => server.name !== name));
    const added = {...child, names: names.slice(0, MAX_SERVERS - servers.length)};
    const childView = await delegate(parentView, zone, added, search, session);
    // Servers that the parent lists beyond our limit are in the child's list, too.
    const all = Math.max(omitted, names.length - added.names.length);
    return {...parentView, servers: [...servers, ...childView.servers], ...(all > 0 && {omitted: all})};
  }

  /** Undefined if no server answers. Names that need each other have no addresses. */
  async function addressesOf(
    host: string,
    session: VerdictSession,
    depth: number,
  ): Promise<readonly string[] | undefined> {
    const cached = hosts.get(host);
    if (cached !== undefined) return cached;
    if (depth > MAX_DEPTH) return [];
    // A name server's name is rarely a zone of its own. If it is, the servers of its parent do not answer for it.
    const lookUp = async (name: string) => {
      const found = await find({name, which: 'any', depth}, session);
      return found.ok ? addressesAt(found.authority, host, session) : undefined;
    };
    const addresses = (await lookUp(parentOf(host))) ?? (await lookUp(host));
    if (addresses !== undefined && addresses.length > 0) hosts.set(host, addresses, HOST_CACHE_MS);
    return addresses;
  }

  /** Undefined if no server answers. If no server of the zone has an address, the host has none: that is an answer. */
  async function addressesAt(
    authority: Authority,
    host: string,
    session: VerdictSession,
  ): Promise<string[] | undefined> {
    const {servers} = authority;
    if (servers.every(({endpoints, unresolved}) => endpoints.length === 0 && !unresolved)) return [];
    const types = ['A', 'AAAA'] as const;
    const {replies} = memoryOf(session);
    const query = (type: 'A' | 'AAAA') =>
      once(replies, `${authority.zone} ${host} ${type}`, () => queryAny(authority, host, type, session, clock));
    const results = await Promise.all(types.map(query));
    const addresses = addressesOfHost(
      results.flatMap(result => result?.message.answers ?? []),
      host,
    );
    return addresses.length === 0 && results.includes(undefined) ? undefined : addresses;
  }

  return {transport, find: (name, session, which) => find({name, which, depth: 0}, session)};
}

/** The queries of one verdict that several searches at the same time need. */
interface SessionMemory {
  readonly steps: Map<string, Promise<Step>>;
  readonly replies: Map<string, Promise<Extract<InterpretedReply, {ok: true}> | undefined>>;
}

function once<T>(memory: Map<string, Promise<T>>, key: string, run: () => Promise<T>): Promise<T> {
  const result = memory.get(key) ?? run();
  memory.set(key, result);
  return result;
}

/** The servers that are quickest to reach: those with glue, or a few others. */
function someOf(
  names: readonly string[],
  glue: readonly ResourceRecord[],
  isHidden: (name: string) => boolean,
): readonly string[] {
  const reachable = names.filter(name => addressesOfHost(glue, name).length > 0);
  if (reachable.length > 0) return reachable.slice(0, MAX_SERVERS);
  const visible = names.filter(name => !isHidden(name));
  return (visible.length > 0 ? visible : names).slice(0, ENOUGH_SERVERS);
}

/** Whether each server is known to have an address, or to have none. */
function isComplete({servers}: Authority): boolean {
  const isOpen = ({unresolved}: NameServer) => unresolved === 'silent' || unresolved === 'unasked';
  return servers.some(({endpoints}) => endpoints.length > 0) && !servers.some(isOpen);
}

/** A registry's zone only leads to the zones below it, unless it is itself the zone that is sought. */
function isGuide(zone: string, {name, which}: Search): boolean {
  return isRegistry(zone) && (which === 'any' || zone !== name);
}

/** Each further query would wait for its full timeout: after garbage, too, we wait for the right answer. */
function isMute(noAnswer: NoAnswer): boolean {
  return noAnswer === 'timeout' || noAnswer === 'malformed';
}

/** The root and the zones of registries: if none of their servers answers, there is no way further down. */
function isRegistry(zone: string): boolean {
  return zone === '.' || isPublicSuffix(zone);
}

/** A referral to `zone`, or the zone's own NS set if one server serves both parent and child. */
function cutIn(message: Message, zone: string): Cut | undefined {
  const records = [...message.answers, ...(message.authoritative ? [] : message.authority)];
  const delegation = records.flatMap(record => (record.type === 'NS' && record.name === zone ? [record] : []));
  if (message.rcode !== 0 || delegation.length === 0) return undefined;
  const names = [...new Set(delegation.map(record => record.target))].sort();
  return {kind: 'cut', names, message, ttl: Math.min(...delegation.map(record => record.ttl))};
}

function addressesOfHost(records: readonly ResourceRecord[], host: string): string[] {
  const of = (type: 'A' | 'AAAA') =>
    records.flatMap(record => (record.type === type && record.name === host ? [record.address] : []));
  const [ipv4 = [], ipv6 = []] = [of('A'), of('AAAA')];
  // One of each family first, if there are both.
  return [...ipv4.slice(0, 1), ...ipv6.slice(0, 1), ...ipv4.slice(1), ...ipv6.slice(1)];
}

function withoutAddress(authority: Authority): SilentServer[] {
  return authority.servers
    .filter(server => server.endpoints.length === 0)
    .map(server => ({server: server.name, ...noAnswerWithoutAddress(server)}));
}

function cacheMs(ttlSeconds: number): number {
  return Math.min(Math.max(ttlSeconds * 1000, MIN_CACHE_MS), MAX_CACHE_MS);
}
