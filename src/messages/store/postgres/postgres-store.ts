/** The store for many pods: a PostgreSQL database. Any number of pods may use it; all of their state is in it. */
import {hash} from 'node:crypto';
import type {Logger} from 'pino';
import type {Clock} from '../../../time/clock.ts';
import {DeadlineError} from '../../../time/deadline.ts';
import {MessageIds} from '../message-id.ts';
import {
  type MessageStore,
  type Operation,
  type OperationValue,
  StoreError,
  type StoreHealth,
  type StoreObservation,
  type StoreRules,
  type SweepOutcome,
  UNKNOWN_BACKLOG,
} from '../store.ts';
import type {SubmissionLimits} from '../submissions.ts';
import {BatchingConnection, type BatchingConnectionOptions} from './batching-connection.ts';
import {spend} from './rate-usage.ts';
import {get, list, readBacklog, readStoredRows} from './read.ts';
import {sweep} from './retention.ts';
import {Session, type SessionOptions} from './session/session.ts';
import {writeBatch} from './write.ts';

interface PostgresStoreOptions extends SubmissionLimits {
  readonly connection: SessionOptions;
  /** How many connections write. An account always uses the same one, so its messages share commits. */
  readonly writers: number;
  readonly rules: StoreRules;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly observe: (observation: StoreObservation) => void;
}

const READERS = 2;
/** The readers, the one that sweeps, and the one that shares limits. */
export const CONNECTIONS_BESIDE_WRITERS = READERS + 2;
const SWEEP_INTERVAL_MS = 1000;
/** Counting the backlog takes long. Pause at least this long, and this many times as long as it took. */
const BACKLOG_INTERVAL_MS = 5000;
const BACKLOG_REST = 20;
/** If a commit takes longer, the server or its standby counts as unresponsive. */
const STALLED_MS = 5000;

/** Connects in the background, and again whenever that is necessary: `state` says whether it can be used. */
export class PostgresStore implements MessageStore {
  readonly #options: PostgresStoreOptions;
  readonly #writers: readonly BatchingConnection[];
  readonly #readers: readonly BatchingConnection[];
  readonly #keeper: BatchingConnection;
  /**
   * Shares limits, which promises nothing and waits for nothing. The others can wait for a standby for seconds, while
   * requests are being allowed.
   */
  readonly #sharing: BatchingConnection;
  readonly #closing = new AbortController();
  readonly #sweeping: Promise<void>;
  #countsBacklogAtMs = 0;

  constructor(options: PostgresStoreOptions) {
    const {rules, writers, maxWaiting, maxWaitingBytes} = options;
    this.#options = options;
    const channel = (perform: BatchingConnectionOptions['perform'], writes: boolean) =>
      new BatchingConnection({
        ...options,
        maxWaiting: Math.ceil(maxWaiting / writers),
        maxWaitingBytes: Math.ceil(maxWaitingBytes / writers),
        open: (signal, note) => Session.open(options.connection, signal, note),
        perform,
        onBatch: (operations, ms) => options.observe({kind: 'batch', operations, commitMs: writes ? ms : 0}),
      });
    this.#writers = Array.from({length: writers}, () => {
      const ids = new MessageIds(undefined);
      return channel((session, batch, join) => writeBatch(session, batch, {rules, ids, join}), true);
    });
    this.#readers = Array.from({length: READERS}, () => channel(read, false));
    this.#keeper = channel(async session => [await this.#sweep(session)], false);
    this.#sharing = channel(async (session, batch) => {
      try {
        return await share(session, batch);
      } catch (error) {
        // A primary that is cut off closes no connection. The sooner the others end, the sooner they reach another one.
        if (error instanceof DeadlineError) for (const each of this.#connections) each.reconnect();
        throw error;
      }
    }, false);
    this.#sweeping = this.#sweepUntilClosed();
  }

  readonly perform: MessageStore['perform'] = async (kind, given) => {
    const channels = kind === 'get' || kind === 'list' ? this.#readers : this.#writers;
    const channel = channels[Number.parseInt(hash('sha1', given.account).slice(0, 8), 16) % channels.length];
    if (channel === undefined || this.#closing.signal.aborted) throw new StoreError('down', 'the store is closed');
    return channel.submit(kind, given);
  };

  readonly spend: NonNullable<MessageStore['spend']> = async used =>
    this.#sharing.submit('spend', {used}).catch((error: unknown) => {
      if (!(error instanceof StoreError)) throw error; // Otherwise already in the state.
      return undefined;
    });

  /** Operations that wait for the server. */
  get waiting(): number {
    return this.#connections.reduce((sum, {waiting}) => sum + waiting, 0);
  }

  state(): StoreHealth {
    if (this.#closing.signal.aborted) return {kind: 'down', problem: 'the store is closed'};
    const problem = this.#connections.map(channel => channel.problem).find(each => each !== undefined);
    if (problem !== undefined) return {kind: 'down', problem};
    const silentMs = Math.max(...this.#connections.map(channel => channel.silentMs));
    if (silentMs > STALLED_MS) {
      return {kind: 'down', problem: `no answer to a commit for ${Math.round(silentMs / 1000)} s`};
    }
    if (this.#writers.some(({isFull}) => isFull)) return {kind: 'full', problem: 'the disk of the server is full'};
    return {kind: 'ok'};
  }

  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    await this.#sweeping;
    await Promise.all(this.#connections.map(channel => channel.close()));
  }

  get #connections(): readonly BatchingConnection[] {
    return [...this.#writers, ...this.#readers, this.#keeper, this.#sharing];
  }

  async #sweep(session: Session): Promise<SweepOutcome> {
    const {rules, clock} = this.#options;
    const swept = await sweep(session, rules);
    if (swept.backlog === UNKNOWN_BACKLOG) return swept;
    const startMs = clock.monotonic();
    if (startMs < this.#countsBacklogAtMs) return swept;
    const [rows, backlog] = await Promise.all([readStoredRows(session), readBacklog(session, clock.now())]);
    const tookMs = clock.monotonic() - startMs;
    this.#countsBacklogAtMs = startMs + Math.max(BACKLOG_INTERVAL_MS, BACKLOG_REST * tookMs);
    return {...swept, backlog, rows};
  }

  async #sweepUntilClosed(): Promise<void> {
    const {clock, observe} = this.#options;
    const {signal} = this.#closing;
    while (!signal.aborted) {
      let more = false;
      try {
        const {more: isMore, ...swept} = await this.#keeper.submit('sweep', {probe: false});
        observe({kind: 'sweep', ...swept});
        more = isMore;
      } catch (error) {
        if (!(error instanceof StoreError)) throw error; // Otherwise already in the state.
        observe({kind: 'sweep', lapsed: 0, deleted: 0, backlog: UNKNOWN_BACKLOG, rows: 'unknown'});
      }
      if (!more) await clock.sleep(SWEEP_INTERVAL_MS, signal).catch(() => undefined);
    }
  }
}

/** Without a transaction: each operation is one statement. */
function read(session: Session, batch: readonly Operation[]): Promise<readonly OperationValue[]> {
  return session.read(() =>
    Promise.all(
      batch.map(async ({kind, given}): Promise<OperationValue> => {
        if (kind === 'get') return get(session, given.account, given.id);
        if (kind === 'list') return list(session, given);
        throw new Error(`${kind} does not read`);
      }),
    ),
  );
}

/** Promises nothing, so it does not wait. */
function share(session: Session, batch: readonly Operation[]): Promise<readonly OperationValue[]> {
  return Promise.all(
    batch.map(async ({kind, given}): Promise<OperationValue> => {
      if (kind === 'spend') return spend(session, given.used);
      throw new Error(`${kind} does not share`);
    }),
  );
}
