/**
 * Runs in a network namespace of its own, with port 53: a signed root, our name server, and resolvers that nobody here
 * wrote, which find the one from the other. Prints what they found as JSON.
 *
 *     inside.ts FOLDER PACKAGES
 */
import {Resolver} from 'node:dns/promises';
import {mkdir, readdir, readFile, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {startNameServer} from '../../../../src/nameserver/server.ts';
import {systemClock} from '../../../../src/time/clock.ts';
import {failOnExit, run, startChild} from '../../../cluster/children.ts';
import {until} from '../../../cluster/wait.ts';
import {DOMAIN, EDNS_QUERIES, type Findings, HOST, LABEL, RESOLVERS, type ResolverName, VALUES} from './plan.ts';

const [folder = '', packages = ''] = process.argv.slice(2);
const ROOT = '127.0.1.1';
const SERVERS = ['127.0.1.2', '127.0.1.3'];
const NAME = `${LABEL}.${DOMAIN}`;
let values: readonly string[] = [];

const at = (...names: readonly string[]) => join(folder, ...names);
for (const name of ['root', 'named', 'kresd']) await mkdir(at(name), {recursive: true});
await run(['ip', 'link', 'set', 'lo', 'up']);
await run(['ip', 'addr', 'add', `${RESOLVERS.bind}/32`, 'dev', 'lo']); // BIND listens on no others
// The programs look for their parts where the packages would install them.
await run(['mount', '-t', 'overlay', 'overlay', '-o', `lowerdir=${join(packages, 'usr')}:/usr`, '/usr']);
const anchor = await signRoot();
const zone = {domain: DOMAIN, nameServers: ['ns1.platform.net', 'ns2.platform.net'], valuesOf};
for (const host of SERVERS) {
  await startNameServer({zone, host, port: 53, clock: systemClock, observe: () => undefined});
}
await start('nsd', ['nsd', '-d', '-c', await configure('nsd.conf', nsdConf())]);
await start('unbound', ['unbound', '-d', '-c', await configure('unbound.conf', unboundConf())]);
await start('named', ['named', '-g', '-n', '1', '-c', await configure('named.conf', namedConf())]);
await start('kresd', ['kresd', '-n', '-c', await configure('kresd.conf', kresdConf()), at('kresd')]);

function valuesOf(name: string): readonly string[] {
  return name === NAME ? values : [];
}

async function start(name: string, argv: readonly string[]): Promise<void> {
  const log = at(`${name}.log`);
  failOnExit(startChild(name, argv, {log}), log).catch((error: unknown) => {
    process.stderr.write(`${String(error)}\n`);
    process.exit(1);
  });
}

async function configure(name: string, text: string): Promise<string> {
  await writeFile(at(name), text);
  return at(name);
}

/** Returns the public key of the root, as in a zone file. */
async function signRoot(): Promise<string> {
  const zoneFile = `$TTL 60
. SOA ns.root. hostmaster.root. 1 3600 600 86400 60
. NS ns.root.
ns.root. A ${ROOT}
${DOMAIN}. NS ns1.platform.net.
${DOMAIN}. NS ns2.platform.net.
ns1.platform.net. A ${SERVERS[0]}
ns2.platform.net. A ${SERVERS[1]}
_acme-challenge.${HOST}. CNAME ${NAME}.
`;
  await writeFile(at('root', 'db'), zoneFile);
  const keygen = ['dnssec-keygen', '-q', '-K', at('root'), '-a', 'ECDSAP256SHA256'];
  await run([...keygen, '-f', 'KSK', '.']);
  await run([...keygen, '.']);
  await run([
    'dnssec-signzone',
    '-S',
    '-q',
    '-K',
    at('root'),
    '-d',
    at('root'),
    '-o',
    '.',
    '-f',
    at('root', 'db.signed'),
    at('root', 'db'),
  ]);
  for (const name of await readdir(at('root'))) {
    const text = name.endsWith('.key') ? await readFile(at('root', name), 'utf8') : '';
    const [line] = /^\. .*DNSKEY 257 .*$/m.exec(text) ?? [];
    if (line !== undefined) return line;
  }
  throw new Error('no key of the root');
}

function nsdConf(): string {
  return `
server:
  ip-address: ${ROOT}
  server-count: 1
  username: ""
  chroot: ""
  zonesdir: "${folder}"
  database: ""
  pidfile: "${at('nsd.pid')}"
  xfrdfile: "${at('nsd.xfrd')}"
  zonelistfile: "${at('nsd.list')}"
  rrl-ratelimit: 0
remote-control:
  control-enable: no
zone:
  name: "."
  zonefile: "${at('root', 'db.signed')}"
`;
}

function unboundConf(): string {
  return `
server:
  interface: ${RESOLVERS.unbound}
  do-daemonize: no
  num-threads: 1
  username: ""
  chroot: ""
  directory: "${folder}"
  pidfile: ""
  use-syslog: no
  access-control: 0.0.0.0/0 allow
  do-ip6: no
  do-not-query-localhost: no
  root-hints: "${at('hints')}"
  trust-anchor: "${anchor}"
  module-config: "validator iterator"
  qname-minimisation: yes
  qname-minimisation-strict: yes
  use-caps-for-id: yes
  harden-referral-path: yes
  harden-below-nxdomain: yes
  aggressive-nsec: yes
remote-control:
  control-enable: no
`;
}

function namedConf(): string {
  const [, flags, protocol, algorithm, key = ''] = /DNSKEY (\d+) (\d+) (\d+) (.*)$/.exec(anchor) ?? [];
  return `
options {
  directory "${at('named')}"; pid-file none; session-keyfile none; lock-file none;
  listen-on port 53 { ${RESOLVERS.bind}; }; listen-on-v6 { none; };
  query-source address ${RESOLVERS.bind};
  recursion yes; dnssec-validation yes; qname-minimization strict; empty-zones-enable no;
};
controls { };
trust-anchors { . static-key ${flags} ${protocol} ${algorithm} "${key.replaceAll(' ', '')}"; };
zone "." { type hint; file "${at('hints')}"; };
`;
}

function kresdConf(): string {
  return `
net.listen('${RESOLVERS.knot}', 53)
net.ipv6 = false
modules.unload('ta_update')
modules.unload('ta_signal_query')
modules.unload('priming')
trust_anchors.remove('.')
trust_anchors.add([[${anchor}]])
modules.load('hints')
hints.root({['ns.root.'] = '${ROOT}'})
cache.size = 10 * MB
log_level('info')
`;
}

async function findingsOf(name: ResolverName): Promise<Findings> {
  const resolver = new Resolver({timeout: 3000, tries: 2});
  resolver.setServers([RESOLVERS[name]]);
  const texts = async (host = `_acme-challenge.${HOST}`) =>
    (await resolver.resolveTxt(host)).map(parts => parts.join('')).sort();
  const codeOf = (query: Promise<unknown>) =>
    query.then(
      () => 'answer',
      (error: NodeJS.ErrnoException) => error.code,
    );
  const sees = (wanted: readonly string[]) => {
    values = wanted;
    const shows = async () => (await texts().catch(() => [])).join() === [...wanted].sort().join();
    return until(`${name} shows ${wanted.length} values`, shows, {intervalMs: 50}).then(
      () => true,
      () => false,
    );
  };
  values = [];
  const ready = async () => (await codeOf(resolver.resolveNs(DOMAIN))) === 'answer';
  await until(`${name} answers`, ready);
  const before = await texts();
  const changes = [VALUES.slice(0, 1), VALUES, VALUES.slice(1)];
  const seen: boolean[] = [];
  for (const wanted of changes) seen.push(await sees(wanted));
  return {
    before,
    seen,
    address: await codeOf(resolver.resolve4(NAME)),
    caa: await codeOf(resolver.resolveCaa(NAME)),
    other: await codeOf(texts(`${[...LABEL].reverse().join('')}.${DOMAIN}`)),
    none: await codeOf(texts(`none.${DOMAIN}`)),
    nameServers: (await resolver.resolveNs(DOMAIN)).sort(),
  };
}

await writeFile(at('hints'), `. 3600 NS ns.root.\nns.root. 3600 A ${ROOT}\n`);
const resolvers: Record<string, Findings> = {};
for (const name of Object.keys(RESOLVERS) as ResolverName[]) resolvers[name] = await findingsOf(name);
const edns = await Promise.all(
  EDNS_QUERIES.map(({query}) =>
    run(['dig', '+norecurse', '+noad', `@${SERVERS[0]}`, ...query.split(' '), 'SOA', DOMAIN]),
  ),
);
process.stdout.write(`${JSON.stringify({resolvers, edns})}\n`);
process.exit(0);
