import {askAny, candidatesOf, HEDGE_MS} from './ask-any.ts';
import type {Clock} from './clock.ts';
import type {Message, ResourceRecord} from './codec.ts';
import {type Directory, type Finding, type SilentServer, serverLabel} from './directory.ts';
import {firstOf} from './hedge.ts';
import {isPublicSuffix} from './names.ts';
import {hear, isMisdelegation, type Silence, silenceWithoutAddress} from './reply.ts';
import type {Authority, NameServer, Session} from './session.ts';
import type {Transport} from './transport.ts';
import {TtlCache} from './ttl-cache.ts';
import {isWithin, parentOf, selfAndAncestors} from './wire-names.ts';

/** Bounds against strangers: what a zone may make us do. */
const MAX_SERVERS = 8;
const MAX_ADDRESSES = 2;
const MAX_DEPTH = 3;

const CACHE_ENTRIES = 10_000;
/** Short, because it holds for all tenants of a DNS provider, and the provider may move a name server. */
const HOST_CACHE_MS = 300_000;
const MIN_CACHE_MS = 60_000;
const MAX_CACHE_MS = 3_600_000;

export interface DelegationOptions {
  readonly transport: Transport;
  readonly roots: readonly NameServer[];
  /** 53 but in tests: NS records carry no port. */
  readonly port: number;
  readonly clock: Clock;
}

interface Cut {
  readonly kind: 'cut';
  readonly names: readonly string[];
  readonly message: Message;
  readonly ttl: number;
}

/** What the servers of a zone say about a cut at the next name below it. */
type Step = Cut | {readonly kind: 'same'} | {readonly kind: 'silent'; readonly silent: readonly SilentServer[]};

/**
 * Finds the zone that a name lies in and all its name servers, from the root down, label by label (as in RFC 9156): the
 * parent's word is asked anew in every verdict, so a changed delegation shows at once. Only the zones of registries and
 * the addresses of name servers outlive a verdict. A tenant's servers that do not answer about NS records are taken for
 * the name's servers all the same: some answer nothing but addresses, and the rest shows when they are asked.
 */
export function createDelegations({transport, roots, port, clock}: DelegationOptions): Directory {
  const root: Authority = {zone: '.', servers: roots, recursive: false};
  const suffixes = new TtlCache<Authority>(clock, CACHE_ENTRIES);
  const hosts = new TtlCache<readonly string[]>(clock, CACHE_ENTRIES);
  const steps = new WeakMap<Session, Map<string, Promise<Step>>>();
  let turn = 0;

  async function find(name: string, session: Session, depth = 0): Promise<Finding> {
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
    session: Session,
    depth: number,
  ): Promise<Authority> {
    const parentView = await delegate(parent, zone, cut, session, depth);
    session.authorities.set(zone, parentView);
    if (isRegistry(zone)) {
      const complete = parentView.servers.every(server => server.endpoints.length > 0);
      if (complete) suffixes.set(zone, parentView, cacheMs(cut.ttl));
      return parentView;
    }
    const child = await askForCut(parentView, zone, session);
    if (child.kind === 'silent' && child.silent.every(({silence}) => isMute(silence))) session.mute.add(zone);
    return child.kind === 'cut' ? unite(parentView, child, session, depth) : parentView;
  }

  /** Only the root's own silence tells that the way out is closed: a registry's silence may be its own doing. */
  async function faultOf(zone: string, silent: readonly SilentServer[], session: Session): Promise<Finding> {
    const closed = zone === '.' || (!session.heard && (await askForCut(root, '.', session)).kind === 'silent');
    if (closed) return {ok: false, fault: 'egress', zone, silent};
    const broken = silent.every(({silence}) => isMisdelegation(silence));
    return {ok: false, fault: broken ? 'broken' : 'unreachable', zone, silent};
  }

  function authorityOf(name: string, session: Session): Authority | undefined {
    return session.authorities.get(name) ?? suffixes.get(name);
  }

  /** Asks once in a verdict: the name servers of a zone mostly lie in one zone, and are looked up at the same time. */
  function cutAt(authority: Authority, next: string, session: Session): Promise<Step> {
    const known = steps.get(session) ?? new Map<string, Promise<Step>>();
    steps.set(session, known);
    const key = `${authority.zone} ${next}`;
    const step = known.get(key) ?? askForCut(authority, next, session);
    known.set(key, step);
    return step;
  }

  async function askForCut(authority: Authority, next: string, session: Session): Promise<Step> {
    const silent: SilentServer[] = [];
    const step = await firstOf(
      candidatesOf(authority, turn++),
      async ({server, endpoint}): Promise<Step | undefined> => {
        const reply = await session.ask(endpoint, next, 'NS');
        const cut = reply.ok ? cutIn(reply.message, next) : undefined;
        if (cut !== undefined) return cut;
        const heard = hear(reply, authority);
        if (heard.ok) return {kind: 'same'};
        silent.push({server: serverLabel(server.name, endpoint), silence: heard.silence, detail: heard.detail});
        return undefined;
      },
      signal => clock.sleep(HEDGE_MS, signal),
    );
    return step ?? {kind: 'silent', silent: [...silent, ...withoutAddress(authority)]};
  }

  async function delegate(
    asked: Authority,
    zone: string,
    {names, message}: Cut,
    session: Session,
    depth: number,
  ): Promise<Authority> {
    const glue = message.additional.filter(record => isWithin(record.name, asked.zone));
    const servers = names.slice(0, MAX_SERVERS).map(async (name): Promise<NameServer> => {
      let addresses: readonly string[] | undefined = addressesIn(glue, name);
      const hidden = isWithin(name, zone) && !session.authorities.has(zone);
      if (addresses.length === 0 && !hidden) addresses = await addressesOf(name, session, depth + 1);
      // A server inside of a zone of which no server is known yet has glue, or the parent's servers hold the zone too.
      else if (addresses.length === 0 && message.authoritative) addresses = await addressesAt(asked, name, session);
      if (addresses === undefined) return {name, endpoints: [], unresolved: true};
      return {name, endpoints: addresses.slice(0, MAX_ADDRESSES).map(address => ({address, port}))};
    });
    return {zone, servers: await Promise.all(servers), recursive: false};
  }

  /** Resolvers use the parent's list of servers and the child's: both are asked. */
  async function unite(parentView: Authority, child: Cut, session: Session, depth: number): Promise<Authority> {
    const {zone, servers} = parentView;
    const names = child.names.filter(name => servers.every(server => server.name !== name));
    const added = {...child, names: names.slice(0, MAX_SERVERS - servers.length)};
    const childView = await delegate(parentView, zone, added, session, depth);
    return {...parentView, servers: [...servers, ...childView.servers]};
  }

  /** Undefined when nobody answers; nobody is asked for names that need each other. */
  async function addressesOf(host: string, session: Session, depth: number): Promise<readonly string[] | undefined> {
    const cached = hosts.get(host);
    if (cached !== undefined) return cached;
    if (depth > MAX_DEPTH) return [];
    // Hardly ever is a name server's name a zone of its own: then the servers of its parent do not answer for it.
    const ask = async (name: string) => {
      const found = await find(name, session, depth);
      return found.ok ? addressesAt(found.authority, host, session) : undefined;
    };
    const addresses = (await ask(parentOf(host))) ?? (await ask(host));
    if (addresses !== undefined && addresses.length > 0) hosts.set(host, addresses, HOST_CACHE_MS);
    return addresses;
  }

  /** Undefined when nobody answers. A zone whose servers have no addresses has nobody to ask, and that is an answer. */
  async function addressesAt(authority: Authority, host: string, session: Session): Promise<string[] | undefined> {
    const {servers} = authority;
    if (servers.every(({endpoints, unresolved}) => endpoints.length === 0 && !unresolved)) return [];
    const types = ['A', 'AAAA'] as const;
    const heard = await Promise.all(types.map(type => askAny(authority, host, type, session, clock)));
    if (heard.every(each => each === undefined)) return undefined;
    return addressesIn(
      heard.flatMap(each => each?.message.answers ?? []),
      host,
    );
  }

  return {transport, find: (name, session) => find(name, session)};
}

/** Each further question would cost its whole time again: for garbage too, the right answer is waited for. */
function isMute(silence: Silence): boolean {
  return silence === 'timeout' || silence === 'malformed';
}

/** The root and the zones of registries: when all their servers are silent, there is no way further down. */
function isRegistry(zone: string): boolean {
  return zone === '.' || isPublicSuffix(zone);
}

/** A referral to `zone`, or the zone's own NS set where one server holds parent and child. */
function cutIn(message: Message, zone: string): Cut | undefined {
  const records = [...message.answers, ...(message.authoritative ? [] : message.authority)];
  const delegation = records.flatMap(record => (record.type === 'NS' && record.name === zone ? [record] : []));
  if (message.rcode !== 0 || delegation.length === 0) return undefined;
  const names = [...new Set(delegation.map(record => record.target))].sort();
  return {kind: 'cut', names, message, ttl: Math.min(...delegation.map(record => record.ttl))};
}

function addressesIn(records: readonly ResourceRecord[], host: string): string[] {
  const of = (type: 'A' | 'AAAA') =>
    records.flatMap(record => (record.type === type && record.name === host ? [record.address] : []));
  const [ipv4 = [], ipv6 = []] = [of('A'), of('AAAA')];
  // One of each family where there are both.
  return [...ipv4.slice(0, 1), ...ipv6.slice(0, 1), ...ipv4.slice(1), ...ipv6.slice(1)];
}

function withoutAddress(authority: Authority): SilentServer[] {
  return authority.servers
    .filter(server => server.endpoints.length === 0)
    .map(server => ({server: server.name, ...silenceWithoutAddress(server)}));
}

function cacheMs(ttlSeconds: number): number {
  return Math.min(Math.max(ttlSeconds * 1000, MIN_CACHE_MS), MAX_CACHE_MS);
}
