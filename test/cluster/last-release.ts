/**
 * The release that upgrades start from, by its commit. Until 0.2.0, the first one, is released, a commit of `main` with
 * the same version stands in for it.
 */
import {execFile} from 'node:child_process';
import {mkdir} from 'node:fs/promises';
import {join} from 'node:path';
import {promisify} from 'node:util';

const ROOT = join(import.meta.dirname, '../..');

export const LAST_RELEASE = {version: '0.2.0', commit: 'de869a3a'} as const;
export const LAST_RELEASE_IMAGE = 'operator-last';

/** Writes the files of the last release into a new folder. A shallow clone does not have them. */
export async function extractLastRelease(folder: string): Promise<void> {
  await mkdir(folder);
  const archive = join(folder, 'release.tar');
  await promisify(execFile)('git', ['archive', '--output', archive, LAST_RELEASE.commit], {cwd: ROOT});
  await promisify(execFile)('tar', ['--extract', '--file', archive, '--directory', folder]);
}
