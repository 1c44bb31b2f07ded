/** Which source and packages a release was built from: https://slsa.dev/spec/v1.0/provenance. Not signed. */
import {readFile} from 'node:fs/promises';
import {join} from 'node:path';
import {sha256} from './image.ts';
import {ARCHITECTURES, libraryPackages, nodePackage} from './pins.ts';
import {purlOf} from './sbom.ts';
import type {Source} from './source.ts';
import type {Publication} from './texts.ts';

/** These list the hashes of what npm and Go downloaded for the build. */
const LOCKS = ['package-lock.json', 'test/cluster/programs/helm/go.sum'];

/** `files`: name → content. `publication`: the addresses that the texts and the chart contain. */
export async function provenance(
  {repository, version, commit, dirty}: Source,
  files: ReadonlyMap<string, Buffer>,
  publication?: Publication,
): Promise<string> {
  const pinned = ARCHITECTURES.flatMap(each => [nodePackage(each), ...libraryPackages(each)]);
  const locks = await Promise.all(
    LOCKS.map(async name => ({name, digest: hex(sha256(await readFile(join(repository, name))))})),
  );
  const statement = {
    _type: 'https://in-toto.io/Statement/v1',
    subject: [...files].map(([name, content]) => ({name, digest: hex(sha256(content))})),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'https://nameplate.dev/build/make-release/v1',
        externalParameters: {version, target: 'release', publication},
        internalParameters: {uncommittedChanges: dirty},
        resolvedDependencies: [
          {name: 'source', digest: {gitCommit: commit}},
          ...locks,
          ...pinned.map(each => {
            const [algorithm = '', hash = ''] = each.integrity.split(/-(.*)/s);
            return {uri: purlOf(each), digest: {[algorithm]: Buffer.from(hash, 'base64').toString('hex')}};
          }),
        ],
      },
      runDetails: {builder: {id: 'https://nameplate.dev/build/make-release/v1'}},
    },
  };
  return `${JSON.stringify(statement)}\n`;
}

function hex(digest: string): {sha256: string} {
  return {sha256: digest.replace('sha256:', '')};
}
