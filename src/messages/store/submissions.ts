import {
  isWrite,
  type Operation,
  type OperationKind,
  type OperationResult,
  type Operations,
  StoreError,
  type StoreRefusal,
} from './store.ts';

export interface SubmissionLimits {
  /** How many operations and bytes may be unanswered. */
  readonly maxWaiting: number;
  readonly maxWaitingBytes: number;
}

interface SubmissionOptions extends SubmissionLimits {
  /**
   * The most work at the engine at a time, in rows and in bytes. The rest waits here, where accounts are served in turn.
   */
  readonly engineRows: number;
  readonly engineBytes: number;
  /** The engine may `take` operations now. */
  readonly wake: () => void;
  /** Milliseconds since an arbitrary point. */
  readonly monotonic: () => number;
}

interface Submission {
  readonly operation: Operation;
  readonly rows: number;
  readonly bytes: number;
  readonly settle: (result: OperationResult) => void;
}

/** Once this many wait, the engine is woken, so that the disk works while the turn's other requests are read. */
const CHUNK_OPERATIONS = 16;
/** The weight of an operation without its message. */
const OPERATION_BYTES = 512;

/**
 * One lane of waiting items per owner. Owners are served in turn, one item each; each lane is first in, first out. Not a
 * FairQueue: with a Map of items that change with every request, V8 promotes three times as many of them (see app.ts).
 */
class Turns<T> {
  /** In the order in which they are served. None is empty. */
  readonly #lanes = new Map<string, T[]>();
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(owner: string, item: T): void {
    const lane = this.#lanes.get(owner);
    if (lane) lane.push(item);
    else this.#lanes.set(owner, [item]);
    this.#length += 1;
  }

  /** Undefined if nothing is waiting, or the next item does not fit. */
  shift(fits: (item: T) => boolean): T | undefined {
    for (const [owner, lane] of this.#lanes) {
      const [item] = lane;
      if (item === undefined || !fits(item)) return undefined;
      lane.shift();
      this.#length -= 1;
      this.#lanes.delete(owner);
      if (lane.length > 0) this.#lanes.set(owner, lane);
      return item;
    }
    return undefined;
  }
}

/**
 * Unanswered operations: limited in number, and in order within an account. The engine takes them by the end of the
 * event loop's current turn, unless it has enough to do. Accounts are served in turn, one operation each, so that no
 * account waits behind another's thousands. The engine decides what shares a commit.
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

  /** The number of operations that the engine may take. */
  get queued(): number {
    return this.#lanes.length;
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

  /** For the engine, which answers them in this order: at most `count`, and no more than it may have. */
  take(count: number, fits: (operation: Operation) => boolean = () => true): Operation[] {
    const {engineRows, engineBytes, monotonic} = this.#options;
    const taken: Operation[] = [];
    while (taken.length < count && this.#sentRows < engineRows && this.#sentBytes < engineBytes) {
      const next = this.#lanes.shift(({operation}) => fits(operation));
      if (next === undefined) break;
      taken.push(next.operation);
      this.#sent.push(next);
      this.#sentRows += next.rows;
      this.#sentBytes += next.bytes;
      this.#since ??= monotonic();
    }
    return taken;
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
    this.#options.wake(); // First, so that the engine is not idle.
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
    for (let next = this.#lanes.shift(() => true); next; next = this.#lanes.shift(() => true)) {
      this.#sent.push(next);
      results.push(refused('down'));
    }
    this.answer(results);
  }

  #add(submission: Submission, account: string): void {
    this.#bytes += submission.bytes;
    this.#lanes.push(account, submission);
    if (this.#lanes.length >= CHUNK_OPERATIONS) this.#options.wake();
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      if (this.#lanes.length > 0) this.#options.wake();
    });
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
