import {StoreError, type StoreRefusal} from '../store.ts';
import {
  type Chunk,
  isWrite,
  type Operation,
  type OperationKind,
  type OperationResult,
  type Operations,
} from './operations.ts';
import {Turns} from './turns.ts';

export interface SubmissionLimits {
  /** How many operations and bytes may be unanswered. */
  readonly maxWaiting: number;
  readonly maxWaitingBytes: number;
}

interface SubmissionOptions extends SubmissionLimits {
  /** Sends operations to the engine, which answers them in this order through `answer`. */
  readonly post: (chunk: Omit<Chunk, 'now'>) => void;
  /** Milliseconds since an arbitrary point. */
  readonly monotonic: () => number;
}

interface Submission {
  readonly operation: Operation;
  readonly rows: number;
  readonly bytes: number;
  readonly settle: (result: OperationResult) => void;
}

/** A chunk of this size is sent, so the disk works while the turn's other requests are read. */
const CHUNK_OPERATIONS = 16;
/** The weight of an operation without its message. */
const OPERATION_BYTES = 512;
/**
 * The most work at the engine at a time, in rows and in bytes of new messages: two transactions' worth. The rest
 * waits here, where accounts are served in turn.
 */
const ENGINE_ROWS = 1024;
const ENGINE_BYTES = 8 << 20;

/**
 * Unanswered operations: limited in number, and in order within an account. They are sent to the engine by the end of
 * the event loop's current turn, unless the engine has enough to do. Then accounts are served in turn, one operation
 * each, so that no account waits behind another's thousands. The engine decides what shares a commit (worker.ts).
 */
export class Submissions {
  readonly #options: SubmissionOptions;
  /** Not at the engine yet. */
  readonly #lanes = new Turns<Submission>();
  /** At the engine. */
  #sent: Submission[] = [];
  #sentRows = 0;
  #sentBytes = 0;
  /** The weight of all unanswered operations. */
  #bytes = 0;
  /** The time since which the engine has owed an answer. */
  #since: number | undefined;
  #scheduled = false;
  #gone: Error | undefined;
  #idle: PromiseWithResolvers<void> | undefined;

  constructor(options: SubmissionOptions) {
    this.#options = options;
  }

  /** The number of unanswered operations. */
  get waiting(): number {
    return this.#lanes.length + this.#sent.length;
  }

  /** How long the engine has been working without an answer, in milliseconds; 0 if it is idle. */
  get silentMs(): number {
    return this.#since === undefined ? 0 : this.#options.monotonic() - this.#since;
  }

  /** Rejects with a StoreError: immediately if busy, otherwise with the engine's error. */
  async submit<K extends OperationKind>(kind: K, given: Operations[K]['given']): Promise<Operations[K]['result']> {
    const {maxWaiting, maxWaitingBytes} = this.#options;
    if (this.#gone) throw new StoreError('down', this.#gone.message, {cause: this.#gone});
    if (this.waiting >= maxWaiting || this.#bytes >= maxWaitingBytes) {
      throw new StoreError('busy', `${this.waiting} operations are waiting for the disk`);
    }
    const result = await new Promise<OperationResult>(settle => {
      const bytes = OPERATION_BYTES + textLength(given);
      this.#add({operation: {kind, given} as Operation, rows: rowsOf(given), bytes, settle}, accountOf(given));
    });
    if (!result.ok) throw new StoreError(result.refusal, result.problem);
    return result.value as Operations[K]['result'];
  }

  /** Settles the oldest operations at the engine, one per result. */
  answer(results: readonly OperationResult[]): void {
    const answered = this.#sent.splice(0, results.length);
    this.#since = this.#sent.length === 0 ? undefined : this.#options.monotonic();
    for (const {rows, bytes} of answered) {
      this.#sentRows -= rows;
      this.#sentBytes -= bytes;
      this.#bytes -= bytes;
    }
    this.#post(); // First, so that the engine is not idle.
    for (const [index, result] of results.entries()) answered[index]?.settle(result);
    if (this.waiting === 0) this.#idle?.resolve();
  }

  /** Resolves when everything has been answered. */
  idle(): Promise<void> {
    if (this.waiting === 0) return Promise.resolve();
    this.#idle ??= Promise.withResolvers();
    return this.#idle.promise;
  }

  /** The engine is gone: rejects all waiting and future operations. The result of a write at the engine is unknown. */
  fail(error: Error): void {
    this.#gone = error;
    const refused = (refusal: StoreRefusal): OperationResult => ({ok: false, refusal, problem: error.message});
    const results = this.#sent.map(({operation}) => refused(isWrite(operation) ? 'unknown' : 'down'));
    for (let next = this.#lanes.shift(); next; next = this.#lanes.shift()) {
      this.#sent.push(next);
      results.push(refused('down'));
    }
    this.answer(results);
  }

  #add(submission: Submission, account: string): void {
    this.#bytes += submission.bytes;
    this.#lanes.push(account, submission);
    if (this.#lanes.length >= CHUNK_OPERATIONS) this.#post();
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#post();
    });
  }

  /** Sends as much as the engine has room for, in chunks. */
  #post(): void {
    while (this.#lanes.length > 0 && this.#sentRows < ENGINE_ROWS && this.#sentBytes < ENGINE_BYTES) {
      const operations: Operation[] = [];
      let [rows, bytes] = [0, 0];
      while (operations.length < CHUNK_OPERATIONS && this.#sentRows + rows < ENGINE_ROWS && bytes < ENGINE_BYTES) {
        const next = this.#lanes.shift();
        if (next === undefined) break;
        operations.push(next.operation);
        rows += next.rows;
        bytes += next.bytes;
        this.#sent.push(next);
      }
      this.#sentRows += rows;
      this.#sentBytes += bytes;
      this.#since ??= this.#options.monotonic();
      this.#options.post({operations, bytes});
    }
  }
}

export function textLength(given: object): number {
  return 'message' in given && typeof given.message === 'string' ? given.message.length : 0;
}

/** How many rows an operation may return, which is roughly what it touches. */
export function rowsOf(given: object): number {
  return 'limit' in given && typeof given.limit === 'number' ? given.limit : 1;
}

/** The store's own operations belong to no account and are queued as a separate one. */
function accountOf(given: object): string {
  return 'account' in given && typeof given.account === 'string' ? given.account : '';
}
