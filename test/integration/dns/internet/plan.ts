/**
 * The plan of a small Internet with the real one's addresses, inside a network namespace: the 13 root servers that the
 * shipped configuration starts from, a registry with the top-level domains, and four name server implementations.
 */
import {rootHints} from '../../../../src/dns/resolve/root-hints.ts';

/**
 * `a` to `d` are BIND, NSD, Knot, and CoreDNS, and hold the zones of the tests. `alone` holds everything from the root
 * down. `stranger` holds no zone and refuses, `failing` answers SERVFAIL, `unsure` has the zones but answers without
 * authority. `silent` reads but never answers; nothing listens at `closed`. `onlyv6` is `b` without an IPv4 address,
 * `lame6` is `a` with an IPv6 address at which nobody answers.
 */
export const SERVERS = {
  a: ['20.1.0.1', '2600:1::1'],
  b: ['20.2.0.1', '2600:2::1'],
  c: ['20.3.0.1', '2600:3::1'],
  d: ['20.4.0.1', '2600:4::1'],
  alone: ['20.5.0.1'],
  stranger: ['20.6.0.1'],
  failing: ['20.7.0.1'],
  unsure: ['20.8.0.1'],
  silent: ['20.9.0.1'],
  closed: ['20.10.0.1'],
  onlyv6: ['2600:2::1'],
  lame6: ['20.1.0.1', '2600:9::1'],
  registry: ['192.5.6.30', '2001:503:a83e::2:30'],
} as const satisfies Record<string, readonly string[]>;
export type ServerName = keyof typeof SERVERS;

/** Servers that read zone files of the tests. */
export const HOLDERS = ['a', 'b', 'c', 'd', 'alone', 'unsure'] as const;
export type Holder = (typeof HOLDERS)[number];

export const ROOTS = rootHints.flatMap(({addresses}) => addresses);
/** A validating recursive resolver (Unbound). */
export const RESOLVER = '9.9.9.9';
/** Addresses where datagrams are read but never answered. */
export const SILENT = [...SERVERS.silent, SERVERS.lame6[1]];
/** All public suffixes here. The names of the tests' name servers are in `net`. */
export const TLDS = ['com', 'net', 'uk', 'co.uk'] as const;

export interface ZoneSpec {
  readonly name: string;
  /** The name servers in the delegation and in the zone. */
  readonly at: readonly (ServerName | FaultName)[];
  /** Lines of the zone file other than SOA and NS, relative to the zone. */
  readonly records: string;
  /** What some servers have instead. `BROKEN`: a file that no server can load. */
  readonly instead?: Partial<Record<Holder, string>>;
  /** Lines in the parent's zone, in place of the NS records of `at`. Empty: no delegation. */
  readonly delegation?: string;
  /** The delegating zone, if it is not the top-level domain. */
  readonly parent?: string;
  /** Complete records that the resolver returns, as if from its cache. */
  readonly resolverSays?: readonly string[];
  /** The resolver expects the zone to be signed, but it is not. */
  readonly bogus?: boolean;
  /** Seconds; 300 by default. */
  readonly negativeTtl?: number;
}

/** Proxies in front of real servers that spoil the traffic. wire-proxy.ts describes what each does. */
export const FAULTS = [
  'drop-first',
  'drop-all',
  'delay',
  'truncate',
  'truncate-no-tcp',
  'truncate-tcp-silent',
  'truncate-tcp-cut',
  'truncate-tcp-drip',
  'wrong-id',
  'wrong-question',
  'garbage',
  'garbage-only',
  'cut-short',
  'duplicate',
  'forge-source',
  'flip-bits',
  'split-brain',
  'no-edns',
  'query-back',
  'bare-formerr',
  'bare-notimp',
  'bare-servfail',
  'always-notimp',
  'no-a',
  'aaaa-refused',
  'aaaa-notimp',
  'aaaa-servfail',
  'aaaa-silent',
] as const;
export type FaultName = (typeof FAULTS)[number];

export function isFault(name: ServerName | FaultName): name is FaultName {
  return FAULTS.some(fault => fault === name);
}

/** Every proxy has its own address. */
export function addressesOf(name: ServerName | FaultName): readonly string[] {
  return isFault(name) ? [`20.20.0.${FAULTS.indexOf(name) + 1}`] : SERVERS[name];
}

export function nsName(name: ServerName | FaultName): string {
  return `${name}.ns-np.net`;
}

function addressRecords(owner: string, addresses: readonly string[]): string[] {
  return addresses.map(address => `${owner} ${address.includes(':') ? 'AAAA' : 'A'} ${address}`);
}

/** Every zone file that a server holds: folder → zone → content. */
export function zoneFiles(zones: readonly ZoneSpec[]): Map<string, Map<string, string>> {
  const root = rootZone();
  const registry = new Map(TLDS.map(tld => [tld as string, tldZone(tld, zones)]));
  const files = new Map([
    ['root', new Map([['.', root]])],
    ['registry', registry],
  ]);
  for (const holder of HOLDERS) {
    const all = holder === 'alone' || holder === 'unsure';
    const held = zones.filter(({at}) => all || at.some(name => name === holder || servedBy(name).includes(holder)));
    const own = new Map(held.map(zone => [zone.name, zoneContent(zone, zones, holder)]));
    files.set(holder, holder === 'alone' ? new Map([...own, ['.', root], ...registry]) : own);
  }
  return files;
}

/** The holders whose answers this server gives if it holds no zones itself. */
function servedBy(name: ServerName | FaultName): readonly Holder[] {
  if (name === 'lame6') return ['a'];
  if (name === 'split-brain') return ['b', 'c'];
  return name === 'onlyv6' || isFault(name) ? ['b'] : [];
}

function header(zone: string, negativeTtl = 300, serial = 1): string[] {
  const soa = `@ ${negativeTtl} IN SOA ns.invalid. hostmaster.invalid. ${serial} 3600 600 86400 ${negativeTtl}`;
  return [`$ORIGIN ${zone === '.' ? '' : zone}.`, '$TTL 300', soa];
}

export function zoneContent(zone: ZoneSpec, all: readonly ZoneSpec[], holder: Holder, serial = 1): string {
  const records = zone.instead?.[holder] ?? zone.records;
  if (records === 'BROKEN') return 'this is no zone file\n';
  const children = all.filter(({parent}) => parent === zone.name).flatMap(delegationLines);
  return [...header(zone.name, zone.negativeTtl, serial), ...nsLines(zone, '@'), records, ...children, ''].join('\n');
}

function nsLines({at}: ZoneSpec, owner: string): string[] {
  return at.map(name => `${owner} NS ${nsName(name)}.`);
}

function delegationLines(zone: ZoneSpec): string[] {
  return zone.delegation === undefined ? nsLines(zone, `${zone.name}.`) : [zone.delegation];
}

function rootZone(): string {
  const roots = rootHints.flatMap(({name, addresses}) => [`@ NS ${name}.`, ...addressRecords(`${name}.`, addresses)]);
  const tlds = ['com', 'net', 'uk'].map(tld => `${tld} NS a.gtld-servers.net.`);
  const glue = addressRecords('a.gtld-servers.net.', SERVERS.registry);
  return [...header('.'), ...roots, ...tlds, ...glue, ''].join('\n');
}

function tldZone(tld: string, zones: readonly ZoneSpec[]): string {
  const lines = [...header(tld), '@ NS a.gtld-servers.net.'];
  if (tld === 'net') {
    lines.push(...addressRecords('a.gtld-servers', SERVERS.registry));
    const names = [...(Object.keys(SERVERS) as ServerName[]), ...FAULTS];
    lines.push(...names.flatMap(name => addressRecords(`${name}.ns-np`, addressesOf(name))));
  }
  if (tld === 'uk') lines.push('co NS a.gtld-servers.net.');
  const below = zones.filter(zone => zone.parent === undefined && zone.name.endsWith(`.${tld}`));
  const own = below.filter(zone => tld !== 'uk' || !zone.name.endsWith('.co.uk'));
  return [...lines, ...own.flatMap(delegationLines), ''].join('\n');
}
