/**
 * Packs src/runtime, and the few other files that it imports, as an npm package: JavaScript with type declarations,
 * because Node strips no types inside node_modules.
 */
import {mkdtemp, readdir, readFile, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join, posix, relative} from 'node:path';
import {gzipSync} from 'node:zlib';
import {run} from '../../test/cluster/children.ts';
import type {Source} from './source.ts';
import {file, writeTar} from './tar.ts';
import {filesUrl, type Publication, sourceUrl} from './texts.ts';

const FOLDER = 'src/runtime';

interface Manifest {
  readonly name: string;
  readonly private: true;
  /** Module → file. */
  readonly exports: Readonly<Record<string, string>>;
}

export async function packageRuntime(source: Source, publication?: Publication): Promise<Buffer> {
  const read = (path: string) => readFile(join(source.repository, path), 'utf8');
  const manifest = JSON.parse(await read(`${FOLDER}/package.json`)) as Manifest;
  const entries = [
    file('package/package.json', `${JSON.stringify(published(manifest, source, publication), null, 2)}\n`),
    file('package/LICENSE', await read('LICENSE')),
    file('package/README.md', readable(await read(`${FOLDER}/README.md`), source, publication)),
    ...(await compiled(source.repository)).map(({path, content}) => file(`package/${path}`, content)),
  ];
  return gzipSync(writeTar(entries, source.epoch), {level: 9});
}

/** Paths below src, sorted. */
async function compiled(repository: string): Promise<{path: string; content: Buffer}[]> {
  const output = await mkdtemp(join(tmpdir(), 'nameplate-runtime-'));
  try {
    const project = join(repository, FOLDER, 'tsconfig.package.json');
    await run([join(repository, 'node_modules/.bin/tsc'), '--project', project, '--outDir', output]);
    const files = (await readdir(output, {recursive: true, withFileTypes: true})).filter(each => each.isFile());
    const paths = files.map(({parentPath, name}) => relative(output, join(parentPath, name))).sort();
    return await Promise.all(paths.map(async path => ({path, content: await readFile(join(output, path))})));
  } finally {
    await rm(output, {recursive: true});
  }
}

function published({private: _, name, exports, ...rest}: Manifest, {version}: Source, publication?: Publication) {
  const repository = publication && {type: 'git', url: `git+${sourceUrl(publication)}.git`, directory: FOLDER};
  const modules = Object.entries(exports).map(([module, path]) => {
    return [module, path.replace(/^\.(.*)\.ts$/, `./${posix.basename(FOLDER)}$1.js`)];
  });
  return {name, version, ...rest, ...(repository && {repository}), exports: Object.fromEntries(modules)};
}

/** Links lead to the files of the release's tag. If it is not published, there is no address to link to. */
function readable(markdown: string, {version}: Source, publication?: Publication): string {
  return markdown.replace(/\[([^\]]+)\]\((?!https?:|#)([^)]+)\)/g, (_, text: string, path: string) => {
    return publication ? `[${text}](${filesUrl(publication, version)}/${posix.join(FOLDER, path)})` : text;
  });
}
