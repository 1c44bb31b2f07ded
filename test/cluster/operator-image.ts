import {createHash} from 'node:crypto';
import {existsSync} from 'node:fs';
import {copyFile, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {run} from './children.ts';
import {type Builder, buildArchive, imageReference} from './images.ts';
import {extractLastRelease, LAST_RELEASE_IMAGE} from './last-release.ts';
import {cacheRoot} from './programs.ts';

const REPOSITORY = join(import.meta.dirname, '../..');

export interface OperatorImage {
  readonly reference: string;
  readonly archive: string;
}

/**
 * Bundles the operator and builds its image from the repository's Dockerfile. Docker uses the Dockerfile's own base; where
 * there is no Docker no image can be pulled, and the base is made of this Node and this machine's C library.
 */
export async function buildOperatorImage(
  builder: Builder,
  {repository = REPOSITORY, name = 'operator'} = {},
): Promise<OperatorImage> {
  await run([join(REPOSITORY, 'node_modules/.bin/rolldown'), '--config', 'tools/bundle.config.ts'], {cwd: repository});
  const base = builder === 'buildah' ? {name: 'node', archive: await ensureNodeBase()} : undefined;
  const hash = createHash('sha256').update(base?.archive ?? '');
  const built = (await readdir(join(repository, 'dist'))).filter(name => /\.(mjs|json)$/.test(name)).sort();
  for (const file of ['Dockerfile', ...built.map(name => join('dist', name))])
    hash.update(await readFile(join(repository, file)));
  const archive = join(cacheRoot(), name, `${hash.digest('hex').slice(0, 12)}.tar`);
  if (!existsSync(archive)) {
    await rm(dirname(archive), {recursive: true, force: true}); // the last one is all that is wanted
    const file = join(repository, 'Dockerfile');
    await buildArchive({context: repository, file, name, archive, builder, ...(base ? {base} : {})});
  }
  return {reference: imageReference(name), archive};
}

/** Built from its commit, with the packages of today: the lock file of the last release lists a part of them. */
export async function buildLastReleaseImage(builder: Builder): Promise<OperatorImage> {
  const folder = await mkdtemp(join(tmpdir(), 'nameplate-last-'));
  try {
    const repository = join(folder, 'repository');
    await extractLastRelease(repository);
    await symlink(join(REPOSITORY, 'node_modules'), join(repository, 'node_modules'));
    return await buildOperatorImage(builder, {repository, name: LAST_RELEASE_IMAGE});
  } finally {
    await rm(folder, {recursive: true, force: true});
  }
}

async function ensureNodeBase(): Promise<string> {
  const files = [process.execPath, ...(await librariesOf(process.execPath))];
  const hash = createHash('sha256');
  for (const file of files) hash.update(`${file} ${(await stat(file)).size} ${(await stat(file)).mtimeMs}\n`);
  const archive = join(cacheRoot(), 'node-base', `${hash.digest('hex').slice(0, 12)}.tar`);
  if (!existsSync(archive)) await buildNodeBase(files, archive);
  return archive;
}

async function buildNodeBase([node = '', ...libraries]: readonly string[], archive: string): Promise<void> {
  const context = await mkdtemp(join(tmpdir(), 'nameplate-node-'));
  const put = async (from: string, to: string) => {
    await mkdir(dirname(join(context, 'root', to)), {recursive: true});
    await copyFile(from, join(context, 'root', to));
  };
  try {
    await put(node, '/usr/local/bin/node');
    for (const library of libraries) await put(library, library);
    const file = join(context, 'Containerfile');
    await writeFile(file, 'FROM scratch\nCOPY root /\nENV PATH=/usr/local/bin:/usr/bin:/bin\n');
    await buildArchive({context, file, name: 'node', archive, builder: 'buildah'});
  } finally {
    await rm(context, {recursive: true, force: true});
  }
}

/** The shared libraries of a program, and its loader. */
async function librariesOf(program: string): Promise<string[]> {
  const lines = (await run(['ldd', program])).split('\n');
  return lines.flatMap(line => /(\/\S+) \(0x/.exec(line)?.[1] ?? []);
}
