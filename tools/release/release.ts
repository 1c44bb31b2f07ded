/**
 * Writes everything that a release consists of to dist/release, with the same bytes each time:
 *
 *     node tools/release/release.ts
 *
 * If IMAGE_REPOSITORY and RELEASE_URL are set, as in the release workflow, the release can be published there.
 */
import {mkdir, readdir, readFile, rm, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {gzipSync} from 'node:zlib';
import {run} from '../../test/cluster/children.ts';
import {goVersion} from '../../test/cluster/go.ts';
import {changesOf} from './changelog.ts';
import {packageChart} from './chart.ts';
import {packageRuntime} from './controller-runtime.ts';
import {archive, buildImage, sha256} from './image.ts';
import {renderChart} from './install.ts';
import {requirePrograms} from './needed.ts';
import {ARCHITECTURES} from './pins.ts';
import {provenance} from './provenance.ts';
import {imageSbom} from './sbom.ts';
import {type Source, sourceOf} from './source.ts';
import {file, withFolders, writeTar} from './tar.ts';
import {fill, linked, publicationIn} from './texts.ts';

const repository = join(import.meta.dirname, '../..');
/** The program of each command. */
const CLI: Readonly<Record<string, string>> = {
  'kubectl-nameplate': 'kubectl-nameplate',
  'nameplate-check': 'check',
  'nameplate-review': 'review',
};

async function main(): Promise<void> {
  requirePrograms(['git', 'dpkg-deb', 'apt-get']);
  await goVersion();
  const source = await sourceOf(repository);
  const {version} = source;
  const publication = publicationIn(process.env);
  await run([join(repository, 'node_modules/.bin/rolldown'), '--config', 'tools/bundle.config.ts'], {cwd: repository});
  const images = await Promise.all(ARCHITECTURES.map(each => buildImage(each, source)));
  const {content, digest} = archive(
    images,
    // How a container engine expands `nameplate`, the chart's default.
    `${publication?.image ?? 'docker.io/library/nameplate'}:${version}`,
  );
  const chart = await packageChart(source, publication);
  const files = new Map<string, Buffer>([
    [`nameplate-${version}.oci.tar`, content],
    [`nameplate-${version}.tgz`, chart],
    [`nameplate-cli-${version}.tgz`, await packageCli(source)],
    [`nameplate-runtime-${version}.tgz`, await packageRuntime(source, publication)],
    [`nameplate-${version}-docs.tgz`, await packageDocs(source)],
  ]);
  const put = (name: string, text: string) => files.set(name, Buffer.from(text));
  for (const image of images)
    put(`nameplate-${version}-image-${image.architecture}.cdx.json`, await imageSbom(source, image));
  put('crds.yaml', await crds());
  const output = join(repository, 'dist/release');
  await rm(output, {recursive: true, force: true});
  await mkdir(output, {recursive: true});
  const write = (name: string) => writeFile(join(output, name), files.get(name) ?? '');
  await write(`nameplate-${version}.tgz`);
  const cli = sha256(files.get(`nameplate-cli-${version}.tgz`) ?? Buffer.of()).replace('sha256:', '');
  const values = {VERSION: version, DIGEST: digest, CLI_SHA256: cli};
  const filled = async (path: string) =>
    fill(await readFile(join(import.meta.dirname, path), 'utf8'), values, publication);
  const rendered = await renderChart(join(output, `nameplate-${version}.tgz`), publication && digest);
  put('install.yaml', (await filled('install.head.yaml')) + rendered);
  put('krew.yaml', await filled('krew.yaml'));
  put('README.md', await filled('RELEASE.md'));
  const {text} = changesOf(await readFile(join(repository, 'CHANGELOG.md'), 'utf8'), version);
  put('RELEASE_NOTES.md', `${await filled('NOTES.md')}\n${linked(text, version, publication)}\n`);
  put(`nameplate-${version}.intoto.jsonl`, await provenance(source, files, publication));
  const sums = [...files].sort().map(([name, each]) => `${sha256(each).replace('sha256:', '')}  ${name}\n`);
  put('SHA256SUMS', sums.join(''));
  await Promise.all([...files.keys()].map(write));
  console.log(
    `dist/release: ${files.size} files of ${version}, image ${digest}${source.dirty ? ', with UNCOMMITTED CHANGES' : ''}`,
  );
}

/** For `npm install --global FILE`. */
async function packageCli({version, epoch}: Source): Promise<Buffer> {
  const names = (await readdir(join(repository, 'dist'))).filter(name =>
    Object.values(CLI).some(program => name.startsWith(`${program}.`)),
  );
  const manifest = {
    name: 'nameplate',
    version,
    description: 'Commands for the Nameplate operator',
    license: 'Apache-2.0',
    type: 'module',
    engines: {node: '>=26'},
    bin: Object.fromEntries(Object.entries(CLI).map(([command, program]) => [command, `${program}.mjs`])),
  };
  const read = (path: string) => readFile(join(repository, path));
  const entries = [
    file('package/package.json', `${JSON.stringify(manifest, null, 2)}\n`),
    file('package/LICENSE', await read('LICENSE')),
    ...(await Promise.all(names.sort().map(async name => file(`package/${name}`, await read(`dist/${name}`), 0o755)))),
  ];
  return gzipSync(writeTar(entries, epoch), {level: 9});
}

/** The documents that the release's README, the conditions, and the alerts refer to. */
async function packageDocs({epoch}: Source): Promise<Buffer> {
  const listed = await run(['git', 'ls-files', '-z', 'docs', 'examples', 'LICENSE'], {cwd: repository});
  const paths = listed.split('\0').filter(Boolean).sort();
  const entries = paths.map(async path => file(path, await readFile(join(repository, path))));
  return gzipSync(writeTar(withFolders(await Promise.all(entries)), epoch), {level: 9});
}

async function crds(): Promise<string> {
  const names = (await readdir(join(repository, 'crds'))).sort();
  return (await Promise.all(names.map(name => readFile(join(repository, 'crds', name), 'utf8')))).join('---\n');
}

await main();
