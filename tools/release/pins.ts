/** What the images contain besides the programs: Node and the libraries that it needs, by version and hash. */
import pins from './pins.json' with {type: 'json'};

export type Architecture = 'amd64' | 'arm64';

export const ARCHITECTURES: readonly Architecture[] = ['amd64', 'arm64'];

const NODE_NAMES: Readonly<Record<Architecture, string>> = {amd64: 'x64', arm64: 'arm64'};

export interface Pinned {
  readonly registry: 'npm' | 'debian';
  readonly name: string;
  readonly version: string;
  readonly architecture: Architecture;
  /** Hash of the whole file, as in Subresource Integrity: `sha256-` or `sha512-`, then base64. */
  readonly integrity: string;
}

export const SUITE = pins.debian.suite;

/** The architecture of this machine. */
export function ownArchitecture(): Architecture {
  const own = ARCHITECTURES.find(name => NODE_NAMES[name] === process.arch);
  if (own === undefined) throw new Error(`there is no image for ${process.arch}`);
  return own;
}

export function nodePackage(architecture: Architecture): Pinned {
  const {version, integrity} = pins.node;
  const name = `node-linux-${NODE_NAMES[architecture]}`;
  return {registry: 'npm', name, version, architecture, integrity: integrity[architecture]};
}

export function libraryPackages(architecture: Architecture): Pinned[] {
  return pins.debian.packages.map(({name, version, integrity}) => {
    return {registry: 'debian', name, version, architecture, integrity: integrity[architecture]};
  });
}
