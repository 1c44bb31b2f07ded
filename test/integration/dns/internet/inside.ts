/** The program inside the namespace: runs the small internet and the code under test. Ends with its parent. */
import {execFile} from 'node:child_process';
import {createSocket} from 'node:dgram';
import {Resolver} from 'node:dns/promises';
import {mkdir, rename, writeFile} from 'node:fs/promises';
import {createServer} from 'node:net';
import {join} from 'node:path';
import {promisify} from 'node:util';
import {pino} from 'pino';
import {Registry} from 'prom-client';
import {type DnsConfig, defaultDnsConfig} from '../../../../src/dns/config.ts';
import {createDns, type Dns} from '../../../../src/dns/dns.ts';
import {encodeQuery} from '../../../../src/dns/wire/codec.ts';
import {exchangeOverUdp} from '../../../../src/dns/wire/udp.ts';
import {systemClock} from '../../../../src/time/clock.ts';
import {run} from '../../../cluster/children.ts';
import {until} from '../../../cluster/wait.ts';
import type {CallRequest, CallResponse, Calls, Finished, StartOptions} from './calls.ts';
import {type Capture, startCapture} from './capture.ts';
import {joinCrowd} from './crowd.ts';
import {
  addressesOf,
  FAULTS,
  HOLDERS,
  RESOLVER,
  ROOTS,
  SERVERS,
  SILENT,
  type ZoneSpec,
  zoneContent,
  zoneFiles,
} from './plan.ts';
import {type Daemon, startDaemons} from './servers.ts';
import {startProxy} from './wire-proxy.ts';

let options: StartOptions;
let daemons: readonly Daemon[] = [];
let capture: Capture | undefined;
let serial = 1;
const verifiers = new Map<string, Dns>();

const calls: Calls = {
  async start(given) {
    options = given;
    await addAddresses();
    await replaceSystemResolver(given.folder);
    const held = await writeZones(given);
    daemons = await startDaemons(given.folder, held, given.zones, given.programs);
    await Promise.all([...SILENT.map(listenInSilence), ...FAULTS.map(startFault)]);
    await Promise.race([ready(), ...daemons.map(({ended}) => ended)]);
  },
  verify: (question, config) => verifierOf(config).verify(question, new AbortController().signal),
  poll: (verdict, config) => verifierOf(config).poll(verdict, true, new AbortController().signal),
  run: runNode,
  async resolve(name, type) {
    const answers = await resolver(RESOLVER)
      .resolve(name, type)
      .catch(() => []);
    return (answers as (string | string[])[]).map(answer => [answer].flat().join(''));
  },
  async packet(address, name, type) {
    const query = encodeQuery({id: 1, name, type, recursionDesired: false, checkingDisabled: false, edns: true});
    const endpoint = {address, port: 53};
    const exchange = () => exchangeOverUdp(endpoint, query, datagram => datagram, AbortSignal.timeout(2000));
    const packet = await until(`${address} answers`, exchange); // a datagram may be lost
    return Buffer.from(packet).toString('base64');
  },
  change,
  crowd: joinCrowd,
  async capture() {
    capture = await startCapture(options.programs.tcpdump, options.folder, options.programs.libraries);
  },
  async captured() {
    if (!capture) throw new Error('nothing is being captured');
    return capture.stop();
  },
};

/** All calls share one verifier per configuration, as in the operator. */
function verifierOf(config: Partial<DnsConfig>): Dns {
  const key = JSON.stringify(config);
  const known = verifiers.get(key);
  if (known) return known;
  const deps = {logger: pino({level: 'silent'}), registry: new Registry(), clock: systemClock};
  const dns = createDns({...defaultDnsConfig, ...config}, deps);
  verifiers.set(key, dns);
  return dns;
}

/**
 * All other addresses are also on this machine, so that nothing can leave it, and unused addresses refuse packets
 * immediately.
 */
async function addAddresses(): Promise<void> {
  const servers = Object.values(SERVERS).flat() as string[];
  const own = new Set([...ROOTS, ...servers, ...SILENT, RESOLVER, ...FAULTS.flatMap(addressesOf)]);
  const lines = ['link set lo up', 'route add local default dev lo', '-6 route add local default dev lo'];
  for (const address of own) {
    lines.push(`addr add ${address}/${address.includes(':') ? '128 dev lo nodad' : '32 dev lo'}`);
  }
  for (const line of lines.slice(0, 3)) await run(['ip', ...line.split(' ')]);
  await run(['ip', '-batch', '-'], {input: `${lines.slice(3).join('\n')}\n`});
}

/** Affects only the programs in this namespace. */
async function replaceSystemResolver(folder: string): Promise<void> {
  const file = join(folder, 'resolv.conf');
  await writeFile(file, `nameserver ${RESOLVER}\n`);
  await run(['mount', '--bind', file, '/etc/resolv.conf']);
}

async function writeZones({folder, zones}: StartOptions): Promise<Map<string, string[]>> {
  const files = zoneFiles(zones);
  for (const [server, contents] of files) {
    await mkdir(join(folder, server), {recursive: true});
    for (const [zone, content] of contents) await writeFile(join(folder, server, `db.${zone}`), content);
  }
  return new Map([...files].map(([server, contents]) => [server, [...contents.keys()]]));
}

function startFault(fault: (typeof FAULTS)[number]): Promise<void> {
  const [address = ''] = addressesOf(fault);
  return startProxy({fault, address, upstream: SERVERS.b[0], other: SERVERS.c[0]});
}

/** Over TCP, it accepts connections and does nothing else. */
function listenInSilence(address: string): Promise<void> {
  createServer().listen(53, address);
  const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
  return new Promise((resolve, reject) => {
    socket.once('error', reject);
    socket.bind(53, address, resolve);
  });
}

function resolver(address: string): Resolver {
  const made = new Resolver({timeout: 500, tries: 1});
  made.setServers([address.includes(':') ? `[${address}]` : address]);
  return made;
}

/** The zone `probe.com` is at every server that holds zones. */
async function ready(): Promise<void> {
  const asked: readonly [string, string][] = [
    ...HOLDERS.flatMap(holder => addressesOf(holder).map((address): [string, string] => [address, 'probe.com'])),
    ...SERVERS.registry.map((address): [string, string] => [address, 'com']),
    ...ROOTS.map((address): [string, string] => [address, '.']),
    [RESOLVER, 'probe.com'],
  ];
  await Promise.all(
    asked.map(([address, zone]) => until(`${address} serves ${zone}`, () => resolver(address).resolveSoa(zone))),
  );
}

async function change(zone: ZoneSpec): Promise<void> {
  serial++;
  const servers = HOLDERS.filter(holder => zone.at.includes(holder));
  for (const server of servers) {
    const path = join(options.folder, server, `db.${zone.name}`);
    await writeFile(`${path}.new`, zoneContent(zone, options.zones, server, serial));
    await rename(`${path}.new`, path);
  }
  for (const daemon of daemons) daemon.reload();
  const serves = async (address: string) => (await resolver(address).resolveSoa(zone.name)).serial === serial;
  const addresses = servers.flatMap(addressesOf);
  await Promise.all(addresses.map(at => until(`${at} serves ${zone.name}`, () => serves(at), {intervalMs: 20})));
}

async function runNode(argv: readonly string[], program = process.execPath): Promise<Finished> {
  try {
    const {stdout, stderr} = await promisify(execFile)(program, [...argv], {maxBuffer: 2 ** 26});
    return {code: 0, stdout, stderr};
  } catch (error) {
    return error as Finished;
  }
}

process.on('message', async ({id, call, args}: CallRequest) => {
  const answer = (response: CallResponse) => process.send?.(response);
  try {
    const handler = calls[call] as (...given: readonly unknown[]) => Promise<unknown>;
    answer({id, ok: true, result: await handler(...args)});
  } catch (error) {
    answer({
      id,
      ok: false,
      error: error instanceof Error ? `${error.message} ${String(error.cause ?? '')}` : String(error),
    });
  }
});
process.on('disconnect', () => process.exit());
