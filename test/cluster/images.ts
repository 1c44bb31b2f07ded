import {createHash} from 'node:crypto';
import {existsSync} from 'node:fs';
import {chmod, copyFile, mkdir, mkdtemp, rename, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {run} from './children.ts';
import type {Envoy} from './envoy.ts';
import type {Programs} from './programs.ts';

type Builder = 'buildah' | 'docker';

/** Images that hold one static binary each, whatever the edge. */
const PROGRAMS = [
  'pause',
  'coredns',
  'cert-manager-controller',
  'cert-manager-webhook',
  'cert-manager-cainjector',
  'cert-manager-acmesolver',
  'pebble',
  'web',
] as const;

/** These bind ports below 1024 on the node's network, or read keys that root owns. */
const ROOT = new Set<string>(['coredns', 'traefik', 'pebble']);

export function imageReference(name: string): string {
  return `localhost/nameplate/${name}:test`;
}

interface BinaryImage {
  readonly name: string;
  readonly binary: string;
  /** Shared libraries, which keep their paths. */
  readonly libraries: readonly string[];
}

/** Archives (of the docker-archive format) of all images the cluster runs; built once for each version of a program. */
export async function ensureImages(programs: Programs, builder: Builder, envoy: Envoy | undefined): Promise<string[]> {
  const images: BinaryImage[] = [...PROGRAMS, envoy ? 'envoy-gateway' : 'traefik'].map(name => ({
    name,
    binary: programs.path(name),
    libraries: [],
  }));
  if (envoy) images.push({name: 'envoy', ...envoy});
  const archives: string[] = [];
  for (const image of images) {
    const hash = createHash('sha256').update(containerfile(image.name)).digest('hex').slice(0, 8);
    const archive = join(dirname(image.binary), '../images', `${image.name}-${hash}.tar`);
    if (!existsSync(archive)) await buildFromBinary(image, archive, builder);
    archives.push(archive);
  }
  return archives;
}

/**
 * The user is a number, because the kubelet cannot tell that a name is not root's. Envoy Gateway calls its programs by
 * name, and they write to /tmp.
 */
function containerfile(name: string): string {
  const user = ROOT.has(name) ? '' : 'USER 65532:65532\n';
  return `FROM scratch\nCOPY root /\nENV PATH=/\n${user}ENTRYPOINT ["/${name}"]\n`;
}

async function buildFromBinary(
  {name, binary, libraries}: BinaryImage,
  archive: string,
  builder: Builder,
): Promise<void> {
  const context = await mkdtemp(join(tmpdir(), 'nameplate-image-'));
  const root = join(context, 'root');
  try {
    await mkdir(join(root, 'tmp'), {recursive: true});
    await chmod(join(root, 'tmp'), 0o1777);
    await copyFile(binary, join(root, name));
    for (const library of libraries) {
      await mkdir(join(root, dirname(library)), {recursive: true});
      await copyFile(library, join(root, library));
    }
    await writeFile(join(context, 'Containerfile'), containerfile(name));
    await buildArchive({context, file: join(context, 'Containerfile'), name, archive, builder});
  } finally {
    await rm(context, {recursive: true, force: true});
  }
}

interface ArchiveBuild {
  readonly context: string;
  readonly file: string;
  readonly name: string;
  /** Where the archive goes; it appears there when it is complete. */
  readonly archive: string;
  readonly builder: Builder;
}

async function buildArchive(build: ArchiveBuild): Promise<void> {
  await mkdir(dirname(build.archive), {recursive: true});
  const unfinished = `${build.archive}.${process.pid}`;
  if (build.builder === 'docker') await buildByDocker(build, unfinished);
  else await buildByBuildah(build, unfinished);
  await rename(unfinished, build.archive);
}

async function buildByDocker({context, file, name}: ArchiveBuild, output: string): Promise<void> {
  await run(['docker', 'build', '--quiet', '--file', file, '--tag', imageReference(name), context]);
  await run(['docker', 'save', '--output', output, imageReference(name)]);
}

/** The store is a folder of its own, so that nothing is left in the machine's. */
async function buildByBuildah({context, file, name}: ArchiveBuild, output: string): Promise<void> {
  const store = await mkdtemp(join(tmpdir(), 'nameplate-buildah-'));
  const buildah = ['buildah', '--root', `${store}/root`, '--runroot', `${store}/run`, '--storage-driver', 'vfs'];
  try {
    const bud = ['bud', '--isolation', 'chroot', '--layers=false', '--quiet'];
    await run([...buildah, ...bud, '--file', file, '--tag', imageReference(name), context]);
    await run([
      ...buildah,
      'push',
      '--quiet',
      imageReference(name),
      `docker-archive:${output}:${imageReference(name)}`,
    ]);
  } finally {
    await rm(store, {recursive: true, force: true});
  }
}
