/** The image as an OCI archive, without a container engine: https://github.com/opencontainers/image-spec */
import {createHash} from 'node:crypto';
import {existsSync} from 'node:fs';
import {mkdir, readdir, readFile, rename, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {constants, zstdCompressSync} from 'node:zlib';
import {cacheRoot} from '../../test/cluster/cache.ts';
import type {Architecture} from './pins.ts';
import {runtimeEntries} from './runtime.ts';
import {type Entry, file, folder, withFolders, writeTar} from './tar.ts';

const MEDIA = 'application/vnd.oci.image';
/**
 * The level of zstd, which makes the image a fifth smaller than gzip does. Its output does not depend on the processor.
 */
const LEVEL = 9;

export interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly platform?: {readonly os: string; readonly architecture: string};
  readonly annotations?: Readonly<Record<string, string>>;
}

interface Blob {
  readonly descriptor: Descriptor;
  readonly content: Buffer;
}

export interface Layer extends Blob {
  /** The digest of the uncompressed layer. */
  readonly diffId: string;
}

export interface Image {
  readonly architecture: Architecture;
  readonly manifest: Descriptor;
  readonly blobs: readonly Blob[];
}

export interface Archive {
  /** The digest under which a registry serves the image. */
  readonly digest: string;
  readonly content: Buffer;
}

/** Where the parts of an image come from. */
export interface ImageSource {
  readonly repository: string;
  /** The image's date, in seconds since 1970. */
  readonly epoch: number;
  readonly version: string;
}

export async function buildImage(
  architecture: Architecture,
  {repository, epoch, version}: ImageSource,
): Promise<Image> {
  const layers = [await layer(await runtimeEntries(architecture)), await layer(await programEntries(repository))];
  const {labels, ...settings} = readDockerfile(await readFile(join(repository, 'Dockerfile'), 'utf8'));
  const created = new Date(epoch * 1000).toISOString();
  const Labels = {...labels, 'org.opencontainers.image.version': version, 'org.opencontainers.image.created': created};
  const history = ['Node and its libraries', 'the programs'].map(comment => ({created, comment}));
  return assemble(architecture, layers, {created, config: {...settings, Labels}, history});
}

/** The fields of an image's configuration that its layers do not determine. */
export interface Settings {
  readonly created?: string;
  readonly config: object;
  readonly history?: readonly object[];
}

export function assemble(architecture: Architecture, layers: readonly Layer[], settings: Settings): Image {
  const config = json(`${MEDIA}.config.v1+json`, {
    created: settings.created,
    architecture,
    os: 'linux',
    config: settings.config,
    rootfs: {type: 'layers', diff_ids: layers.map(({diffId}) => diffId)},
    history: settings.history,
  });
  const manifest = json(`${MEDIA}.manifest.v1+json`, {
    schemaVersion: 2,
    mediaType: `${MEDIA}.manifest.v1+json`,
    config: config.descriptor,
    layers: layers.map(({descriptor}) => descriptor),
  });
  return {architecture, manifest: manifest.descriptor, blobs: [...layers, config, manifest]};
}

/** The upper layer: the output of `make bundle`. */
export async function programEntries(repository: string): Promise<Entry[]> {
  const built = (await readdir(join(repository, 'dist'))).filter(name => /\.(mjs|cdx\.json)$/.test(name));
  const paths = ['LICENSE', ...built.map(name => `dist/${name}`)];
  const entries = paths.map(async path =>
    file(path.replace('dist', 'app').replace(/^LIC/, 'app/LIC'), await readFile(join(repository, path))),
  );
  return withFolders(await Promise.all(entries));
}

/** The image's settings in the last stage of the Dockerfile. Their values are JSON or NAME=VALUE pairs. */
export function readDockerfile(text: string) {
  const instructions =
    text
      .replace(/^#.*\n/gm, '')
      .replaceAll('\\\n', '')
      .split(/^FROM /m)
      .at(-1) ?? '';
  const all = (name: string) =>
    [...instructions.matchAll(new RegExp(`^${name} +(.*)$`, 'gm'))].map(([, value = '']) => value);
  const pairs = (name: string) =>
    all(name).flatMap(line =>
      [...line.matchAll(/([\w.]+)=("[^"]*"|\S+)/g)].map(
        ([, key = '', value = '']) => [key, value.replaceAll('"', '')] as const,
      ),
    );
  const [user = ''] = all('USER');
  const [entrypoint = '[]'] = all('ENTRYPOINT');
  return {
    User: user,
    Env: pairs('ENV').map(([key, value]) => `${key}=${value}`),
    Entrypoint: JSON.parse(entrypoint) as string[],
    labels: Object.fromEntries(pairs('LABEL')),
  };
}

/** One image, or an index with one per architecture. `name`, with a tag, is its name in an engine after import. */
export function archive(images: readonly Image[], name: string): Archive {
  const manifests = images.map(({manifest, architecture}) => ({...manifest, platform: {os: 'linux', architecture}}));
  const mediaType = `${MEDIA}.index.v1+json`;
  const index = json(mediaType, {schemaVersion: 2, mediaType, manifests});
  const root = manifests.length === 1 ? manifests[0] : index.descriptor;
  const annotations = {'io.containerd.image.name': name, 'org.opencontainers.image.ref.name': name.replace(/.*:/, '')};
  const top = {schemaVersion: 2, mediaType, manifests: [{...root, annotations}]};
  const blobs = [...images.flatMap(image => image.blobs), ...(root === index.descriptor ? [index] : [])];
  const contents = new Map(blobs.map(({descriptor, content}) => [descriptor.digest.replace(':', '/'), content]));
  const entries = [
    file('oci-layout', '{"imageLayoutVersion":"1.0.0"}'),
    file('index.json', JSON.stringify(top)),
    folder('blobs'),
    ...[...contents].map(([path, content]) => file(`blobs/${path}`, content)),
  ];
  return {digest: root?.digest ?? '', content: writeTar(withFolders(entries))};
}

/** For images that are only copied from here to a node. */
export function uncompressedLayer(entries: readonly Entry[]): Layer {
  const tar = blob(`${MEDIA}.layer.v1.tar`, writeTar(entries));
  return {...tar, diffId: tar.descriptor.digest};
}

async function layer(entries: readonly Entry[]): Promise<Layer> {
  const tar = writeTar(entries);
  const diffId = sha256(tar);
  return {...blob(`${MEDIA}.layer.v1.tar+zstd`, await compressed(tar, diffId)), diffId};
}

/** Compressing Node takes seconds, so the result is cached. */
async function compressed(tar: Buffer, diffId: string): Promise<Buffer> {
  const cached = join(cacheRoot(), 'layers', `${diffId.replace('sha256:', '')}.zst${LEVEL}`);
  if (existsSync(cached)) return readFile(cached);
  const content = zstdCompressSync(tar, {params: {[constants.ZSTD_c_compressionLevel]: LEVEL}});
  if (tar.length < 2 ** 26) return content;
  await mkdir(join(cached, '..'), {recursive: true});
  await writeFile(`${cached}.${process.pid}`, content);
  await rename(`${cached}.${process.pid}`, cached);
  return content;
}

function json(mediaType: string, value: unknown): Blob {
  return blob(mediaType, Buffer.from(JSON.stringify(value)));
}

function blob(mediaType: string, content: Buffer): Blob {
  return {descriptor: {mediaType, digest: sha256(content), size: content.length}, content};
}

export function sha256(content: Buffer): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`;
}
