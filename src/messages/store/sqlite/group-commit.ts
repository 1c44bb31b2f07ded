import type {Chunk, Operation} from '../queue/operations.ts';

/** Keeps commits short, so that no account waits for another account's thousand messages. */
const BATCH_OPERATIONS = 512;
const BATCH_BYTES = 4 << 20;

/**
 * Collects one commit: everything that arrived during the previous one. Its size grows with the disk's latency. On an
 * idle disk, the first operation is committed without waiting for others.
 *
 * @param next takes the next available chunk; undefined if there is none.
 */
export function gather(first: Chunk, next: () => Chunk | undefined): Chunk {
  const operations: Operation[] = [...first.operations];
  let {bytes, now} = first;
  while (operations.length < BATCH_OPERATIONS && bytes < BATCH_BYTES) {
    const chunk = next();
    if (chunk === undefined) break;
    operations.push(...chunk.operations);
    bytes += chunk.bytes;
    now = chunk.now;
  }
  return {operations, bytes, now};
}
