/**
 * A small Internet on loopback: a root, the top-level domain `test`, and name servers `a` to `d` that hold the zones of a
 * test, each with its own content where a case wants them to disagree. All of them are CoreDNS; the others are there to fail.
 */
import {createSocket, type Socket} from 'node:dgram';
import {mkdir, mkdtemp, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {failOnExit, startChild} from '../../cluster/children.ts';
import {ensurePrograms} from '../../cluster/programs.ts';
import {until} from '../../cluster/wait.ts';

const NET = '127.77.0';
export const ROOT = `${NET}.1`;
const TLD = `${NET}.2`;

/**
 * `alone` holds everything from the root down. `recursive` stands for a resolver: it knows all zones. `stranger` holds no zone and answers REFUSED, `failing` SERVFAIL;
 * `silent` reads and never answers; nothing listens at `closed`.
 */
const servers = {
  a: 11,
  b: 12,
  c: 13,
  d: 14,
  recursive: 15,
  stranger: 16,
  failing: 17,
  silent: 18,
  closed: 19,
  alone: 20,
} as const;
export type ServerName = keyof typeof servers;
const HOLDERS = ['a', 'b', 'c', 'd', 'alone', 'recursive'] as const;

export interface ZoneSpec {
  readonly name: string;
  /** The name servers in the delegation. */
  readonly at: readonly ServerName[];
  /** Lines of the zone file beside SOA and NS, relative to the zone. */
  readonly records: string;
  /** What some servers say instead. */
  readonly instead?: Partial<Record<ServerName, string>>;
  /** NS records of the delegation, where they are not those of `at`: whole lines in the zone `test`. */
  readonly delegation?: string;
}

export interface World {
  readonly port: number;
  stop(): Promise<void>;
}

export function addressOf(server: ServerName): string {
  return `${NET}.${servers[server]}`;
}

export async function startWorld(zones: readonly ZoneSpec[]): Promise<World> {
  const folder = await mkdtemp(join(tmpdir(), 'nameplate-dns-'));
  const port = await freePort();
  await writeZones(folder, zones);
  const corefile = join(folder, 'Corefile');
  await writeFile(corefile, corefileOf(folder, port));
  const programs = await ensurePrograms(['coredns']);
  const log = join(folder, 'coredns.log');
  const child = startChild('coredns', [programs.path('coredns'), '-conf', corefile], {log});
  const silent = await listenInSilence(addressOf('silent'), port);
  const stop = async () => {
    silent.close();
    await child.stop();
    await rm(folder, {recursive: true, force: true});
  };
  const ready = until('the name servers answer', () => fetch(`http://127.0.0.1:${port}/ready`).then(({ok}) => ok));
  try {
    await Promise.race([ready, failOnExit(child, log)]);
  } catch (error) {
    await stop();
    throw error;
  }
  return {port, stop};
}

async function writeZones(folder: string, zones: readonly ZoneSpec[]): Promise<void> {
  const put = async (at: string, zone: string, content: string) => {
    await mkdir(join(folder, at), {recursive: true});
    const soa = '@ 300 IN SOA ns.invalid. hostmaster.invalid. 1 3600 600 86400 300';
    await writeFile(
      join(folder, at, `db.${zone}`),
      `$ORIGIN ${zone === '.' ? '' : zone}.\n$TTL 300\n${soa}\n${content}\n`,
    );
  };
  const root = `@ NS root.invalid.\ntest NS tld.test.\ntld.test A ${TLD}`;
  const hosts = Object.keys(servers).map(name => `${name}.dns A ${addressOf(name as ServerName)}`);
  const delegations = zones.map(zone => zone.delegation ?? nsRecords(zone, `${zone.name}.`));
  const tld = ['@ NS tld.test.', `tld A ${TLD}`, ...hosts, ...delegations].join('\n');
  await Promise.all([
    put('root', '.', root),
    put('alone', '.', root),
    put('tld', 'test', tld),
    put('alone', 'test', tld),
  ]);
  for (const name of HOLDERS) {
    await mkdir(join(folder, name), {recursive: true});
    for (const zone of zones.filter(({at}) => name === 'recursive' || name === 'alone' || at.includes(name))) {
      await put(name, zone.name, `${nsRecords(zone, '@')}\n${zone.instead?.[name] ?? zone.records}`);
    }
  }
}

function nsRecords({at}: ZoneSpec, owner: string): string {
  return at.map(name => `${owner} NS ${name}.dns.test.`).join('\n');
}

function corefileOf(folder: string, port: number): string {
  const block = (address: string, ...lines: string[]) =>
    [`.:${port} {`, `  bind ${address}`, ...lines.map(line => `  ${line}`), '}'].join('\n');
  const holding = (name: string) => `auto {\n    directory ${join(folder, name)} db\\.(.*) {1}\n  }`;
  return [
    block(ROOT, holding('root'), `ready 127.0.0.1:${port}`),
    block(TLD, holding('tld')),
    ...HOLDERS.map(name => block(addressOf(name), holding(name))),
    block(addressOf('stranger')),
    block(addressOf('failing'), `forward . ${addressOf('closed')}:${port}`),
  ].join('\n');
}

/** A socket that reads and never answers. */
function listenInSilence(address: string, port: number): Promise<Socket> {
  const socket = createSocket('udp4');
  return new Promise((resolve, reject) => {
    socket.once('error', reject);
    socket.bind(port, address, () => resolve(socket));
  });
}

/** A port that is free for UDP on all of loopback at the time of asking. */
async function freePort(): Promise<number> {
  const socket = await listenInSilence('0.0.0.0', 0);
  const {port} = socket.address();
  await new Promise<void>(resolve => socket.close(() => resolve()));
  return port;
}
