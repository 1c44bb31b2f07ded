/** The daemons of the small Internet: their configuration files, and how they are started and reloaded. */
import {mkdir, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {type Child, failOnExit, startChild} from '../../../cluster/children.ts';
import {RESOLVER, ROOTS, SERVERS, TLDS, type ZoneSpec} from './plan.ts';

export interface DaemonPrograms {
  readonly named: string;
  readonly nsd: string;
  readonly knotd: string;
  readonly unbound: string;
  readonly coredns: string;
  /** LD_LIBRARY_PATH of all but CoreDNS. */
  readonly libraries: string;
}

export interface Daemon {
  readonly child: Child;
  readonly log: string;
  /** Rejects if the daemon exits unexpectedly. */
  readonly ended: Promise<never>;
  /** Makes the daemon reread its zone files. CoreDNS does so automatically. */
  reload(): void;
}

/** Zone files are `<folder>/<server>/db.<zone>`. */
export async function startDaemons(
  folder: string,
  held: ReadonlyMap<string, readonly string[]>,
  zones: readonly ZoneSpec[],
  programs: DaemonPrograms,
): Promise<Daemon[]> {
  const of = (server: string) => held.get(server) ?? [];
  const at = (name: string) => join(folder, name);
  const files: Record<string, string> = {
    'root.conf': nsdConf(at('root'), ROOTS, of('root')),
    'b.conf': nsdConf(at('b'), SERVERS.b, of('b')),
    'a.conf': bindConf(at('a'), SERVERS.a, of('a')),
    'c.conf': knotConf(at('c'), SERVERS.c, of('c')),
    'registry.conf': knotConf(at('registry'), SERVERS.registry, TLDS),
    'resolver.conf': unboundConf(folder, zones),
    Corefile: corefile(folder),
  };
  await Promise.all(Object.entries(files).map(([name, content]) => writeFile(at(name), content)));
  await Promise.all(['a', 'c', 'registry'].map(name => mkdir(join(folder, name, 'run'), {recursive: true})));
  const env = {...process.env, LD_LIBRARY_PATH: programs.libraries};
  const start = (name: string, argv: readonly string[], signal?: NodeJS.Signals): Daemon => {
    const log = at(`${name}.log`);
    const child = startChild(name, argv, {log, env});
    const ended = failOnExit(child, log);
    ended.catch(() => undefined);
    return {child, log, ended, reload: () => signal && process.kill(child.pid, signal)};
  };
  return [
    start('root', [programs.nsd, '-d', '-c', at('root.conf')], 'SIGHUP'),
    start('registry', [programs.knotd, '-c', at('registry.conf')], 'SIGHUP'),
    start('a', [programs.named, '-g', '-n', '1', '-c', at('a.conf')], 'SIGHUP'),
    start('b', [programs.nsd, '-d', '-c', at('b.conf')], 'SIGHUP'),
    start('c', [programs.knotd, '-c', at('c.conf')], 'SIGHUP'),
    start('d', [programs.coredns, '-conf', at('Corefile')]),
    start('resolver', [programs.unbound, '-d', '-c', at('resolver.conf')]),
  ];
}

function bindConf(folder: string, [ipv4, ipv6]: readonly string[], zones: readonly string[]): string {
  return `
options {
  directory "${folder}"; pid-file none; session-keyfile none; lock-file none;
  listen-on port 53 { ${ipv4}; }; listen-on-v6 port 53 { ${ipv6}; };
  recursion no; dnssec-validation no; notify no; allow-transfer { none; };
  managed-keys-directory "${folder}/run"; server-id none; version none;
};
controls { };
${zones.map(zone => `zone "${zone}" { type primary; file "db.${zone}"; };`).join('\n')}
`;
}

/** Disables NSD's default rate limit, because all questions here come from one address. */
function nsdConf(folder: string, addresses: readonly string[], zones: readonly string[]): string {
  return `
server:
${addresses.map(address => `  ip-address: ${address}`).join('\n')}
  server-count: 1
  username: ""
  chroot: ""
  database: ""
  zonesdir: "${folder}"
  pidfile: "${folder}.pid"
  xfrdfile: "${folder}.xfrd"
  zonelistfile: "${folder}.list"
  rrl-ratelimit: 0
  rrl-whitelist-ratelimit: 0
remote-control:
  control-enable: no
${zones.map(zone => `zone:\n  name: "${zone}"\n  zonefile: "db.${zone}"`).join('\n')}
`;
}

function knotConf(folder: string, addresses: readonly string[], zones: readonly string[]): string {
  return `
server:
  rundir: "${folder}/run"
  listen: [ ${addresses.map(address => `"${address}@53"`).join(', ')} ]
  udp-workers: 1
  tcp-workers: 1
  background-workers: 1
log:
  - target: stderr
    any: warning
database:
  storage: "${folder}/run"
template:
  - id: default
    storage: "${folder}"
    file: "db.%s"
    semantic-checks: off
    zonefile-load: whole
    journal-content: none
zone:
${zones.map(zone => `  - domain: "${zone}"`).join('\n')}
`;
}

function unboundConf(folder: string, zones: readonly ZoneSpec[]): string {
  const anchor = '4711 13 2 6A1F9C2B7E3D4C5B6A7988776655443322110FFEEDDCCBBAA998877665544332';
  const anchors = zones.filter(({bogus}) => bogus).map(({name}) => `  trust-anchor: "${name}. DS ${anchor}"`);
  const said = zones.flatMap(({resolverSays = []}) => resolverSays);
  const names = [...new Set(said.map(record => record.split(' ')[0] ?? ''))];
  return `
server:
  interface: ${RESOLVER}
  port: 53
  do-daemonize: no
  num-threads: 1
  username: ""
  chroot: ""
  directory: "${folder}"
  pidfile: ""
  use-syslog: no
  access-control: 0.0.0.0/0 allow
  ede: yes
  outgoing-range: 900
  num-queries-per-thread: 900
  ratelimit: 0
  log-servfail: yes
${anchors.join('\n')}
${names.map(name => `  local-zone: "${name}" static`).join('\n')}
${said.map(record => `  local-data: "${record}"`).join('\n')}
remote-control:
  control-enable: no
`;
}

function corefile(folder: string): string {
  const block = (addresses: readonly string[], ...lines: string[]) =>
    ['.:53 {', `  bind ${addresses.join(' ')}`, ...lines.map(line => `  ${line}`), '}'].join('\n');
  const holding = (name: string) => `auto {\n    directory ${join(folder, name)} db\\.(.*) {1}\n    reload 1s\n  }`;
  return [
    block(SERVERS.d, holding('d')),
    block(SERVERS.alone, holding('alone')),
    block(SERVERS.unsure, 'header {\n    response clear aa\n  }', holding('unsure')),
    block(SERVERS.stranger),
    block(SERVERS.failing, `forward . ${SERVERS.closed[0]}`),
  ].join('\n');
}
