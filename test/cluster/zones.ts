import {Resolver} from 'node:dns/promises';
import {existsSync} from 'node:fs';
import {mkdir, readFile, rename, rm, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {withLock} from './lock.ts';
import {ACME_DOMAIN, ADDRESSES, BASE_DOMAIN, TARGET_DOMAIN} from './state.ts';
import {until} from './wait.ts';
import {formatValue, formatZone, parseZone, undotted, type ZoneFile, type ZoneRecord} from './zonefile.ts';

/** `ns1` and `ns2` are the customers' name servers; `ca` overrides what only the CA sees. */
export type ZoneServer = 'ns1' | 'ns2' | 'ca';

export interface SetOptions {
  /** Seconds; 30 by default. */
  ttl?: number;
  /** Only one server, so that the two disagree; by default, both. */
  server?: ZoneServer;
}

/** Edits the DNS that programs in the cluster see. Each promise resolves once all affected servers serve the change. */
export interface Zones {
  /** Replaces all records of a name and type, in the longest zone that fits; throws for a malformed value. */
  set(name: string, type: string, values: string | readonly string[], options?: SetOptions): Promise<void>;
  /** Removes a name's records, of one type or all. */
  remove(name: string, type?: string, options?: Pick<SetOptions, 'server'>): Promise<void>;
  list(name: string): Promise<(ZoneRecord & {server: ZoneServer})[]>;
  /** A new zone on ns1 and ns2, delegated by its parent. A test with its own zone does not wait for other tests. */
  addZone(zone: string): Promise<void>;
  /** Removes the zone and its delegation. */
  removeZone(zone: string): Promise<void>;
}

const FOLDERS = {root: 'public/root', tld: 'public/tld', ns1: 'public/ns1', ns2: 'ns2', ca: 'ca'} as const;
type Folder = keyof typeof FOLDERS;

/** The servers that read a folder, and must therefore have seen a change to it. */
const READERS: Record<Folder, readonly string[]> = {
  root: [ADDRESSES.root, ADDRESSES.resolver],
  tld: [ADDRESSES.tld, ADDRESSES.resolver],
  ns1: [ADDRESSES.ns1, ADDRESSES.resolver],
  ns2: [ADDRESSES.ns2],
  ca: [ADDRESSES.ca],
};

type Change = (records: readonly ZoneRecord[]) => ZoneRecord[];

const NAME_SERVERS = ['ns1.dns.test', 'ns2.dns.test'];
const TLD_SERVER = 'a.tld-servers.test';
const ROOT_SERVER = 'a.root-servers.test';
const TLDS = ['com', 'org', 'net', 'test', 'dev', 'io', 'de', 'uk'];
/** Of the platform's own name server. The delegation of the ACME domain points to it, as docs/platform-zone.md says. */
const PLATFORM_SERVER = 'ns1.nameplate.test';
const CUSTOMER_ZONES = ['example.com', 'example.org', 'example.net'];

export function openZones(root: string): Zones {
  const pathOf = (folder: Folder, zone: string) => join(root, FOLDERS[folder], `db.${zone}`);

  /** The longest zone in a folder that contains the name. */
  const zoneOf = (folder: Folder, name: string) => {
    for (let zone = name; zone !== ''; zone = zone.slice(zone.indexOf('.') + 1)) {
      if (existsSync(pathOf(folder, zone))) return zone;
      if (!zone.includes('.')) break;
    }
    return undefined;
  };

  /**
   * The lock is held while the file is written, but not while the servers load it, so that edits of one zone wait
   * together.
   */
  const edit = async (folder: Folder, zone: string, change: Change): Promise<void> => {
    const path = pathOf(folder, zone);
    await mkdir(join(root, 'locks'), {recursive: true});
    const after = await withLock(join(root, 'locks', `${folder}-${zone}`), async () => {
      const before = existsSync(path) ? parseZone(await readFile(path, 'utf8')) : emptyZone(folder, zone);
      const changed = {...before, serial: before.serial + 1, records: change(before.records)};
      await writeAtomically(root, path, formatZone(changed));
      return changed;
    });
    await Promise.all(READERS[folder].map(address => served(address, after)));
  };

  const editName = async (name: string, server: ZoneServer | undefined, change: Change) => {
    const folders = server ? [server] : (['ns1', 'ns2'] as const);
    await Promise.all(
      folders.map(folder => {
        const zone = folder === 'ca' ? name : zoneOf(folder, name);
        if (!zone) throw new Error(`${name} is in none of the zones; addZone creates one`);
        return edit(folder, zone, change);
      }),
    );
  };

  const removeFile = async (folder: Folder, zone: string) => {
    await rm(pathOf(folder, zone), {force: true});
    await Promise.all(READERS[folder].map(address => notServed(address, zone)));
  };

  /** Where the parent's records are: a name server's zone, or a top-level domain. */
  const parentFolders = (zone: string): readonly Folder[] => {
    const parent = zone.slice(zone.indexOf('.') + 1);
    return zoneOf('ns1', parent) ? ['ns1', 'ns2'] : ['tld'];
  };

  const editDelegation = async (zone: string, records: readonly ZoneRecord[]) => {
    const parent = zone.slice(zone.indexOf('.') + 1);
    for (const folder of parentFolders(zone)) {
      const parentZone = zoneOf(folder, parent);
      if (!parentZone) throw new Error(`no parent for ${zone}: the top-level domains are ${TLDS.join(', ')}`);
      await edit(folder, parentZone, old => [...old.filter(record => record.name !== zone), ...records]);
    }
  };

  return {
    set: async (givenName, givenType, values, {ttl = 30, server} = {}) => {
      const name = undotted(givenName);
      const type = givenType.toUpperCase();
      const records = [values].flat().map(value => ({name, ttl, type, value: formatValue(type, value)}));
      const others = (record: ZoneRecord) => record.name !== name || record.type !== type;
      await editName(name, server, old => [...old.filter(others), ...records]);
    },
    remove: async (givenName, type, {server} = {}) => {
      const name = undotted(givenName);
      if (server === 'ca') return removeFile('ca', name);
      const gone = (record: ZoneRecord) => record.name === name && (!type || record.type === type.toUpperCase());
      await editName(name, server, old => old.filter(record => !gone(record)));
    },
    list: async givenName => {
      const name = undotted(givenName);
      const found = (['ns1', 'ns2', 'ca'] as const).map(async server => {
        const zone = zoneOf(server, name);
        if (!zone) return [];
        const {records} = parseZone(await readFile(pathOf(server, zone), 'utf8'));
        return records.filter(record => record.name === name).map(record => ({...record, server}));
      });
      return (await Promise.all(found)).flat();
    },
    addZone: async givenZone => {
      const zone = undotted(givenZone);
      await editDelegation(zone, delegation(zone));
      await Promise.all((['ns1', 'ns2'] as const).map(folder => edit(folder, zone, () => delegation(zone))));
    },
    removeZone: async givenZone => {
      const zone = undotted(givenZone);
      await Promise.all((['ns1', 'ns2'] as const).map(folder => removeFile(folder, zone)));
      await editDelegation(zone, []);
    },
  };
}

/**
 * Writes the root, the top-level domains, and the zones of the customers and the platform, before any server reads
 * them.
 */
export async function seedZones(root: string): Promise<void> {
  const write = (folder: Folder, zone: string, records: readonly ZoneRecord[]) =>
    writeAtomically(root, join(root, FOLDERS[folder], `db.${zone}`), formatZone({...emptyZone(folder, zone), records}));
  for (const folder of Object.values(FOLDERS)) await mkdir(join(root, folder), {recursive: true});

  const tldGlue = record(TLD_SERVER, 'A', ADDRESSES.tld);
  const rootGlue = record(ROOT_SERVER, 'A', ADDRESSES.root);
  await write('root', '', [
    record('', 'NS', ROOT_SERVER),
    rootGlue,
    ...TLDS.map(tld => record(tld, 'NS', TLD_SERVER)),
    tldGlue,
  ]);

  const customers = [...CUSTOMER_ZONES, 'dns.test', 'nameplate.test'];
  const serverGlue = [record('ns1.dns.test', 'A', ADDRESSES.ns1), record('ns2.dns.test', 'A', ADDRESSES.ns2)];
  for (const tld of [...TLDS, 'co.uk']) {
    const delegated = customers.filter(zone => zone.endsWith(`.${tld}`)).flatMap(zone => delegation(zone));
    const own = tld === 'test' ? [tldGlue, rootGlue, ...serverGlue] : [];
    const below = tld === 'uk' ? [record('co.uk', 'NS', TLD_SERVER)] : [];
    await write('tld', tld, [record(tld, 'NS', TLD_SERVER), ...own, ...below, ...delegated]);
  }

  const platform = [BASE_DOMAIN, `*.${BASE_DOMAIN}`, TARGET_DOMAIN, `*.${TARGET_DOMAIN}`];
  for (const folder of ['ns1', 'ns2'] as const) {
    for (const zone of CUSTOMER_ZONES) await write(folder, zone, delegation(zone));
    await write(folder, 'dns.test', [...delegation('dns.test'), ...serverGlue]);
    const toIngress = platform.map(name => record(name, 'A', ADDRESSES.ingress));
    const acme = [record(PLATFORM_SERVER, 'A', ADDRESSES.nameServer), record(ACME_DOMAIN, 'NS', PLATFORM_SERVER)];
    await write(folder, 'nameplate.test', [...delegation('nameplate.test'), ...toIngress, ...acme]);
  }
}

function record(name: string, type: string, value: string): ZoneRecord {
  return {name, ttl: 30, type, value: formatValue(type, value)};
}

function delegation(zone: string): ZoneRecord[] {
  return NAME_SERVERS.map(server => record(zone, 'NS', server));
}

/**
 * The serial starts at the current time, so that a zone that is removed and added again is never mistaken for the old
 * one.
 */
function emptyZone(folder: Folder, zone: string): ZoneFile {
  const primaries = {
    root: ROOT_SERVER,
    tld: TLD_SERVER,
    ns1: NAME_SERVERS[0],
    ns2: NAME_SERVERS[0],
    ca: 'override.test',
  };
  return {zone, primary: primaries[folder] ?? '', serial: Math.floor(Date.now() / 1000), records: []};
}

async function writeAtomically(root: string, path: string, text: string): Promise<void> {
  await mkdir(join(root, 'unfinished'), {recursive: true});
  const unfinished = join(root, 'unfinished', `${process.pid}-${performance.now()}`);
  await writeFile(unfinished, text);
  await rename(unfinished, path);
}

async function served(address: string, {zone, primary, serial}: ZoneFile): Promise<void> {
  const resolver = resolverAt(address);
  const isServed = async () => {
    const soa = await resolver.resolveSoa(zone || '.');
    return undotted(soa.nsname) === primary && soa.serial >= serial;
  };
  await until(`${address} serves ${zone} at serial ${serial}`, isServed, {intervalMs: 25});
}

async function notServed(address: string, zone: string): Promise<void> {
  const resolver = resolverAt(address);
  const isGone = () =>
    resolver.resolveSoa(zone).then(
      soa => address === ADDRESSES.ca && undotted(soa.nsname) !== 'override.test',
      (error: NodeJS.ErrnoException) => error.code !== 'ETIMEOUT',
    );
  await until(`${address} no longer serves ${zone}`, isGone, {intervalMs: 25});
}

export function resolverAt(address: string): Resolver {
  const resolver = new Resolver({timeout: 1_000, tries: 1});
  resolver.setServers([address]);
  return resolver;
}
