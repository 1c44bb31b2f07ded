import {writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {archive, buildImage} from '../../tools/release/image.ts';
import {ownArchitecture} from '../../tools/release/pins.ts';
import {sourceOf} from '../../tools/release/source.ts';
import {run} from './children.ts';
import {imageReference} from './images.ts';

const REPOSITORY = join(import.meta.dirname, '../..');

/**
 * Bundles the programs and writes the image that `make release` builds, for this machine's architecture, to `path`.
 * Returns its reference.
 */
export async function buildOperatorImage(path: string): Promise<string> {
  await run([join(REPOSITORY, 'node_modules/.bin/rolldown'), '--config', 'tools/bundle.config.ts'], {cwd: REPOSITORY});
  const image = await buildImage(ownArchitecture(), await sourceOf(REPOSITORY));
  const reference = imageReference('operator');
  await writeFile(path, archive([image], reference).content);
  return reference;
}
