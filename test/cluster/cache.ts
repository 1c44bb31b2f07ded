import {homedir} from 'node:os';
import {join} from 'node:path';

/** The folder that keeps everything that takes long to build or fetch. */
export function cacheRoot(): string {
  return join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'nameplate');
}
