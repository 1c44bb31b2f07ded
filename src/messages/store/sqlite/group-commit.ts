import type {Chunk, Operation} from './operations.ts';

/** A commit stays short, so that nobody waits for a stranger's thousand messages. */
const BATCH_OPERATIONS = 512;
const BATCH_BYTES = 4 << 20;

/**
 * What goes into one commit: all that has come while the one before was at the disk. It grows with the time that the disk
 * takes, and with an idle disk it is whatever came first: nothing ever waits for company.
 *
 * @param next takes the next chunk that is there already; undefined when there is none.
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
