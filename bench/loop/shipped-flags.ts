import {readFile} from 'node:fs/promises';
import {join} from 'node:path';
import {readDockerfile} from '../../tools/release/image.ts';

/** The flags that the image gives to Node: those between `node` and the program in the Dockerfile. */
export async function shippedFlags(): Promise<string[]> {
  const text = await readFile(join(import.meta.dirname, '../../Dockerfile'), 'utf8');
  const [, ...rest] = readDockerfile(text).Entrypoint;
  return rest.filter(argument => argument.startsWith('--'));
}
