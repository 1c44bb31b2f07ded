import type {Logger} from 'pino';
import {type BackoffPolicy, backoffMs} from '../../../time/backoff.ts';
import type {Clock} from '../../../time/clock.ts';
import {BATCH_BYTES, BATCH_ROWS} from '../rules.ts';
import {
  type Operation,
  type OperationKind,
  type OperationResult,
  type Operations,
  type OperationValue,
  StoreError,
} from '../store.ts';
import {type SubmissionLimits, Submissions} from '../submissions.ts';
import {refused} from './session/failure.ts';
import type {Session} from './session/session.ts';

/**
 * Adds to the batch what has arrived since it began, in its order, up to the first operation that does not fit or the
 * limits of a batch.
 */
export type Join = (fits: (operation: Operation) => boolean) => void;

export interface BatchingConnectionOptions extends SubmissionLimits {
  /** Calls `note` with what it is waiting for. */
  readonly open: (signal: AbortSignal, note: (waiting: string) => void) => Promise<Session>;
  /** One batch; values in its order, including what was joined to it. */
  readonly perform: (session: Session, batch: readonly Operation[], join: Join) => Promise<readonly OperationValue[]>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onBatch: (operations: number, ms: number) => void;
}

const RECONNECT: BackoffPolicy = {initialMs: 100, maxMs: 2000, factor: 2, jitter: 0.5};

/**
 * A connection to PostgreSQL, and the operations that wait for it. An operation that arrives while a batch is being
 * committed joins it, if its locks are enough, or the next one. On an idle connection, the first operation is sent
 * without waiting for others.
 */
export class BatchingConnection {
  readonly #options: BatchingConnectionOptions;
  readonly #submissions: Submissions;
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;
  #session: Session | undefined;
  #wake: (() => void) | undefined;
  #problem: string | undefined = 'not connected yet';
  /** The last append found no room on the server. */
  #full = false;

  constructor(options: BatchingConnectionOptions) {
    this.#options = options;
    this.#submissions = new Submissions({
      ...options,
      engineRows: BATCH_ROWS,
      engineBytes: BATCH_BYTES,
      wake: () => this.#wake?.(),
      monotonic: () => options.clock.monotonic(),
    });
    this.#running = this.#run();
  }

  /** Why operations are rejected. */
  get problem(): string | undefined {
    return this.#problem;
  }

  get isFull(): boolean {
    return this.#full;
  }

  get waiting(): number {
    return this.#submissions.waiting;
  }

  /** How long the server has been working without an answer, in milliseconds. */
  get silentMs(): number {
    return this.#submissions.silentMs;
  }

  async submit<K extends OperationKind>(kind: K, given: Operations[K]['given']): Promise<Operations[K]['result']> {
    if (this.#problem !== undefined) throw new StoreError('down', this.#problem);
    return this.#submissions.submit(kind, given);
  }

  /** Finishes what was accepted. */
  async close(): Promise<void> {
    if (this.#problem === undefined) await this.#submissions.idle();
    this.#problem = 'the store is closed';
    this.#closing.abort();
    this.#wake?.();
    await this.#running;
  }

  /** Ends the session without waiting for its answers. */
  reconnect(): void {
    this.#session?.[Symbol.dispose]();
  }

  async #run(): Promise<void> {
    const {open, clock, logger} = this.#options;
    const {signal} = this.#closing;
    let failures = 0;
    while (!signal.aborted) {
      try {
        using session = await open(signal, waiting => {
          this.#problem = waiting;
        });
        if (signal.aborted) return;
        this.#session = session;
        this.#problem = undefined;
        if (failures > 0) logger.info('PostgreSQL can be used again.');
        failures = 0;
        await this.#serve(session);
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        const {message} = error as Error;
        if (failures === 1) logger.error({err: error}, 'PostgreSQL cannot be used.');
        this.#reject(message);
      }
      await clock.sleep(backoffMs(RECONNECT, failures, Math.random), signal).catch(() => undefined);
    }
  }

  /** Until the connection ends or must not be used anymore; then throws the reason. */
  async #serve(session: Session): Promise<void> {
    void session.ended.then(() => this.#wake?.());
    while (!this.#closing.signal.aborted) {
      if (session.isBroken) throw new StoreError('down', 'the connection was lost');
      if (this.#submissions.queued === 0) await this.#woken();
      else await this.#commit(session);
    }
  }

  async #commit(session: Session): Promise<void> {
    const start = performance.now();
    const submissions = this.#submissions;
    const batch = submissions.take(Number.POSITIVE_INFINITY);
    const join: Join = fits => batch.push(...submissions.take(Number.POSITIVE_INFINITY, fits));
    try {
      const values = await this.#options.perform(session, batch, join);
      if (values.length !== batch.length) throw new Error(`${values.length} answers to ${batch.length} operations`);
      if (batch.some(({kind}) => kind === 'append')) this.#full = false;
      submissions.answer(values.map(value => ({ok: true, value})));
      this.#options.onBatch(batch.length, performance.now() - start);
    } catch (error) {
      const {refusal, message} = refused(error);
      this.#full = refusal === 'full';
      const isUsable = !session.isBroken && (refusal === 'busy' || refusal === 'full');
      if (!isUsable) this.#problem = message; // First, so that the caller sees it together with the answer.
      submissions.answer(batch.map((): OperationResult => ({ok: false, refusal, problem: message})));
      if (!isUsable) throw error;
    }
  }

  #woken(): Promise<void> {
    return new Promise(resolve => {
      this.#wake = () => {
        this.#wake = undefined;
        resolve();
      };
    });
  }

  /** Nothing of what waits was sent. */
  #reject(problem: string): void {
    this.#problem = problem;
    while (this.#submissions.queued > 0) {
      const rejected = this.#submissions.take(Number.POSITIVE_INFINITY);
      this.#submissions.answer(rejected.map((): OperationResult => ({ok: false, refusal: 'down', problem})));
    }
  }
}
