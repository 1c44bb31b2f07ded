/**
 * The lower layer of the image: Node, the shared libraries that it is linked to, and files that every system should
 * have.
 */

import {spawnSync} from 'node:child_process';
import {readFileSync} from 'node:fs';
import {rootCertificates} from 'node:tls';
import {gunzipSync} from 'node:zlib';
import {fetchPinned} from './fetch.ts';
import {type Architecture, libraryPackages, nodePackage, ownArchitecture} from './pins.ts';
import {type Entry, file, folder, readTar, withFolders} from './tar.ts';

/** The files that the image gets from each package, besides its copyright. */
const WANTED: Readonly<Record<string, RegExp>> = {
  'base-files': /^(etc\/debian_version|etc\/os-release|usr\/lib\/os-release|usr\/share\/common-licenses\/.*)$/,
  'gcc-12-base': /^$/,
  libatomic1: /\/libatomic\.so\.[\d.]+$/,
  libc6: /^lib(64)?\/(.*\/)?(ld-linux-[^/]*|lib(c|dl|m|nss_dns|nss_files|pthread|resolv))\.so\.\d+$/,
  'libgcc-s1': /\/libgcc_s\.so\.[\d.]+$/,
  'libstdc++6': /\/libstdc\+\+\.so\.[\d.]+$/,
};

/** A number, because the kubelet cannot tell from a name that the user is not root (runAsNonRoot). */
export const USER = 65532;

const ACCOUNTS = {
  'etc/passwd': `root:x:0:0:root:/root:/sbin/nologin\nnobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin\nnonroot:x:${USER}:${USER}:nonroot:/home/nonroot:/sbin/nologin\n`,
  'etc/group': `root:x:0:\nnobody:x:65534:\nnonroot:x:${USER}:\n`,
  'etc/nsswitch.conf': 'hosts: files dns\n',
};

export async function runtimeEntries(architecture: Architecture): Promise<Entry[]> {
  const {version} = nodePackage(architecture);
  if (process.versions.node !== version) fail(`run this with Node ${version}, whose list of CAs the image gets`);
  const libraries = libraryPackages(architecture);
  const [node, ...archives] = await fetchPinned([nodePackage(architecture), ...libraries]);
  const entries = libraries.flatMap(({name}, index) => fromDebian(name, archives[index] ?? Buffer.alloc(0)));
  return withFolders([
    ...entries,
    ...fromNode(architecture, gunzipSync(node ?? '')),
    ...Object.entries(ACCOUNTS).map(([path, text]) => file(path, text)),
    // Node's copy of Mozilla's list, which is newer than the distribution's.
    file('etc/ssl/certs/ca-certificates.crt', `${rootCertificates.join('\n')}\n`),
    folder('home/nonroot'),
    folder('tmp', 0o1777),
  ]);
}

/**
 * `running`: the Node that runs the build, which npm installed without a hash that we pin. It must be the same file as
 * the one in the package for its architecture.
 */
export function fromNode(architecture: Architecture, archive: Buffer, running = process.execPath): Entry[] {
  const files = readTar(archive);
  const content = (path: string) => files.get(`package/${path}`)?.content ?? fail(`Node's package has no ${path}`);
  const binary = content('bin/node');
  const isForThisMachine = process.platform === 'linux' && architecture === ownArchitecture();
  if (isForThisMachine && !readFileSync(running).equals(binary)) {
    const {name, version} = nodePackage(architecture);
    fail(`${running} is not the Node of ${name} ${version}, which pins.json pins: run \`npm ci\`, and try again`);
  }
  return [file('usr/local/bin/node', binary, 0o755), file('usr/share/doc/node/copyright', content('LICENSE'))];
}

/** Adds the package's entry of dpkg's database as a separate file, where scanners find it in images without dpkg. */
function fromDebian(name: string, archive: Buffer): Entry[] {
  const files = readTar(dpkg('--fsys-tarfile', archive));
  const control =
    readTar(dpkg('--ctrl-tarfile', archive)).get('control')?.content ?? fail(`${name} has no control file`);
  const wanted = WANTED[name] ?? fail(`pins.json has ${name}, but runtime.ts lists no files of it`);
  const documents = `usr/share/doc/${name}`;
  const entries = [...files.values()].filter(({path}) => {
    return wanted.test(path) || path === documents || path === `${documents}/copyright`;
  });
  return [...entries, file(`var/lib/dpkg/status.d/${name}`, control)];
}

function dpkg(option: string, archive: Buffer): Buffer {
  const {stdout, status, stderr} = spawnSync('dpkg-deb', [option, '-'], {input: archive, maxBuffer: 2 ** 30});
  return status === 0 ? stdout : fail(`dpkg-deb ${option}: ${stderr}`);
}

function fail(problem: string): never {
  throw new Error(problem);
}
