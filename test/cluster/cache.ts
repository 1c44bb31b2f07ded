import {homedir} from 'node:os';
import {join} from 'node:path';

/** Where everything is kept that takes long to build or to fetch. */
export function cacheRoot(): string {
  return join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'nameplate');
}
