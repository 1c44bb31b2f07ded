/** Reads key material that a Secret mounts as a file. */
import {readFile} from 'node:fs/promises';

/**
 * The bytes of the file as they are (no trimming: another length is another key). Throws when the file cannot be
 * read or has fewer than `minBytes` bytes; the message names the path and never the content.
 */
export async function readKeyFile(path: string, minBytes: number): Promise<Buffer> {
  const key = await readFile(path).catch((cause: unknown) => {
    throw new Error(`The key file ${path} cannot be read`, {cause});
  });
  if (key.length >= minBytes) return key;
  throw new Error(`The key file ${path} has ${key.length} bytes; at least ${minBytes} random bytes are needed`);
}
