import {StoreError} from '../store.ts';
import type {Chunk, Operation, OperationKind, OperationResult, Operations} from './operations.ts';

export interface SubmissionLimits {
  /** How much may be unanswered. */
  readonly maxWaiting: number;
  readonly maxWaitingBytes: number;
}

export interface SubmissionOptions extends SubmissionLimits {
  /** Hands operations to the engine, which answers them in this order, by `answer`. */
  readonly post: (chunk: Omit<Chunk, 'now'>) => void;
  /** Milliseconds since an arbitrary point. */
  readonly monotonic: () => number;
}

interface Submission {
  readonly operation: Operation;
  readonly bytes: number;
  readonly settle: (result: OperationResult) => void;
}

/** A chunk leaves when it holds so many: the disk is at work while the rest of the turn's requests are read. */
const CHUNK_OPERATIONS = 16;
/** What an operation weighs beside its message. */
const OPERATION_BYTES = 512;

/**
 * What was asked of the engine and is not answered yet: bounded, and in order. It leaves for the engine at the end of the
 * current turn of the event loop at the latest; what shares a commit is decided there (group-commit.ts).
 */
export class Submissions {
  readonly #options: SubmissionOptions;
  /** Of the current turn. */
  #given: Submission[] = [];
  /** At the engine. */
  #sent: Submission[] = [];
  #bytes = 0;
  /** Since when the engine owes an answer. */
  #since: number | undefined;
  #scheduled = false;
  #gone: Error | undefined;
  #idle: PromiseWithResolvers<void> | undefined;

  constructor(options: SubmissionOptions) {
    this.#options = options;
  }

  /** Operations that are not answered. */
  get waiting(): number {
    return this.#given.length + this.#sent.length;
  }

  /** How long the engine has been at work without an answer, in milliseconds; 0 when it has nothing to do. */
  get silentMs(): number {
    return this.#since === undefined ? 0 : this.#options.monotonic() - this.#since;
  }

  /** Rejects with a StoreError: busy at once, otherwise what the engine said. */
  async submit<K extends OperationKind>(kind: K, given: Operations[K]['given']): Promise<Operations[K]['result']> {
    const {maxWaiting, maxWaitingBytes} = this.#options;
    if (this.#gone) throw new StoreError('down', this.#gone.message, {cause: this.#gone});
    if (this.waiting >= maxWaiting || this.#bytes >= maxWaitingBytes) {
      throw new StoreError('busy', `${this.waiting} operations are waiting for the disk`);
    }
    const result = await new Promise<OperationResult>(settle => {
      this.#add({operation: {kind, given} as Operation, bytes: OPERATION_BYTES + textLength(given), settle});
    });
    if (!result.ok) throw new StoreError(result.refusal, result.problem);
    return result.value as Operations[K]['result'];
  }

  /** Settles the oldest operations, as many as there are results. */
  answer(results: readonly OperationResult[]): void {
    const answered = this.#sent.splice(0, results.length);
    this.#since = this.#sent.length === 0 ? undefined : this.#options.monotonic();
    for (const [index, result] of results.entries()) {
      const {bytes = 0, settle} = answered[index] ?? {};
      this.#bytes -= bytes;
      settle?.(result);
    }
    if (this.waiting === 0) this.#idle?.resolve();
  }

  /** Resolves when everything has been answered. */
  idle(): Promise<void> {
    if (this.waiting === 0) return Promise.resolve();
    this.#idle ??= Promise.withResolvers();
    return this.#idle.promise;
  }

  /** The engine is gone: what waits, and whatever comes, is refused. */
  fail(error: Error): void {
    this.#gone = error;
    this.#sent.push(...this.#given.splice(0));
    this.answer(this.#sent.map(() => ({ok: false, refusal: 'down', problem: error.message})));
  }

  #add(submission: Submission): void {
    this.#bytes += submission.bytes;
    if (this.#given.push(submission) >= CHUNK_OPERATIONS) this.#post();
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#post();
    });
  }

  #post(): void {
    if (this.#given.length === 0) return;
    const given = this.#given;
    this.#given = [];
    this.#sent.push(...given);
    this.#since ??= this.#options.monotonic();
    const bytes = given.reduce((sum, submission) => sum + submission.bytes, 0);
    this.#options.post({operations: given.map(({operation}) => operation), bytes});
  }
}

function textLength(given: object): number {
  return 'message' in given && typeof given.message === 'string' ? given.message.length : 0;
}
