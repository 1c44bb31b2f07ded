/**
 * The embedded store: one SQLite database on a volume, written with group commit on a separate thread. Only one
 * process may use it, but others may read and copy the database (backup.ts).
 */
import {Worker} from 'node:worker_threads';
import type {Logger} from 'pino';
import type {Clock} from '../../../time/clock.ts';
import {BATCH_BYTES, BATCH_ROWS} from '../rules.ts';
import {
  type Chunk,
  type MessageStore,
  type Operation,
  StoreError,
  type StoreHealth,
  type StoreObservation,
} from '../store.ts';
import {type SubmissionLimits, Submissions} from '../submissions.ts';
import type {BatchResult, EngineOptions, Failure} from './engine.ts';
import type {ThreadRequest} from './worker.ts';

export interface SqliteStoreOptions extends SubmissionLimits {
  readonly engine: EngineOptions;
  /** The entry module of the database's thread: worker.ts, or its bundle. */
  readonly worker: URL;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly observe: (observation: StoreObservation) => void;
  /** The database's thread has ended. The store cannot recover; restart the process. */
  readonly onFailed: (error: Error) => void;
}

/** An engine on another thread, so that a slow commit does not block the service. */
export interface EngineThread {
  post(chunk: Chunk): void;
  /** Call this once, before the first chunk. One result may answer several chunks. */
  onResult(listener: (result: BatchResult) => void): void;
  /** Resolves with the error if the thread ends unexpectedly. */
  readonly failed: Promise<Error>;
  /** Call this only when everything has been answered. */
  close(): Promise<void>;
}

/** One message to the thread has at most so many operations. */
const CHUNK_OPERATIONS = 16;
/** Two transactions' worth, so that the thread is never idle. */
const ENGINE_ROWS = 2 * BATCH_ROWS;
const ENGINE_BYTES = 2 * BATCH_BYTES;
const SWEEP_INTERVAL_MS = 1000;
/** If a commit takes longer, the disk counts as unresponsive. */
const STALLED_MS = 5000;

/** Opens or creates the database. Rejects with a StoreError if it cannot. */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<SqliteStore> {
  const {worker, engine} = options;
  const thread = await startEngineThread(worker, engine).catch((cause: Error) => {
    throw new StoreError('down', `${engine.path} cannot be opened: ${cause.message}`, {cause});
  });
  return new SqliteStore(options, thread);
}

export class SqliteStore implements MessageStore {
  readonly #options: SqliteStoreOptions;
  readonly #thread: EngineThread;
  readonly #submissions: Submissions;
  readonly #closing = new AbortController();
  readonly #sweeping: Promise<void>;
  #failure: Failure | undefined;
  #room = 0;

  constructor(options: SqliteStoreOptions, thread: EngineThread) {
    const {clock} = options;
    this.#options = options;
    this.#thread = thread;
    this.#submissions = new Submissions({
      ...options,
      engineRows: ENGINE_ROWS,
      engineBytes: ENGINE_BYTES,
      wake: () => this.#post(),
      monotonic: () => clock.monotonic(),
    });
    thread.onResult(result => {
      this.#note(result);
      this.#submissions.answer(result.results);
    });
    void thread.failed.then(error => this.#fail(error));
    this.#sweeping = this.#sweepUntilClosed();
  }

  /** Rejects operations that are bound to fail. Only the sweep keeps trying the disk. */
  readonly perform: MessageStore['perform'] = async (kind, given) => {
    const isRead = kind === 'get' || kind === 'list';
    const {kind: state, problem = ''} = this.state();
    if ((state === 'down' && !isRead) || this.#closing.signal.aborted) throw new StoreError('down', problem);
    if (state === 'full' && kind === 'append') throw new StoreError('full', problem);
    return this.#submissions.submit(kind, given);
  };

  /** Operations that wait for the disk. */
  get waiting(): number {
    return this.#submissions.waiting;
  }

  state(): StoreHealth {
    const {silentMs} = this.#submissions;
    if (this.#closing.signal.aborted) return {kind: 'down', problem: 'the store is closed'};
    if (silentMs > STALLED_MS) {
      return {kind: 'down', problem: `the disk has not responded for ${Math.round(silentMs / 1000)} s`};
    }
    if (this.#failure) return {kind: this.#failure.refusal, problem: this.#failure.problem};
    if (this.#room < 0) return {kind: 'full', problem: 'the volume has less free space than the reserve'};
    return {kind: 'ok'};
  }

  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    await this.#sweeping;
    await this.#submissions.idle();
    await this.#thread.close();
  }

  #post(): void {
    for (let operations = this.#take(); operations.length > 0; operations = this.#take()) {
      this.#thread.post({operations, now: this.#options.clock.now()});
    }
  }

  #take(): Operation[] {
    return this.#submissions.take(CHUNK_OPERATIONS);
  }

  #note({results, room, failure, commitMs}: BatchResult): void {
    this.#room = room;
    this.#options.observe({kind: 'batch', operations: results.length, commitMs});
    if (failure === undefined) return;
    if (failure.refusal !== this.#failure?.refusal) this.#options.logger.error({...failure}, 'The store cannot write.');
    this.#failure = failure;
  }

  async #sweepUntilClosed(): Promise<void> {
    const {clock} = this.#options;
    const {signal} = this.#closing;
    while (!signal.aborted) {
      const more = await this.#sweep();
      if (!more) await clock.sleep(SWEEP_INTERVAL_MS, signal).catch(() => undefined);
    }
  }

  /** Returns whether there is more to do now. While the store is failing, checks whether the disk works again. */
  async #sweep(): Promise<boolean> {
    const {observe, logger} = this.#options;
    try {
      const {more, ...swept} = await this.#submissions.submit('sweep', {probe: this.#failure !== undefined});
      observe({kind: 'sweep', ...swept});
      // Below the reserve, the volume is still full, but workers may drain the queue.
      if (this.#failure && (this.#room >= 0 || this.#failure.refusal === 'down')) {
        this.#failure = undefined;
        logger.info('The store can write again.');
      }
      return more;
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      return false; // Already in the state; the next sweep retries.
    }
  }

  #fail(error: Error): void {
    if (this.#closing.signal.aborted) return;
    this.#failure = {refusal: 'down', problem: error.message};
    this.#submissions.fail(error);
    this.#options.onFailed(error);
  }
}

/**
 * Starts a thread from `module` (worker.ts). Rejects with the engine's error if the database cannot be opened, or if the
 * thread ends without an answer.
 */
export async function startEngineThread(module: URL, options: EngineOptions): Promise<EngineThread> {
  const worker = new Worker(module, {workerData: options, name: 'store'});
  // Before the first await: a thread that ends at once emits its message and its exit in the same turn.
  const exited = new Promise<void>(resolve => worker.once('exit', () => resolve()));
  const failed = new Promise<Error>(resolve => {
    worker.once('error', resolve);
    worker.once('exit', code => resolve(new Error(`the database's thread ended with code ${code}`)));
  });
  await new Promise<void>((resolve, reject) => {
    worker.once('message', () => resolve());
    void failed.then(reject);
  });
  const post = (request: ThreadRequest) => worker.postMessage(request);
  return {
    post,
    onResult: listener => worker.on('message', listener),
    failed,
    close: async () => {
      post('close'); // nothing happens if the thread has ended
      await exited;
    },
  };
}
