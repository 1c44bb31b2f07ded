/** The SBOM of the image, as CycloneDX: Node, its libraries, and everything in the programs' own SBOMs. */
import {readdir, readFile} from 'node:fs/promises';
import {join} from 'node:path';
import type {Image} from './image.ts';
import {libraryPackages, nodePackage, type Pinned, SUITE} from './pins.ts';
import type {Source} from './source.ts';

interface Component {
  readonly purl: string;
}

const CHECKSUMS = {sha256: 'SHA-256', sha512: 'SHA-512'};

export async function imageSbom({repository, version}: Source, {architecture, manifest}: Image): Promise<string> {
  const names = (await readdir(join(repository, 'dist'))).filter(name => name.endsWith('.cdx.json')).sort();
  const bundled = await Promise.all(
    names.map(async name => {
      return (JSON.parse(await readFile(join(repository, 'dist', name), 'utf8')) as {components: Component[]})
        .components;
    }),
  );
  const system = [nodePackage(architecture), ...libraryPackages(architecture)].map(component);
  const components = new Map([...system, ...bundled.flat()].map(each => [each.purl, each]));
  const purl = `pkg:oci/nameplate@${encodeURIComponent(manifest.digest)}?arch=${architecture}`;
  const sbom = {
    $schema: 'http://cyclonedx.org/schema/bom-1.7.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.7',
    version: 1,
    metadata: {component: {type: 'container', name: 'nameplate', version, 'bom-ref': purl, purl}},
    components: [...components.values()],
  };
  return `${JSON.stringify(sbom, null, 2)}\n`;
}

function component(pinned: Pinned): Component & Record<string, unknown> {
  const {registry, name, version} = pinned;
  const [algorithm = '', hash = ''] = pinned.integrity.split(/-(.*)/s);
  const purl = purlOf(pinned);
  const alg = CHECKSUMS[algorithm as keyof typeof CHECKSUMS];
  const hashes = [{alg, content: Buffer.from(hash, 'base64').toString('hex')}];
  return {type: registry === 'npm' ? 'platform' : 'library', name, version, 'bom-ref': purl, purl, hashes};
}

export function purlOf({registry, name, version, architecture}: Pinned): string {
  if (registry === 'npm') return `pkg:npm/${name}@${version}`;
  return `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}&distro=${SUITE}`;
}
