/**
 * DNS as an operator with only recursive resolvers sees it: two CoreDNS addresses that know all zones, so that tests
 * can make them disagree. They use free ports, so no privilege is needed. test/integration/dns tests the authoritative
 * mode.
 */

import {Resolver} from 'node:dns/promises';
import {mkdir, rename, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {formatEndpoint} from '../../../src/dns/wire/addresses.ts';
import {failOnExit, startChild} from '../../cluster/children.ts';
import {freePorts} from '../../cluster/free-ports.ts';
import {ensurePrograms} from '../../cluster/programs.ts';
import {until} from '../../cluster/wait.ts';
import {formatValue, formatZone, type ZoneRecord} from '../../cluster/zonefile.ts';

export type NameServerName = 'one' | 'two';
const SERVERS: readonly NameServerName[] = ['one', 'two'];

export interface NameServers {
  /** "ip:port" of each, for the operator's configuration. */
  readonly addresses: readonly string[];
  /** Creates an empty zone below `test` on both, or empties an existing one. */
  addZone(zone: string): Promise<void>;
  /** Replaces all records of a name and type, on one server or both. Resolves when they serve the change. */
  set(name: string, type: string, values: readonly string[], at?: NameServerName): Promise<void>;
  /** Adds many records of new names in one zone, at once. */
  add(zone: string, type: string, records: readonly (readonly [name: string, value: string])[]): Promise<void>;
  /** Removes all records of a name and of those below it. */
  clear(name: string): Promise<void>;
  /** Answers no query until `speak`. */
  silence(): void;
  speak(): void;
  stop(): Promise<void>;
}

const TTL = 1;

/** A zone that another server on this machine serves. */
export interface Forwarded {
  readonly zone: string;
  readonly port: number;
}

/** `address`: of both. */
export async function startNameServers(
  parent: string,
  address = '127.0.0.1',
  forwarded?: Forwarded,
): Promise<NameServers> {
  const folder = join(parent, 'zones');
  const [one = 0, two = 0] = await freePorts(2);
  const ports = {one, two};
  for (const server of SERVERS) await mkdir(join(folder, server), {recursive: true});
  await writeFile(
    join(folder, 'Corefile'),
    SERVERS.map(server => block(address, ports[server], join(folder, server), forwarded)).join('\n'),
  );
  const {path} = await ensurePrograms(['coredns']);
  const log = join(parent, 'coredns.log');
  const child = startChild('coredns', [path('coredns'), '-conf', join(folder, 'Corefile')], {log});
  const zones = new Map<string, Zone>();
  const [first, second] = [one, two].map(port => formatEndpoint({address, port}));
  const addresses = {one: first ?? '', two: second ?? ''};
  const of = (name: string) => {
    const fitting = [...zones.keys()].filter(zone => name === zone || name.endsWith(`.${zone}`));
    const found = zones.get(fitting.sort((a, b) => b.length - a.length)[0] ?? '');
    if (!found) throw new Error(`${name} lies in no zone of this test`);
    return found;
  };
  const addZone = async (name: string) => {
    const zone = zones.get(name) ?? new Zone(name, folder, addresses);
    zones.set(name, zone);
    await zone.edit(SERVERS, () => []);
  };
  await Promise.race([addZone('test'), failOnExit(child, log)]);
  return {
    addresses: Object.values(addresses),
    addZone,
    silence: () => process.kill(child.pid, 'SIGSTOP'),
    speak: () => process.kill(child.pid, 'SIGCONT'),
    set: (name, type, values, at) => {
      const records = values.map(value => ({name, ttl: TTL, type, value: formatValue(type, value)}));
      const others = (record: ZoneRecord) => record.name !== name || record.type !== type;
      return of(name).edit(at ? [at] : SERVERS, old => [...old.filter(others), ...records]);
    },
    add: (zone, type, records) => {
      const added = records.map(([name, value]) => ({name, ttl: TTL, type, value: formatValue(type, value)}));
      return of(zone).edit(SERVERS, old => [...old, ...added]);
    },
    clear: name =>
      of(name).edit(SERVERS, old => old.filter(record => record.name !== name && !record.name.endsWith(`.${name}`))),
    stop: child.kill,
  };
}

class Zone {
  readonly #name: string;
  readonly #folder: string;
  readonly #addresses: Readonly<Record<NameServerName, string>>;
  readonly #records: Record<NameServerName, readonly ZoneRecord[]> = {one: [], two: []};
  #serial = Math.floor(Date.now() / 1000);
  /** Edits go one after another. One that fails does not fail the next. */
  #last: Promise<void> = Promise.resolve();

  constructor(name: string, folder: string, addresses: Readonly<Record<NameServerName, string>>) {
    this.#name = name;
    this.#folder = folder;
    this.#addresses = addresses;
  }

  edit(
    servers: readonly NameServerName[],
    change: (records: readonly ZoneRecord[]) => readonly ZoneRecord[],
  ): Promise<void> {
    this.#last = this.#last
      .catch(() => {})
      .then(async () => {
        const serial = ++this.#serial;
        for (const server of servers) {
          this.#records[server] = change(this.#records[server]);
          await this.#write(server, serial);
        }
        await Promise.all(servers.map(server => this.#served(server, serial)));
      });
    return this.#last;
  }

  async #write(server: NameServerName, serial: number): Promise<void> {
    const zone = {zone: this.#name, primary: `ns.${this.#name}`, serial, records: this.#records[server]};
    const unfinished = join(this.#folder, `${this.#name}.unfinished`);
    await writeFile(unfinished, formatZone(zone));
    await rename(unfinished, this.#path(server));
  }

  #path(server: NameServerName): string {
    return join(this.#folder, server, `db.${this.#name}`);
  }

  async #served(server: NameServerName, serial: number): Promise<void> {
    const resolver = new Resolver({timeout: 1_000, tries: 1});
    resolver.setServers([this.#addresses[server]]);
    const ask = async () => (await resolver.resolveSoa(this.#name)).serial === serial;
    await until(`name server ${server} serves ${this.#name}`, ask, {intervalMs: 25});
  }
}

/** Answers like a recursive resolver: recursion available, not authoritative. */
function block(address: string, port: number, folder: string, forwarded: Forwarded | undefined): string {
  const header = `bind ${address}
  header {
    response set ra
    response clear aa
  }`;
  const own = `.:${port} {
  ${header}
  auto {
    directory ${folder} db\\.(.*) {1}
    reload 100ms
  }
}`;
  if (!forwarded) return own;
  return `${own}
${forwarded.zone}:${port} {
  ${header}
  forward . 127.0.0.1:${forwarded.port}
}`;
}
