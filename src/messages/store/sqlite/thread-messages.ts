/** Messages between the service's thread and the database's thread: plain data, because it is copied. */
import type {Chunk, OperationResult} from '../queue/operations.ts';
import type {StoreRules} from '../store.ts';

export interface BatchResult {
  /** In the order of the operations. Everything written is durable. */
  readonly results: readonly OperationResult[];
  /** Rows that the operations read or wrote; limited, see Work. */
  readonly rows: number;
  /** Bytes available for new messages; negative if new messages are rejected. */
  readonly room: number;
  /** Why the batch's writes were rolled back, if they were. */
  readonly failure?: Failure;
  /** Time from the start of the transaction until it was durable; 0 if nothing was written. */
  readonly commitMs: number;
}

/** To the thread: operations, or `close` when all have been answered. */
export type ThreadRequest = Chunk | 'close';

/** From the thread: first that the database is open, then results in the order of the operations. */
export type ThreadAnswer = 'open' | BatchResult;

export interface Failure {
  readonly refusal: 'full' | 'down';
  readonly problem: string;
}

export interface EngineOptions extends StoreRules {
  /** The database file; its folder must exist. */
  readonly path: string;
  /** Below this much free space, new messages are rejected; the rest is for draining the queue. */
  readonly reserveBytes: number;
}
