/** Reads key material that a Secret mounts as a file. */
import {readFile} from 'node:fs/promises';
import {ConfigError} from './load-config.ts';

/**
 * The bytes of the file as they are (no trimming: another length is another key). Throws a ConfigError when the file
 * cannot be read or has fewer than `minBytes` bytes; the message names the path and never the content.
 */
export async function readKeyFile(path: string, minBytes: number): Promise<Buffer> {
  const source = `The key file ${path}`;
  const key = await readFile(path).catch((cause: unknown) => {
    throw new ConfigError(source, [cause instanceof Error ? cause.message : String(cause)], {cause});
  });
  if (key.length >= minBytes) return key;
  throw new ConfigError(source, [`it has ${key.length} bytes; at least ${minBytes} random bytes are needed`]);
}
