import {createHash} from 'node:crypto';
import {existsSync} from 'node:fs';
import {copyFile, cp, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {basename, join} from 'node:path';
import {SUITE} from '../../../tools/release/pins.ts';
import {cacheRoot} from '../cache.ts';
import {run} from '../children.ts';
import {ensureImage} from '../images.ts';
import type {Programs} from '../programs.ts';
import {storageOver} from '../storage.ts';
import {docker, ownEnvironment} from './engine.ts';

const SOURCE = join(import.meta.dirname, 'kind-node');

/** The packages in kind's images/base/Dockerfile, and those of programs that it builds from source. */
const PACKAGES = [
  ...[
    'systemd',
    'conntrack',
    'iptables',
    'nftables',
    'iproute2',
    'ethtool',
    'util-linux',
    'mount',
    'kmod',
    'libseccomp2',
  ],
  ...['pigz', 'e2fsprogs', 'bash', 'ca-certificates', 'curl', 'jq', 'procps'],
  ...['runc', 'containerd', 'containernetworking-plugins'],
];
const EXCLUDED = ['doc', 'man', 'locale'].map(name => `--dpkgopt=path-exclude=/usr/share/${name}/*`);

/** The same paths as in kind's own image. */
const PROGRAMS = {
  kubeadm: 'usr/bin',
  kubelet: 'usr/bin',
  kubectl: 'usr/bin',
  'kube-proxy': 'usr/local/bin',
} as const;

/** The images that kubeadm runs as pods, and that of the sandbox. */
const IMAGES = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'pause'] as const;

/** Returns the reference of the node's image in the engine. Builds the image if it does not exist. */
export async function ensureNodeImage(programs: Programs, log: (line: string) => void): Promise<string> {
  const archives: string[] = [];
  for (const name of IMAGES) archives.push(await ensureImage({name, binary: programs.path(name)}));
  const image = `localhost/nameplate/node:${await version(programs, archives)}`;
  if (await docker('images', '--quiet', image)) return image;
  log('[cluster] building the image of the node, which takes a minute');
  const context = await mkdtemp(join(tmpdir(), 'nameplate-node-'));
  try {
    await cp(SOURCE, context, {recursive: true});
    await copyFile(await debian(), join(context, 'debian.tar'));
    await fillRoot(join(context, 'root'), programs);
    await mkdir(join(context, 'images'));
    for (const [index, archive] of archives.entries()) {
      await copyFile(archive, join(context, 'images', `${IMAGES[index]}.tar`));
    }
    await docker('build', '--quiet', '--tag', image, context);
  } finally {
    await rm(context, {recursive: true, force: true});
  }
  return image;
}

async function version(programs: Programs, archives: readonly string[]): Promise<string> {
  const parts = [...Object.keys(PROGRAMS).map(name => programs.path(name)), ...archives, programs.asset('kind-node')];
  const hash = createHash('sha256').update(JSON.stringify([PACKAGES, parts]));
  const entries = await readdir(SOURCE, {recursive: true, withFileTypes: true});
  const files = entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name));
  for (const file of files.sort()) hash.update(await readFile(file));
  return hash.digest('hex').slice(0, 12);
}

async function fillRoot(root: string, programs: Programs): Promise<void> {
  await cp(programs.asset('kind-node'), root, {recursive: true});
  for (const [name, folder] of Object.entries(PROGRAMS)) {
    await mkdir(join(root, folder), {recursive: true});
    await copyFile(programs.path(name), join(root, folder, name));
  }
  const said = await run([programs.path('kubeadm'), 'version', '--output=short']);
  await writeFile(join(root, 'kind/version'), said.trim());
  await mkdir(join(root, 'kind/manifests'));
  const storage = storageOver(['/var/volume-1', '/var/volume-2']); // JSON is YAML
  await writeFile(join(root, 'kind/manifests/default-storage.yaml'), JSON.stringify(storage));
}

/** The root filesystem of Debian with PACKAGES. */
async function debian(): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify([SUITE, PACKAGES, EXCLUDED]));
  const archive = join(cacheRoot(), 'docker', `debian-${hash.digest('hex').slice(0, 12)}.tar`);
  if (existsSync(archive)) return archive;
  const draft = archive.replace(basename(archive), `new-${basename(archive)}`); // its extension determines the format
  const options = ['--quiet', '--variant=essential', `--include=${PACKAGES}`, ...EXCLUDED];
  await run(['mmdebstrap', ...options, SUITE, draft], {env: await ownEnvironment(() => {})});
  await rename(draft, archive);
  return archive;
}
