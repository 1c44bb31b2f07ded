/** What is released: the version, and the commit whose date everything gets. */
import {readFile} from 'node:fs/promises';
import {join} from 'node:path';
import {run} from '../../test/cluster/children.ts';

export interface Source {
  readonly repository: string;
  readonly version: string;
  readonly commit: string;
  /** Whether the files differ from the commit. */
  readonly dirty: boolean;
  /** Seconds since 1970: SOURCE_DATE_EPOCH (https://reproducible-builds.org/specs/source-date-epoch), or the commit's. */
  readonly epoch: number;
}

export async function sourceOf(repository: string): Promise<Source> {
  const git = (...args: string[]) => run(['git', '-C', repository, ...args]);
  const {version} = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8')) as {version: string};
  const [commit = '', date = ''] = (await git('log', '-1', '--format=%H %ct')).trim().split(' ');
  const dirty = (await git('status', '--porcelain')).trim() !== '';
  return {repository, version, commit, dirty, epoch: Number(process.env.SOURCE_DATE_EPOCH ?? date)};
}
