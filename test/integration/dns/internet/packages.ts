import {existsSync} from 'node:fs';
import {mkdir, readdir, readFile, rename, rm} from 'node:fs/promises';
import {delimiter, join} from 'node:path';
import {run} from '../../../cluster/children.ts';
import {withLock} from '../../../cluster/lock.ts';

/** Program → the Debian package that has it. */
const PACKAGES = {named: 'bind9', nsd: 'nsd', knotd: 'knot', unbound: 'unbound', tcpdump: 'tcpdump'} as const;
export type NameServerProgram = keyof typeof PACKAGES;
const NAMES = Object.keys(PACKAGES) as NameServerProgram[];
const FOLDERS = ['usr/sbin', 'usr/bin', 'sbin', 'bin'];

export interface NameServerPrograms {
  readonly paths: Readonly<Record<NameServerProgram, string>>;
  /** For LD_LIBRARY_PATH. */
  readonly libraries: string;
}

export interface PackagesOptions {
  /** Where unpacked packages are kept. */
  readonly cache: string;
  /** Where programs are looked for: those of PATH by default. */
  readonly folders?: readonly string[];
  readonly log?: (line: string) => void;
}

/**
 * BIND, NSD, Knot, Unbound and tcpdump: from Debian packages that apt fetches and that are unpacked into the cache, not
 * installed: an installed one would start a daemon on port 53 of this machine. Without apt, those on PATH. Throws an
 * Error that names what is missing.
 */
export async function ensureNameServerPrograms(options: PackagesOptions): Promise<NameServerPrograms> {
  const {cache, log = console.error} = options;
  const {folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin']} = options;
  const onPath = (program: string) => folders.map(each => join(each, program)).find(existsSync);
  const [apt, dpkg] = [onPath('apt-get'), onPath('dpkg')];
  if (apt === undefined || dpkg === undefined) return {paths: located(onPath), libraries: ''};
  const folder = join(cache, `name-servers-${await release()}`);
  if (!existsSync(folder)) {
    await mkdir(cache, {recursive: true});
    await withLock(join(cache, 'name-servers.lock'), async () => {
      if (!existsSync(folder)) await unpack(folder, apt, dpkg, log);
    });
  }
  const find = (program: string) => FOLDERS.map(each => join(folder, each, program)).find(existsSync);
  const triplets = await readdir(join(folder, 'usr/lib')).catch(() => []);
  const libraries = triplets.flatMap(each => [join(folder, 'usr/lib', each), join(folder, 'lib', each)]);
  return {paths: located(find), libraries: libraries.join(delimiter)};
}

async function unpack(folder: string, apt: string, dpkg: string, log: (line: string) => void): Promise<void> {
  const packages = [...new Set(Object.values(PACKAGES))];
  log(`[dns] fetching Debian packages (unpacked into ${folder}, not installed): ${packages.join(' ')}`);
  const draft = `${folder}.new`;
  await rm(draft, {recursive: true, force: true});
  await mkdir(join(draft, 'archives/partial'), {recursive: true});
  const archives = join(draft, 'archives');
  const options = ['-o', `Dir::Cache::archives=${archives}`, '-o', 'Debug::NoLocking=1'];
  const fetch = [
    apt,
    'install',
    '-y',
    '-qq',
    '--download-only',
    '--reinstall',
    '--no-install-recommends',
    '--no-remove',
  ];
  const env = {...process.env, DEBIAN_FRONTEND: 'noninteractive'};
  try {
    if (process.getuid?.() === 0) await run([apt, 'update', '-qq'], {env});
    await run([...fetch, ...options, ...packages], {env});
  } catch (cause) {
    throw new Error(`apt-get could not fetch ${packages.join(', ')}, the name servers of the DNS tests`, {cause});
  }
  for (const file of await readdir(archives)) {
    if (file.endsWith('.deb')) await run([dpkg, '-x', join(archives, file), draft]);
  }
  await rm(archives, {recursive: true});
  await rename(draft, folder);
}

/** Names the system that the packages fit. */
async function release(): Promise<string> {
  const text = await readFile('/etc/os-release', 'utf8').catch(() => '');
  const value = (key: string) => new RegExp(`^${key}="?([\\w.]+)`, 'm').exec(text)?.[1] ?? 'unknown';
  return `${value('ID')}-${value('VERSION_ID')}-${process.arch}`;
}

function located(find: (program: string) => string | undefined): Record<NameServerProgram, string> {
  const missing = NAMES.filter(name => find(name) === undefined);
  if (missing.length > 0) {
    const packages = missing.map(name => `${name} (Debian package ${PACKAGES[name]})`);
    throw new Error(
      `the DNS tests need ${packages.join(', ')}, and there is no apt-get to fetch them: please install them`,
    );
  }
  return Object.fromEntries(NAMES.map(name => [name, find(name) ?? ''])) as Record<NameServerProgram, string>;
}
