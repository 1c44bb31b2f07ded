import {createHash} from 'node:crypto';
import {existsSync} from 'node:fs';
import {mkdir, readFile, rename, writeFile} from 'node:fs/promises';
import {dirname, join} from 'node:path';
import {archive, assemble, uncompressedLayer} from '../../tools/release/image.ts';
import {ownArchitecture} from '../../tools/release/pins.ts';
import {type Entry, file, folder, withFolders} from '../../tools/release/tar.ts';
import type {Envoy} from './envoy.ts';
import type {Programs} from './programs.ts';

/** Images with one static binary each, needed for every edge. */
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
const ROOT = new Set<string>([
  ...['coredns', 'traefik', 'pebble'],
  ...['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'],
]);

export function imageReference(name: string): string {
  return `localhost/nameplate/${name}:test`;
}

export interface BinaryImage {
  readonly name: string;
  readonly binary: string;
  /** Shared libraries, which keep their paths. */
  readonly libraries?: readonly string[];
}

/**
 * Archives of all images that the cluster runs, except those that it pulls. Each is built once per version of its
 * program.
 */
export async function ensureImages(
  programs: Programs,
  envoy: Envoy | undefined,
  pulled: Readonly<Record<string, string>>,
): Promise<string[]> {
  const names = [...PROGRAMS, envoy ? 'envoy-gateway' : 'traefik'].filter(name => !(name in pulled));
  const images: BinaryImage[] = names.map(name => ({name, binary: programs.path(name)}));
  if (envoy) images.push({name: 'envoy', ...envoy});
  const archives: string[] = [];
  for (const image of images) archives.push(await ensureImage(image)); // one at a time, because each is in memory
  return archives;
}

/** Writes the archive of one image next to its program. */
export async function ensureImage(image: BinaryImage): Promise<string> {
  const config = configuration(image.name);
  const hash = createHash('sha256').update(JSON.stringify(config)).digest('hex').slice(0, 8);
  const path = join(dirname(image.binary), '../images', `${image.name}-${hash}.oci.tar`);
  if (existsSync(path)) return path;
  const built = assemble(ownArchitecture(), [uncompressedLayer(await entriesOf(image))], {config});
  await mkdir(dirname(path), {recursive: true});
  await writeFile(`${path}.${process.pid}`, archive([built], imageReference(image.name)).content);
  await rename(`${path}.${process.pid}`, path);
  return path;
}

/**
 * The user is a number, because the kubelet cannot tell from a name that it is not root. Envoy Gateway starts its
 * programs by name.
 */
function configuration(name: string): object {
  return {...(ROOT.has(name) ? {} : {User: '65532:65532'}), Env: ['PATH=/'], Entrypoint: [`/${name}`]};
}

/** Envoy and Envoy Gateway write to /tmp. */
async function entriesOf({name, binary, libraries = []}: BinaryImage): Promise<Entry[]> {
  const executables = [[binary, name], ...libraries.map(path => [path, path.slice(1)])];
  const read = executables.map(async ([from = '', to = '']) => file(to, await readFile(from), 0o755));
  return withFolders([folder('tmp', 0o1777), ...(await Promise.all(read))]);
}
