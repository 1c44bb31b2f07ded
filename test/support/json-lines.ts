/** Files with one JSON object per line, such as logs: of pino, and the audit log of the API server. */
import {readFile} from 'node:fs/promises';

/**
 * The objects so far. Omits a last line that is not complete, because its program may still be writing it, and lines
 * of something else, such as the stack of an exception.
 */
export async function readJsonLines<T = Record<string, unknown>>(file: string): Promise<T[]> {
  return jsonLines(await readFile(file, 'utf8'));
}

export function jsonLines<T>(text: string): T[] {
  const complete = text.slice(0, text.lastIndexOf('\n') + 1).split('\n');
  return complete.filter(line => line.startsWith('{')).map(line => JSON.parse(line) as T);
}
