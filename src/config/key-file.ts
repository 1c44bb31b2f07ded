/** Reads key material that a Secret mounts as a file. */
import {readFile} from 'node:fs/promises';
import {ConfigError} from './load-config.ts';

/**
 * The exact bytes of the file (trimming would change the key). Throws a ConfigError if the file cannot be read or has
 * fewer than `minBytes` bytes. The message names the path, never the content.
 */
export async function readKeyFile(path: string, minBytes: number): Promise<Buffer> {
  const source = `The key file ${path}`;
  const key = await readFile(path).catch((cause: unknown) => {
    throw new ConfigError(source, [cause instanceof Error ? cause.message : String(cause)], {cause});
  });
  if (key.length >= minBytes) return key;
  throw new ConfigError(source, [`it has ${key.length} bytes; at least ${minBytes} random bytes are required`]);
}
