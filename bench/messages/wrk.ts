import {delimiter, join} from 'node:path';
import {cacheRoot} from '../../test/cluster/cache.ts';
import {which} from '../../test/cluster/children.ts';
import {librariesIn, unpackedPackages} from '../../test/support/debian-packages.ts';

/**
 * Puts wrk (https://github.com/wg/wrk) on this process's PATH: from the Debian package, unless it is already installed.
 */
export async function ensureWrk(): Promise<void> {
  if (which('wrk')) return;
  const [apt, dpkg] = [which('apt-get'), which('dpkg')];
  if (!apt || !dpkg) throw new Error('wrk is missing on this machine, and there is no apt-get to fetch it; install it');
  const folder = await unpackedPackages({
    cache: cacheRoot(),
    name: 'wrk',
    packages: async () => ['wrk'],
    what: 'wrk, for the benchmarks of the messages API',
    apt,
    dpkg,
    log: console.error,
  });
  process.env.PATH = [process.env.PATH, join(folder, 'usr/bin')].join(delimiter);
  process.env.LD_LIBRARY_PATH = await librariesIn(folder);
}
