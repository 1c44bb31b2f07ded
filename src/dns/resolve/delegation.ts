/** Follows delegations from the root to the name servers of a zone, so that no verdict depends on a recursive. */
import type {Clock} from '../../base/clock.ts';
import {TtlCache} from '../../base/ttl-cache.ts';
import {isPublicSuffix} from '../names/hosts.ts';
import {isWithin, parentOf, selfAndAncestors} from '../names/wire-names.ts';
import type {Message, ResourceRecord} from '../wire/codec.ts';
import type {DnsTransport} from '../wire/transport.ts';
import type {Authority, NameServer} from './authority.ts';
import {type Directory, type SilentServer, serverLabel, type ZoneFinding} from './directory.ts';
import {hedged} from './hedge.ts';
import {candidatesOf, HEDGE_MS, queryAny} from './query-any.ts';
import {interpretReply, isMisdelegation, type NoAnswer, noAnswerWithoutAddress} from './reply.ts';
import type {VerdictSession} from './session.ts';

/** Bounds of what a stranger's zone can make us do. */
const MAX_SERVERS = 8;
const MAX_ADDRESSES = 2;
const MAX_DEPTH = 3;

const CACHE_ENTRIES = 10_000;
/** Short, because it affects all tenants of a DNS provider, and the provider may move a name server. */
const HOST_CACHE_MS = 300_000;
const MIN_CACHE_MS = 60_000;
const MAX_CACHE_MS = 3_600_000;

interface DelegationOptions {
  readonly transport: DnsTransport;
  readonly roots: readonly NameServer[];
  /** 53, except in tests: NS records have no port. */
  readonly port: number;
  readonly clock: Clock;
}

interface Cut {
  readonly kind: 'cut';
  readonly names: readonly string[];
  readonly message: Message;
  readonly ttl: number;
}

/** What the servers of a zone answer about a zone cut at the next name below it. */
type Step = Cut | {readonly kind: 'same'} | {readonly kind: 'silent'; readonly silent: readonly SilentServer[]};

/**
 * Finds the zone of a name and all name servers of that zone, from the root down, label by label (as in RFC 9156).
 * Every verdict queries the parent again, so it sees a changed delegation immediately. Only the zones of registries and
 * the addresses of name servers outlive a verdict. If a tenant's servers do not answer about NS records, they still
 * count as the name's servers: some answer only about addresses, and whether they do shows when they are queried.
 */
export function createDelegations({transport, roots, port, clock}: DelegationOptions): Directory {
  const root: Authority = {zone: '.', servers: roots, recursive: false};
  const suffixes = new TtlCache<Authority>(clock, CACHE_ENTRIES);
  const hosts = new TtlCache<readonly string[]>(clock, CACHE_ENTRIES);
  const steps = new WeakMap<VerdictSession, Map<string, Promise<Step>>>();
  let turn = 0;

  async function find(name: string, session: VerdictSession, depth = 0): Promise<ZoneFinding> {
    const path = selfAndAncestors(name);
    const known = path.findIndex(ancestor => authorityOf(ancestor, session) !== undefined);
    let authority = known < 0 ? root : (authorityOf(path[known] ?? '', session) ?? root);
    for (const next of path.slice(0, known < 0 ? path.length : known).reverse()) {
      const step: Step = session.mute.has(authority.zone) ? {kind: 'same'} : await cutAt(authority, next, session);
      if (step.kind === 'silent' && isRegistry(authority.zone)) return faultOf(authority.zone, step.silent, session);
      if (step.kind === 'cut') authority = await descend(authority, next, step, session, depth);
      session.authorities.set(next, authority);
    }
    return {ok: true, authority};
  }

  async function descend(
    parent: Authority,
    zone: string,
    cut: Cut,
    session: VerdictSession,
    depth: number,
  ): Promise<Authority> {
    const parentView = await delegate(parent, zone, cut, session, depth);
    session.authorities.set(zone, parentView);
    if (isRegistry(zone)) {
      const complete = parentView.servers.every(server => server.endpoints.length > 0);
      if (complete) suffixes.set(zone, parentView, cacheMs(cut.ttl));
      return parentView;
    }
    const child = await queryCut(parentView, zone, session);
    if (child.kind === 'silent' && child.silent.every(({noAnswer}) => isMute(noAnswer))) session.mute.add(zone);
    return child.kind === 'cut' ? unite(parentView, child, session, depth) : parentView;
  }

  /** Egress is closed only if the root does not answer either: a registry may be silent through its own fault. */
  async function faultOf(zone: string, silent: readonly SilentServer[], session: VerdictSession): Promise<ZoneFinding> {
    const closed = zone === '.' || (!session.answered && (await queryCut(root, '.', session)).kind === 'silent');
    if (closed) return {ok: false, fault: 'egress', zone, silent};
    const broken = silent.every(({noAnswer}) => isMisdelegation(noAnswer));
    return {ok: false, fault: broken ? 'broken' : 'unreachable', zone, silent};
  }

  function authorityOf(name: string, session: VerdictSession): Authority | undefined {
    return session.authorities.get(name) ?? suffixes.get(name);
  }

  /** Queries once per verdict: most name servers of a zone are in one zone, and are looked up at the same time. */
  function cutAt(authority: Authority, next: string, session: VerdictSession): Promise<Step> {
    const known = steps.get(session) ?? new Map<string, Promise<Step>>();
    steps.set(session, known);
    const key = `${authority.zone} ${next}`;
    const step = known.get(key) ?? queryCut(authority, next, session);
    known.set(key, step);
    return step;
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
    session: VerdictSession,
    depth: number,
  ): Promise<Authority> {
    const glue = message.additional.filter(record => isWithin(record.name, queried.zone));
    const servers = names.slice(0, MAX_SERVERS).map(async (name): Promise<NameServer> => {
      let addresses: readonly string[] | undefined = addressesOfHost(glue, name);
      const hidden = isWithin(name, zone) && !session.authorities.has(zone);
      if (addresses.length === 0 && !hidden) addresses = await addressesOf(name, session, depth + 1);
      // A server inside a zone of which no server is known yet has glue, or the parent's servers serve the zone.
      else if (addresses.length === 0 && message.authoritative) addresses = await addressesAt(queried, name, session);
      if (addresses === undefined) return {name, endpoints: [], unresolved: true};
      return {name, endpoints: addresses.slice(0, MAX_ADDRESSES).map(address => ({address, port}))};
    });
    return {zone, servers: await Promise.all(servers), recursive: false};
  }

  /** Resolvers use both the parent's list of servers and the child's, so we query both. */
  async function unite(parentView: Authority, child: Cut, session: VerdictSession, depth: number): Promise<Authority> {
    const {zone, servers} = parentView;
    const names = child.names.filter(name => servers.every(server => server.name !== name));
    const added = {...child, names: names.slice(0, MAX_SERVERS - servers.length)};
    const childView = await delegate(parentView, zone, added, session, depth);
    return {...parentView, servers: [...servers, ...childView.servers]};
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
      const found = await find(name, session, depth);
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
    const results = await Promise.all(types.map(type => queryAny(authority, host, type, session, clock)));
    if (results.every(result => result === undefined)) return undefined;
    return addressesOfHost(
      results.flatMap(result => result?.message.answers ?? []),
      host,
    );
  }

  return {transport, find: (name, session) => find(name, session)};
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
