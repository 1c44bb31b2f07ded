/**
 * The embedded store: one SQLite database on a volume, written with group commit on a separate thread. Only one
 * process may use it, but others may read and copy the database (backup.ts).
 */
import type {Logger} from 'pino';
import type {Clock} from '../../../time/clock.ts';
import type {OperationKind, Operations} from '../queue/operations.ts';
import {type SubmissionLimits, Submissions} from '../queue/submissions.ts';
import type {BatchResult, EngineOptions, Failure} from '../sqlite/thread-messages.ts';
import {type MessageStore, StoreError, type StoreHealth, type StoreObservation} from '../store.ts';
import {type EngineThread, startEngineThread} from './engine-thread.ts';

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
      post: chunk => thread.post({...chunk, now: clock.now()}),
      monotonic: () => clock.monotonic(),
    });
    thread.onResult(result => {
      this.#note(result);
      this.#submissions.answer(result.results);
    });
    void thread.failed.then(error => this.#fail(error));
    this.#sweeping = this.#sweepUntilClosed();
  }

  readonly append: MessageStore['append'] = message => this.#submit('append', message);
  readonly get: MessageStore['get'] = (account, id) => this.#submit('get', {account, id});
  readonly list: MessageStore['list'] = query => this.#submit('list', query);
  readonly claim: MessageStore['claim'] = query => this.#submit('claim', query);
  readonly ack: MessageStore['ack'] = ref => this.#submit('ack', ref);
  readonly nack: MessageStore['nack'] = nack => this.#submit('nack', nack);

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

  /** Rejects operations that are bound to fail. Only the sweep keeps trying the disk. */
  async #submit<K extends OperationKind>(kind: K, given: Operations[K]['given']): Promise<Operations[K]['result']> {
    const isRead = kind === 'get' || kind === 'list';
    const {kind: state, problem = ''} = this.state();
    if ((state === 'down' && !isRead) || this.#closing.signal.aborted) throw new StoreError('down', problem);
    if (state === 'full' && kind === 'append') throw new StoreError('full', problem);
    return this.#submissions.submit(kind, given);
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
