import {existsSync} from 'node:fs';
import {readdir} from 'node:fs/promises';
import {join} from 'node:path';
import {cacheRoot} from '../../../cluster/cache.ts';
import {which} from '../../../cluster/children.ts';
import {librariesIn, unpackedPackages} from '../../../support/debian-packages.ts';

export interface PostgresPrograms {
  /** The folder of initdb, postgres, and pg_basebackup. */
  readonly bin: string;
  readonly env: NodeJS.ProcessEnv;
}

/** PostgreSQL from this system's packages, unpacked into the cache; without apt, the one on PATH. */
export async function ensurePostgres(log: (line: string) => void = console.error): Promise<PostgresPrograms> {
  const [apt, dpkg] = [which('apt-get'), which('dpkg')];
  if (apt === undefined || dpkg === undefined) {
    const [initdb, basebackup] = [which('initdb'), which('pg_basebackup')];
    if (initdb && basebackup) return {bin: join(initdb, '..'), env: process.env};
    throw new Error('the tests need PostgreSQL 15 or later on PATH, and there is no apt-get to fetch it');
  }
  const what = 'PostgreSQL, for the tests of the messages API';
  const folder = await unpackedPackages({cache: cacheRoot(), name: 'postgres', packages, what, apt, dpkg, log});
  const versions = join(folder, 'usr/lib/postgresql');
  const bin = (await readdir(versions)).map(each => join(versions, each, 'bin')).find(existsSync);
  if (bin === undefined) throw new Error(`there is no PostgreSQL in ${versions}`);
  return {bin, env: {...process.env, LC_ALL: 'C', LD_LIBRARY_PATH: await librariesIn(folder)}};
}

/** `postgresql` depends on the package of this release's version. */
async function packages(aptCache: (...args: readonly string[]) => Promise<string>): Promise<readonly string[]> {
  const version = /Depends: postgresql-(\d+)/.exec(await aptCache('depends', 'postgresql'))?.[1];
  if (version === undefined) throw new Error('the package postgresql does not name a version');
  return [`postgresql-${version}`, `postgresql-client-${version}`, 'libpq5'];
}

/**
 * PostgreSQL refuses to run as root. As nobody in a user namespace, it does not notice, and its files need not be
 * readable to others. The kernel ends it with this process.
 */
export function unprivileged(argv: readonly string[]): readonly string[] {
  const other = process.getuid?.() === 0 ? ['unshare', '--user', '--map-user=65534', '--map-group=65534', '--'] : [];
  return [...other, 'setpriv', '--pdeathsig', 'KILL', '--', ...argv];
}
