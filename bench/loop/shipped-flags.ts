import {readFile} from 'node:fs/promises';
import {join} from 'node:path';

/** The flags that the image gives to Node: what stands between `node` and the program in the Dockerfile. */
export async function shippedFlags(): Promise<string[]> {
  const text = await readFile(join(import.meta.dirname, '../../Dockerfile'), 'utf8');
  const [node, ...rest] = JSON.parse(/^ENTRYPOINT (.*)$/m.exec(text)?.[1] ?? '[]') as string[];
  if (node !== 'node') throw new Error('the Dockerfile has no ENTRYPOINT that starts node');
  return rest.filter(argument => argument.startsWith('--'));
}
