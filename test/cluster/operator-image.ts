import {mkdtemp, rm, symlink, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {archive, buildImage, type ImageSource} from '../../tools/release/image.ts';
import {ownArchitecture} from '../../tools/release/pins.ts';
import {sourceOf} from '../../tools/release/source.ts';
import {run} from './children.ts';
import {imageReference} from './images.ts';
import {extractLastRelease, LAST_RELEASE, LAST_RELEASE_IMAGE} from './last-release.ts';

const REPOSITORY = join(import.meta.dirname, '../..');

/**
 * Bundles the programs and writes the image that `make release` builds, for this machine's architecture, to `path`.
 * Returns its reference.
 */
export async function buildOperatorImage(path: string): Promise<string> {
  const {epoch, version} = await sourceOf(REPOSITORY);
  return bundleIntoImage(path, 'operator', {repository: REPOSITORY, epoch, version});
}

/** Builds the last release from its commit, with today's packages, which include all in its lock file. */
export async function buildLastReleaseImage(path: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'nameplate-last-'));
  try {
    const repository = join(folder, 'repository');
    await extractLastRelease(repository);
    await symlink(join(REPOSITORY, 'node_modules'), join(repository, 'node_modules'));
    return await bundleIntoImage(path, LAST_RELEASE_IMAGE, {repository, epoch: 0, version: LAST_RELEASE.version});
  } finally {
    await rm(folder, {recursive: true, force: true});
  }
}

async function bundleIntoImage(path: string, name: string, source: ImageSource): Promise<string> {
  const rolldown = join(REPOSITORY, 'node_modules/.bin/rolldown');
  await run([rolldown, '--config', 'tools/bundle.config.ts'], {cwd: source.repository});
  const image = await buildImage(ownArchitecture(), source);
  const reference = imageReference(name);
  await writeFile(path, archive([image], reference).content);
  return reference;
}
