import {StoreError} from '../store.ts';
import type {BatchResult, Operation, OperationKind, OperationResult, Operations} from './operations.ts';

/** How much may wait, and how much goes into one commit. */
export interface GroupCommitLimits {
  readonly maxWaiting: number;
  readonly maxWaitingBytes: number;
  /** Operations of one commit, 512 unless given: it stays short, so that nobody waits for a stranger's thousand messages. */
  readonly maxBatch?: number;
}

export interface GroupCommitOptions extends GroupCommitLimits {
  readonly apply: (batch: readonly Operation[]) => Promise<BatchResult>;
  /** Called with each result before its operations are answered. */
  readonly onBatch: (result: BatchResult) => void;
  /** Milliseconds since an arbitrary point. */
  readonly monotonic: () => number;
}

interface Waiting {
  readonly operation: Operation;
  readonly bytes: number;
  readonly settle: (result: OperationResult) => void;
}

const BATCH_OPERATIONS = 512;
const BATCH_BYTES = 4 << 20;
/** What an operation weighs beside its message. */
const OPERATION_BYTES = 512;

/**
 * Gathers operations into batches by one rule: a batch leaves when the one before has ended. While the disk is at work
 * the next batch grows; when it is idle, a batch leaves at the end of the current turn of the event loop, with whatever
 * the turn has brought. Nothing ever waits for company.
 */
export class GroupCommit {
  readonly #options: GroupCommitOptions;
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  /** Since when a batch has been under way. */
  #since: number | undefined;
  #scheduled = false;
  #gone: Error | undefined;
  #idle: PromiseWithResolvers<void> | undefined;

  constructor(options: GroupCommitOptions) {
    this.#options = options;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** How long the batch under way has taken, in milliseconds; 0 when there is none. */
  get underWayMs(): number {
    return this.#since === undefined ? 0 : this.#options.monotonic() - this.#since;
  }

  /** Rejects with a StoreError: busy at once, otherwise what the engine said. */
  async submit<K extends OperationKind>(kind: K, given: Operations[K]['given']): Promise<Operations[K]['result']> {
    const {maxWaiting, maxWaitingBytes} = this.#options;
    if (this.#gone) throw new StoreError('down', this.#gone.message, {cause: this.#gone});
    if (this.#waiting.length >= maxWaiting || this.#waitingBytes >= maxWaitingBytes) {
      throw new StoreError('busy', `${this.#waiting.length} operations are waiting for the disk`);
    }
    const result = await new Promise<OperationResult>(settle => {
      this.#add({operation: {kind, given} as Operation, bytes: OPERATION_BYTES + textLength(given), settle});
    });
    if (!result.ok) throw new StoreError(result.refusal, result.problem);
    return result.value as Operations[K]['result'];
  }

  /** Resolves when nothing waits and nothing is under way. */
  idle(): Promise<void> {
    if (this.#waiting.length === 0 && this.#since === undefined) return Promise.resolve();
    this.#idle ??= Promise.withResolvers();
    return this.#idle.promise;
  }

  /** The engine is gone: what waits, and whatever comes, is refused. */
  fail(error: Error): void {
    this.#gone = error;
    refuse(this.#take(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY), error);
  }

  #add(waiting: Waiting): void {
    this.#waiting.push(waiting);
    this.#waitingBytes += waiting.bytes;
    if (this.#since !== undefined || this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#send();
    });
  }

  #send(): void {
    const batch = this.#take(this.#options.maxBatch ?? BATCH_OPERATIONS, BATCH_BYTES);
    this.#since = batch.length === 0 ? undefined : this.#options.monotonic();
    if (this.#since === undefined) {
      this.#idle?.resolve();
      this.#idle = undefined;
      return;
    }
    this.#options.apply(batch.map(({operation}) => operation)).then(
      result => this.#answer(batch, result),
      (error: Error) => {
        refuse(batch, error);
        this.#send();
      },
    );
  }

  /** The next batch leaves first: the disk works while this thread writes the answers. */
  #answer(batch: readonly Waiting[], result: BatchResult): void {
    this.#send();
    this.#options.onBatch(result);
    for (const [index, {settle}] of batch.entries()) {
      settle(result.results[index] ?? {ok: false, refusal: 'down', problem: 'the engine gave no answer'});
    }
  }

  #take(operations: number, bytes: number): readonly Waiting[] {
    let count = 0;
    let sum = 0;
    for (const waiting of this.#waiting) {
      if (count === operations || sum >= bytes) break;
      count += 1;
      sum += waiting.bytes;
    }
    this.#waitingBytes -= sum;
    return this.#waiting.splice(0, count);
  }
}

function refuse(batch: readonly Waiting[], error: Error): void {
  for (const {settle} of batch) settle({ok: false, refusal: 'down', problem: error.message});
}

function textLength(given: object): number {
  return 'message' in given && typeof given.message === 'string' ? given.message.length : 0;
}
