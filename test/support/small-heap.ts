import {once} from 'node:events';
import {Worker} from 'node:worker_threads';

/**
 * Runs the body of an async function in a thread whose heap has so many MiB. Rejects if that is not enough. The code may
 * import files by their paths below src.
 */
export async function inSmallHeap(mebibytes: number, code: string): Promise<void> {
  const sources = new URL('../../src/', import.meta.url).href;
  const body = code.replace(/\bimport\('([^']+)'\)/g, (_, path: string) => `import('${sources}${path}')`);
  const resourceLimits = {maxOldGenerationSizeMb: mebibytes};
  const worker = new Worker(`(async () => {${body}})()`, {eval: true, resourceLimits});
  const [status] = await once(worker, 'exit');
  if (status !== 0) throw new Error(`the thread ended with ${status}`);
}
