/**
 * Programs from Debian packages that apt fetches. They are unpacked into the cache instead of installed, so no root is
 * needed.
 */
import {existsSync} from 'node:fs';
import {mkdir, readdir, readFile, rename, rm} from 'node:fs/promises';
import {delimiter, join} from 'node:path';
import {run} from '../cluster/children.ts';
import {withLock} from '../cluster/lock.ts';

export interface UnpackOptions {
  /** Where unpacked packages are kept. */
  readonly cache: string;
  /** Name of the folder in the cache, without the Debian release. */
  readonly name: string;
  /** Returns the names of the packages, once apt has its lists. */
  readonly packages: (aptCache: (...args: readonly string[]) => Promise<string>) => Promise<readonly string[]>;
  /** For errors: what is fetched. */
  readonly what: string;
  readonly apt: string;
  readonly dpkg: string;
  readonly log: (line: string) => void;
}

/** Returns the folder with the packages and their missing dependencies, laid out as below `/`. */
export async function unpackedPackages(options: UnpackOptions): Promise<string> {
  const {cache, name} = options;
  const folder = join(cache, `${name}-${await release()}`);
  if (existsSync(folder)) return folder;
  await mkdir(cache, {recursive: true});
  // One lock for all, because a second `apt-get update` at the same time fails.
  await withLock(join(cache, 'debian-packages.lock'), async () => {
    if (!existsSync(folder)) await unpack(folder, options);
  });
  return folder;
}

/** For LD_LIBRARY_PATH. */
export async function librariesIn(folder: string): Promise<string> {
  const triplets = await readdir(join(folder, 'usr/lib')).catch(() => []);
  return triplets.flatMap(each => [join(folder, 'usr/lib', each), join(folder, 'lib', each)]).join(delimiter);
}

async function unpack(folder: string, {name, packages, what, apt, dpkg, log}: UnpackOptions): Promise<void> {
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
    const wanted = await packages((...args) => run([apt.replace(/get$/, 'cache'), ...args], {env}));
    log(`[${name}] fetching Debian packages (unpacked into ${folder}, not installed): ${wanted.join(' ')}`);
    await run([...fetch, ...options, ...wanted], {env});
  } catch (cause) {
    throw new Error(`apt-get could not fetch ${what}`, {cause});
  }
  for (const file of await readdir(archives)) {
    if (file.endsWith('.deb')) await run([dpkg, '-x', join(archives, file), draft]);
  }
  await rm(archives, {recursive: true});
  await rename(draft, folder);
}

/** The name of the Debian release that the packages fit. */
async function release(): Promise<string> {
  const text = await readFile('/etc/os-release', 'utf8').catch(() => '');
  const value = (key: string) => new RegExp(`^${key}="?([\\w.]+)`, 'm').exec(text)?.[1] ?? 'unknown';
  return `${value('ID')}-${value('VERSION_ID')}-${process.arch}`;
}
