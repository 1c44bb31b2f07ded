import {existsSync} from 'node:fs';
import {delimiter, join} from 'node:path';
import {librariesIn, unpackedPackages} from '../../../support/debian-packages.ts';

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
  /** Where to find programs; by default, on PATH. */
  readonly folders?: readonly string[];
  readonly log?: (line: string) => void;
}

/**
 * BIND, NSD, Knot, Unbound, and tcpdump, from Debian packages that apt fetches. They are unpacked into the cache,
 * because installing them would start a daemon on port 53 of this machine. Without apt, uses those on PATH. Throws an
 * Error that names what is missing.
 */
export async function ensureNameServerPrograms(options: PackagesOptions): Promise<NameServerPrograms> {
  const {cache, log = console.error} = options;
  const {folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin']} = options;
  const onPath = (program: string) => folders.map(each => join(each, program)).find(existsSync);
  const [apt, dpkg] = [onPath('apt-get'), onPath('dpkg')];
  if (apt === undefined || dpkg === undefined) return {paths: located(onPath), libraries: ''};
  const packages = async () => [...new Set(Object.values(PACKAGES))];
  const what = `${(await packages()).join(', ')}, the name servers of the DNS tests`;
  const folder = await unpackedPackages({cache, name: 'name-servers', packages, what, apt, dpkg, log});
  const find = (program: string) => FOLDERS.map(each => join(folder, each, program)).find(existsSync);
  return {paths: located(find), libraries: await librariesIn(folder)};
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
