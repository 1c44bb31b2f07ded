/** Downloads pinned packages once, with the clients of their registries, and refuses any other content. */
import {createHash} from 'node:crypto';
import {existsSync} from 'node:fs';
import {mkdir, mkdtemp, readFile, rename, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {cacheRoot} from '../../test/cluster/cache.ts';
import {run} from '../../test/cluster/children.ts';
import {openApt} from './apt.ts';
import type {Pinned} from './pins.ts';

/** The files of the packages, in the same order. */
export async function fetchPinned(packages: readonly Pinned[]): Promise<Buffer[]> {
  const missing = packages.filter(each => !existsSync(cached(each)));
  if (missing.length > 0) console.error(`[release] downloading ${missing.map(({name}) => name).join(', ')}`);
  const debian = missing.filter(({registry}) => registry === 'debian');
  if (debian.length > 0) await fetchDebian(debian);
  for (const each of missing.filter(({registry}) => registry === 'npm')) await keep(each, await npmPack(each));
  return Promise.all(packages.map(async each => verified(each, await readFile(cached(each)))));
}

async function fetchDebian(packages: readonly Pinned[]): Promise<void> {
  await using apt = await openApt();
  const files = await apt.download(packages.map(each => `${each.name}:${each.architecture}=${each.version}`));
  for (const each of packages) {
    const found = files.find(content => integrityOf(each, content) === each.integrity);
    if (!found)
      throw new Error(`${each.name} ${each.version} from the mirror does not have the hash ${each.integrity}`);
    await keep(each, found);
  }
}

async function npmPack({name, version}: Pinned): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'nameplate-npm-'));
  try {
    const said = await run(['npm', 'pack', '--silent', `${name}@${version}`], {cwd: folder});
    return await readFile(join(folder, said.trim().split('\n').at(-1) ?? ''));
  } finally {
    await rm(folder, {recursive: true});
  }
}

async function keep(pinned: Pinned, content: Buffer): Promise<void> {
  const path = cached(pinned);
  await mkdir(join(path, '..'), {recursive: true});
  await writeFile(`${path}.${process.pid}`, verified(pinned, content));
  await rename(`${path}.${process.pid}`, path);
}

function cached({integrity}: Pinned): string {
  return join(cacheRoot(), 'pinned', integrity.replaceAll('/', '_').slice(0, 50));
}

function verified(pinned: Pinned, content: Buffer): Buffer {
  const actual = integrityOf(pinned, content);
  if (actual === pinned.integrity) return content;
  throw new Error(`${pinned.name} ${pinned.version} has the hash ${actual}, not the pinned ${pinned.integrity}`);
}

function integrityOf({integrity}: Pinned, content: Buffer): string {
  const algorithm = integrity.replace(/-.*/s, '');
  return `${algorithm}-${createHash(algorithm).update(content).digest('base64')}`;
}
