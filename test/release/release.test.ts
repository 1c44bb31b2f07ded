/**
 * Builds the release twice, in copies of the repository that differ in everything that must not matter, and starts the
 * programs of its images. Includes uncommitted changes to tracked files.
 */
import {existsSync} from 'node:fs';
import {mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {basename, join} from 'node:path';
import {zstdDecompressSync} from 'node:zlib';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {parse} from 'yaml';
import {
  ARCHITECTURES,
  type Architecture,
  libraryPackages,
  nodePackage,
  ownArchitecture,
} from '../../tools/release/pins.ts';
import {purlOf} from '../../tools/release/sbom.ts';
import {cacheRoot} from '../cluster/cache.ts';
import {run} from '../cluster/children.ts';
import {ensurePrograms} from '../cluster/programs.ts';
import {unpackedPackages} from '../support/debian-packages.ts';

const REPOSITORY = join(import.meta.dirname, '../..');
/** Moves Node's clock, which the tools read. */
const A_YEAR_LATER = `data:text/javascript,${encodeURIComponent(`
  const {now} = Date;
  globalThis.Date = class extends Date {
    constructor(...args) { super(...(args.length ? args : [now() + 31_536_000_000])); }
    static now() { return now() + 31_536_000_000; }
  };`)}`;

let root: string;
let commit: string;
let one: string;
let two: string;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'nameplate-release-'));
  const other = {TZ: 'Pacific/Kiritimati', LANG: 'tr_TR.UTF-8', NODE_OPTIONS: `--import=${A_YEAR_LATER}`};
  const git = (...args: string[]) => run(['git', '-C', REPOSITORY, ...args]);
  commit = (await git('rev-parse', (await git('stash', 'create')).trim() || 'HEAD')).trim();
  one = await build('one', '022', {TZ: 'UTC'});
  two = await build('a/folder/with a longer name', '077', other);
}, 1_200_000);

afterAll(() => rm(root, {recursive: true, force: true}));

/**
 * Returns the folder of the release, built from a fresh clone. Only Helm is cached, because it takes minutes to build.
 */
async function build(name: string, umask: string, environment: NodeJS.ProcessEnv): Promise<string> {
  const folder = join(root, name);
  const caches = await mkdtemp(join(root, 'caches-'));
  await mkdir(join(caches, 'nameplate'));
  const helm = join((await ensurePrograms(['helm'])).path('helm'), '../..');
  await symlink(helm, join(caches, 'nameplate', basename(helm)));
  const {NODE_OPTIONS, SOURCE_DATE_EPOCH, IMAGE_REPOSITORY, RELEASE_URL, ...inherited} = process.env;
  const env = {...inherited, XDG_CACHE_HOME: caches, npm_config_cache: join(caches, 'npm')};
  const masked = (command: readonly string[], cwd: string, own: NodeJS.ProcessEnv = {}) =>
    run(['sh', '-c', 'umask "$0" && exec "$@"', umask, ...command], {cwd, env: {...env, ...own}});
  await masked(['git', 'clone', '--quiet', '--shared', '--no-checkout', REPOSITORY, folder], root);
  await masked(['git', 'checkout', '--quiet', '--detach', commit], folder);
  await masked(['npm', 'ci', '--no-audit', '--no-fund', '--loglevel=error'], folder);
  await masked([process.execPath, 'tools/release/release.ts'], folder, environment);
  return join(folder, 'dist/release');
}

test('two builds in different folders, time zones, and years, with empty caches, have the same bytes', async () => {
  const names = (await readdir(one)).sort();
  expect(names.length).toBeGreaterThan(10);
  expect(names).toContainEqual(expect.stringMatching(/^nameplate-runtime-[\d.]+\.tgz$/)); // installed by package.test.ts
  expect((await readdir(two)).sort()).toEqual(names);
  const different: string[] = [];
  for (const name of names) {
    if (!(await readFile(join(one, name))).equals(await readFile(join(two, name)))) different.push(name);
  }
  expect(different).toEqual([]);
  await run(['sha256sum', '--check', '--strict', 'SHA256SUMS'], {cwd: one});
});

test('the chart is one that Helm accepts', async () => {
  const helm = (await ensurePrograms(['helm'])).path('helm');
  const chart = (await readdir(one)).find(name => /^nameplate-[\d.]+\.tgz$/.test(name)) ?? '';
  const settings = [
    'config.platform.baseDomain=a.example',
    'config.platform.targetDomain=b.example',
    'config.certificates.issuerRef.name=x',
  ];
  const linted = await run([helm, 'lint', '--strict', join(one, chart), ...settings.flatMap(each => ['--set', each])]);
  expect(linted).toContain('0 chart(s) failed');
  expect(await run([helm, 'show', 'readme', join(one, chart)])).toContain('# Nameplate');
});

test('npm installs the commands for people, and the manifest of krew names the same archive', async () => {
  const prefix = join(root, 'npm');
  const cli = (await readdir(one)).find(name => name.startsWith('nameplate-cli-')) ?? '';
  await run(['npm', 'install', '--global', '--prefix', prefix, '--no-audit', '--no-fund', '--offline', join(one, cli)]);
  for (const command of ['kubectl-nameplate', 'nameplate-check', 'nameplate-review']) {
    expect((await run([join(prefix, 'bin', command), '--help'])).toLowerCase()).toContain('usage: ');
  }
  const page = await readFile(join(REPOSITORY, 'docs/kubectl.md'), 'utf8');
  const programs = ['kubectl-nameplate', 'check', 'review'].map(name => `lib/node_modules/nameplate/${name}.mjs`);
  const sizes = await Promise.all(programs.map(async path => (await stat(join(prefix, path))).size));
  const megabytes = sizes.reduce((sum, size) => sum + size) / 1e6;
  expect(Math.abs(megabytes - Number(/three bundles of ([\d.]+) MB/.exec(page)?.[1]))).toBeLessThan(0.5);
  // kubectl-nameplate starts the other programs, which are next to it.
  const review = [join(prefix, 'bin/kubectl-nameplate'), 'review', '--', '--help'];
  expect(await run(review)).toContain('Usage: nameplate review');
  const {spec} = parse(await readFile(join(one, 'krew.yaml'), 'utf8'));
  const [platform] = spec.platforms;
  expect(platform.uri).toBe(`RELEASE_URL/${cli}`);
  expect(await run(['sha256sum', join(one, cli)])).toContain(platform.sha256);
  expect(await run(['tar', '--list', '--file', join(one, cli)])).toContain(`package/${platform.bin}\n`);
});

describe.each(ARCHITECTURES)('the image for %s', architecture => {
  test('names its packages where scanners look, in the SBOM, and in the provenance', async () => {
    const rootfs = await unpacked(architecture);
    const text = async (end: string) =>
      readFile(join(one, (await readdir(one)).find(name => name.endsWith(end)) ?? end), 'utf8');
    const sbom = JSON.parse(await text(`-image-${architecture}.cdx.json`)) as {components: {purl: string}[]};
    const purls = sbom.components.map(({purl}) => purl);
    expect(purls).toContainEqual(expect.stringMatching(/^pkg:npm\/prom-client@/)); // from the programs' own SBOMs
    const {predicate} = JSON.parse(await text('.intoto.jsonl'));
    const {resolvedDependencies} = predicate.buildDefinition as {resolvedDependencies: {uri?: string}[]};
    const libraries = libraryPackages(architecture);
    for (const each of [nodePackage(architecture), ...libraries]) {
      expect(purls).toContain(purlOf(each));
      expect(resolvedDependencies).toContainEqual(expect.objectContaining({uri: purlOf(each)}));
    }
    for (const {name, version} of libraries) {
      const status = await readFile(join(rootfs, 'var/lib/dpkg/status.d', name), 'utf8');
      expect(status).toMatch(new RegExp(`^Package: ${RegExp.escape(name)}$`, 'm'));
      expect(status).toMatch(new RegExp(`^Version: ${RegExp.escape(version)}$`, 'm'));
    }
  });

  test('holds all that its programs need to start', async () => {
    const rootfs = await unpacked(architecture);
    const node = await starter(architecture, rootfs);
    // An invalid command line, which the programs reject once they are loaded.
    for (const program of ['operator', 'messages']) {
      await expect(run([...node, join(rootfs, `app/${program}.mjs`)])).rejects.toThrow(
        `usage: ${program} --config FILE`,
      );
    }
    const look = 'require("node:dns/promises").lookup("127.0.0.1").then(() => console.log(process.arch))';
    expect((await run([...node, '--eval', look])).trim()).toBe(architecture === 'amd64' ? 'x64' : architecture);
  });
});

/** Unpacks the files of the image from the archive's blobs. */
async function unpacked(architecture: Architecture): Promise<string> {
  const layout = join(root, 'layout');
  if (!existsSync(layout)) {
    await mkdir(layout);
    const archive = (await readdir(one)).find(name => name.endsWith('.oci.tar')) ?? '';
    await run(['tar', '--extract', '--file', join(one, archive), '--directory', layout]);
  }
  const blob = async (digest: string) =>
    JSON.parse(await readFile(join(layout, 'blobs', digest.replace(':', '/')), 'utf8'));
  const top = JSON.parse(await readFile(join(layout, 'index.json'), 'utf8'));
  const index = await blob(top.manifests[0].digest);
  const descriptor = index.manifests.find(
    (each: {platform: {architecture: string}}) => each.platform.architecture === architecture,
  );
  const rootfs = join(root, architecture);
  if (existsSync(rootfs)) return rootfs;
  await mkdir(rootfs);
  for (const {digest} of (await blob(descriptor.digest)).layers) {
    const layer = join(root, 'layer.tar');
    await writeFile(layer, zstdDecompressSync(await readFile(join(layout, 'blobs', digest.replace(':', '/')))));
    await run(['tar', '--extract', '--file', layer, '--directory', rootfs]);
  }
  return rootfs;
}

/** The image's Node, with the image's loader and libraries. */
async function starter(architecture: Architecture, rootfs: string): Promise<string[]> {
  const node = join(rootfs, 'usr/local/bin/node');
  if (architecture === ownArchitecture()) {
    const loader = join(
      rootfs,
      architecture === 'amd64' ? 'lib/x86_64-linux-gnu/ld-linux-x86-64.so.2' : 'lib/ld-linux-aarch64.so.1',
    );
    const triplet = architecture === 'amd64' ? 'x86_64-linux-gnu' : 'aarch64-linux-gnu';
    const libraries = `${rootfs}/lib/${triplet}:${rootfs}/usr/lib/${triplet}`;
    return [loader, '--inhibit-cache', '--library-path', libraries, node];
  }
  const packages = async () => ['qemu-user-static'];
  const options = {
    cache: cacheRoot(),
    name: 'qemu',
    packages,
    what: 'QEMU',
    apt: 'apt-get',
    dpkg: 'dpkg',
    log: console.error,
  };
  const emulator = architecture === 'amd64' ? 'qemu-x86_64-static' : 'qemu-aarch64-static';
  return [join(await unpackedPackages(options), 'usr/bin', emulator), '-L', rootfs, node];
}
