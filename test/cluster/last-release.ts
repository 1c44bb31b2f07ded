/** The release that upgrades start from. It was never published, so a commit stands in for it. */
import {execFile} from 'node:child_process';
import {mkdir} from 'node:fs/promises';
import {join} from 'node:path';
import {promisify} from 'node:util';

const ROOT = join(import.meta.dirname, '../..');

export const LAST_RELEASE = {version: '0.1.0', commit: '3feeaed'} as const;
export const LAST_RELEASE_IMAGE = 'operator-last';

/** Writes the files of the last release into a new folder. A shallow clone does not have them. */
export async function extractLastRelease(folder: string): Promise<void> {
  await mkdir(folder);
  const archive = join(folder, 'release.tar');
  await promisify(execFile)('git', ['archive', '--output', archive, LAST_RELEASE.commit], {cwd: ROOT});
  await promisify(execFile)('tar', ['--extract', '--file', archive, '--directory', folder]);
}
