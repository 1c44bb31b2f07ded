import type {Duplex} from 'node:stream';
import pg from 'pg';
import {DeadlineError} from '../../../../time/deadline.ts';
import {StoreError} from '../../store.ts';
import {type ConnectionOptions, connectionConfig} from './connection.ts';
import {refused, unknownOutcome} from './failure.ts';
import {migrate} from './schema.ts';
import {
  type Confirmed,
  type Durability,
  isConfirmed,
  READ_CONFIRMATION,
  READ_SETTINGS,
  READ_SETTINGS_AND_DO_NOT_WAIT,
  type Settings,
  sessionSettings,
  shortfall,
  WRITE,
} from './settings.ts';
import {type Execution, type Statement, StatementGroup} from './statement-group.ts';

export interface SessionOptions extends ConnectionOptions {
  readonly durability: Durability;
  /**
   * Of the messages of SQLite: awaited before anything is served, not awaited, or done by this session.
   */
  readonly migration: 'awaited' | 'none' | 'own';
}

export type Row = Readonly<Record<string, unknown>>;

/** The result of a transaction, and whether an answer to it needs the wait for its durability. */
export interface Done<T> {
  readonly value: T;
  /** False if it neither wrote nor answers for an earlier write. */
  readonly promises: boolean;
}

/** The values of these columns, each as an array, for `unnest`. */
export function columnsOf<R>(rows: readonly R[], ...names: readonly (keyof R)[]): unknown[] {
  return names.map(name => rows.map(row => row[name]));
}

/** The time limit of a group of statements. */
const ANSWER_MS = 10_000;
/**
 * The time limit of the first COMMIT. Much longer: while no standby answers, each connection that is given up leaves a
 * backend behind that waits on.
 */
const FIRST_ANSWER_MS = 600_000;
/** How often a session waits for durability, if no standby confirms it. */
const WAITS = 5;

const MIGRATED = {name: 'migrated', text: 'SELECT state FROM migrated FOR SHARE'};
const BEGIN = {name: 'BEGIN', text: 'BEGIN'};
const COMMIT = {name: 'COMMIT', text: 'COMMIT'};

/** A statement of the group that is being formed. */
interface Unsent extends Execution {
  readonly answerMs: number;
  readonly resolve: (result: pg.QueryResult) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * One connection. Statements are sent without waiting for earlier ones, and are executed in order. Those of one turn of
 * the event loop are sent together, in groups: if one fails, the server skips the rest of its group.
 */
export class Session implements Disposable {
  readonly #client: pg.Client;
  readonly #durability: Durability;
  /** Warnings since the current transaction began. */
  #warnings: Error[] = [];
  /** The first error since the current transaction began: those of later statements only follow from it. */
  #failure: unknown;
  /** Why the connection cannot be used anymore. */
  #broken: Error | undefined;
  /** The names of statements that the server knows; see StatementGroup. */
  readonly #prepared = new Set<string>();
  /** The group that is being formed. */
  #unsent: Unsent[] = [];
  #isCorked = false;
  readonly #ended = Promise.withResolvers<void>();

  private constructor(client: pg.Client, durability: Durability) {
    this.#client = client;
    this.#durability = durability;
    client.on('notice', notice => this.#warnings.push(notice as unknown as Error));
    client.on('error', error => this.#break(error));
    client.on('end', () => this.#break(new Error('the connection ended')));
  }

  /**
   * Connects, migrates the schema, and commits one write: what a crashed primary shows after it restarted alone may be
   * on no standby, and a read would promise it. Rejects with a StoreError. Calls `note` with what it is
   * waiting for.
   */
  static async open(options: SessionOptions, signal: AbortSignal, note: (waiting: string) => void): Promise<Session> {
    note('connecting to PostgreSQL');
    const client = new pg.Client(await connectionConfig(options));
    const session = new Session(client, options.durability);
    const stop = () => session[Symbol.dispose]();
    signal.addEventListener('abort', stop, {once: true});
    try {
      signal.throwIfAborted();
      await client.connect();
      const {text, values} = sessionSettings(options.durability);
      await session.query({name: 'session-settings', text}, values);
      note('waiting for a first commit: no standby has confirmed it yet, or another pod migrates the schema');
      await migrate(session);
      await session.#firstCommit(options.migration);
      return session;
    } catch (error) {
      session[Symbol.dispose]();
      throw refused(error);
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  get isBroken(): boolean {
    return this.#broken !== undefined;
  }

  /** Resolves when the connection cannot be used anymore. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /**
   * Statements that only read. Then waits as a write does, which proves two things: all that they have seen is
   * durable, and this server was still the primary, because a primary that a failover has cut off gets no confirmation.
   */
  async read<T>(statements: () => Promise<T>): Promise<T> {
    this.#begin();
    const reading = statements();
    this.#endGroup(); // A read that fails must not skip the WRITE: without it, the session would end.
    const [read, durable] = await Promise.allSettled([reading, this.#becomeDurable()]);
    if (read.status === 'rejected') throw refused(read.reason);
    if (durable.status === 'fulfilled') return read.value;
    const {message, cause} = durable.reason as StoreError;
    throw new StoreError('down', message, {cause}); // A read has no outcome that could be unknown.
  }

  /** `R`: what the statement returns, with numbers for bigint. */
  async query<R = Row>(
    statement: Statement | string,
    values: unknown[] = [],
    answerMs?: number,
  ): Promise<readonly R[]> {
    const isText = typeof statement === 'string';
    const {rows} = await (isText ? this.#runText(statement, answerMs) : this.#run(statement, values, answerMs));
    return rows;
  }

  /** Like `query`, for a statement of a transaction whose result nobody needs: `commit` reports its failure. */
  send(statement: Statement, values: unknown[]): void {
    this.#run(statement, values).catch(() => undefined);
  }

  /**
   * One transaction: `read` must only read and lock, because it starts before the settings are known; `write` gets its
   * result, and the server's time in milliseconds since the epoch, after the statements that `read` sends immediately.
   * Resolves once all of it is durable. Rejects with a StoreError, which is `unknown` only after COMMIT was sent.
   *
   * The COMMIT itself does not wait, and so releases the locks immediately; a second transaction waits. Otherwise, the
   * pods' commits for an account would wait for the standby one after the other.
   */
  async commit<R, T>(
    read: () => Promise<R>,
    write: (found: R, now: number) => Promise<Done<T>>,
    answerMs: number = ANSWER_MS,
  ): Promise<T> {
    const done = await this.#work(read, write);
    this.#endGroup(); // A write that fails must not skip COMMIT, which then rolls back.
    const [commit, durable] = await Promise.allSettled([
      this.#run(COMMIT, [], answerMs),
      done.promises ? this.#becomeDurable(answerMs) : undefined,
    ]);
    if (commit.status === 'rejected') {
      // After a statement that failed, COMMIT could only roll back.
      if (this.#failure instanceof pg.DatabaseError && this.#failure !== commit.reason) throw refused(this.#failure);
      throw this.#uncertain(commit.reason);
    }
    if (commit.value.command !== 'COMMIT') {
      throw refused(this.#failure ?? new StoreError('down', 'the transaction was rolled back'));
    }
    if (durable.status === 'rejected') throw durable.reason;
    if (this.#failure !== undefined) throw this.#uncertain(this.#failure); // A statement that was not sent.
    return done.value;
  }

  [Symbol.dispose](): void {
    this.#break(new Error('the connection was closed'));
  }

  /** The row is locked, so that no session opens while the migration is being undone. */
  async #firstCommit(migration: SessionOptions['migration']): Promise<void> {
    await this.commit(
      () => this.query(MIGRATED),
      async ([row]) => {
        if (row?.state === 'undone' && migration !== 'own')
          throw new StoreError('down', 'the migration to this database was undone');
        if (row === undefined && migration === 'awaited')
          throw new StoreError('down', 'waiting for `messages migrate`');
        return {value: undefined, promises: true};
      },
      FIRST_ANSWER_MS,
    );
  }

  async #work<R, T>(read: () => Promise<R>, write: (found: R, now: number) => Promise<Done<T>>): Promise<Done<T>> {
    this.#begin();
    const [began, found, settings] = await Promise.allSettled([
      this.#run(BEGIN),
      read(),
      this.#run(READ_SETTINGS_AND_DO_NOT_WAIT),
    ]);
    try {
      if (began.status === 'rejected') throw began.reason;
      if (found.status === 'rejected') throw found.reason;
      if (settings.status === 'rejected') throw settings.reason;
      const lacking = shortfall(this.#durability, settings.value.rows[0] as Settings);
      if (lacking !== undefined) throw new StoreError('down', lacking);
      return await write(found.value, settings.value.rows[0].now);
    } catch (error) {
      const failure = error instanceof StoreError ? error : (this.#failure ?? error);
      await this.#runText('ROLLBACK').catch((cause: Error) => this.#break(cause));
      throw refused(failure);
    }
  }

  #begin(): void {
    this.#warnings = [];
    this.#failure = undefined;
  }

  /**
   * Resolves once everything that was committed before is durable; otherwise, ends the session and rejects with a
   * StoreError `unknown`.
   *
   * With a synchronous standby, the end of the wait does not prove it: emptying synchronous_standby_names ends all waits
   * as if a standby had answered, and nobody waits before the checkpointer, too, has loaded the names that the session
   * has. The report of the standbys proves it. If one confirmed it and is gone, another one can.
   */
  async #becomeDurable(answerMs: number = ANSWER_MS): Promise<void> {
    const isSynchronous = this.#durability === 'synchronous-standby';
    try {
      for (let left = WAITS; left > 0; left--) {
        const writing = this.#run(WRITE, [], answerMs);
        this.#endGroup(); // Only the end of a group commits it.
        const reading = this.#run(isSynchronous ? READ_CONFIRMATION : READ_SETTINGS, [], answerMs);
        const [, {rows}] = await Promise.all([writing, reading]);
        const [warning] = this.#warnings;
        if (warning) throw warning;
        const confirmation = rows[0] as Confirmed;
        const lacking = shortfall(this.#durability, confirmation);
        if (lacking !== undefined) throw new Error(lacking);
        if (!isSynchronous || isConfirmed(confirmation)) return;
      }
      throw new Error('the wait for a standby ended, but pg_stat_replication shows none that has the write');
    } catch (error) {
      throw this.#uncertain(error);
    }
  }

  /** Ends the session, because it cannot be told what its last transactions did. */
  #uncertain(error: unknown): StoreError {
    const uncertain = unknownOutcome(error);
    this.#break(uncertain);
    return uncertain;
  }

  /** As part of the group that is being formed. */
  #run(statement: Statement, values: readonly unknown[] = [], answerMs: number = ANSWER_MS): Promise<pg.QueryResult> {
    const {promise, resolve, reject} = Promise.withResolvers<pg.QueryResult>();
    this.#unsent.push({statement, values, answerMs, resolve, reject});
    this.#sendTogether();
    return promise;
  }

  /** Sends the group: at the end of a turn, before a statement that must not be skipped, and to commit a write. */
  #endGroup(): void {
    const group = this.#unsent;
    if (group.length === 0) return;
    this.#unsent = [];
    const {promise, resolve, reject} = Promise.withResolvers<readonly pg.QueryResult[]>();
    const answerMs = Math.max(...group.map(each => each.answerMs));
    this.#answered(answerMs, () => {
      const done = (error: Error | undefined, results: readonly pg.QueryResult[]) =>
        error ? reject(error) : resolve(results);
      this.#client.query(new StatementGroup(group, this.#prepared, done));
      return promise;
    }).then(
      results => {
        for (const [index, each] of group.entries()) each.resolve(results[index] as pg.QueryResult);
      },
      error => {
        for (const each of group) each.reject(error);
      },
    );
  }

  /** By the protocol for simple queries, which has no values. */
  #runText(text: string, answerMs: number = ANSWER_MS): Promise<pg.QueryResult> {
    this.#endGroup();
    this.#sendTogether();
    return this.#answered(answerMs, () => this.#client.query(text));
  }

  /** Gives up a connection that does not answer in time. Never cancels: the server may still finish the query. */
  async #answered<T>(answerMs: number, send: () => Promise<T>): Promise<T> {
    if (this.#broken) throw this.#broken;
    const deadline = setTimeout(() => this.#break(new DeadlineError(answerMs)), answerMs);
    try {
      return await send();
    } catch (error) {
      this.#failure ??= error;
      throw error;
    } finally {
      clearTimeout(deadline);
    }
  }

  /** One packet for all groups of this turn: each packet wakes the server. */
  #sendTogether(): void {
    if (this.#isCorked) return;
    this.#isCorked = true;
    const stream = this.#stream;
    stream.cork();
    process.nextTick(() => {
      this.#endGroup();
      this.#isCorked = false;
      stream.uncork();
    });
  }

  #break(error: Error): void {
    if (this.#broken) return;
    this.#broken = error;
    this.#ended.resolve();
    this.#stream.destroy(error); // Not end(), which would wait for statements in progress.
  }

  get #stream(): Duplex {
    return (this.#client as unknown as {readonly connection: {readonly stream: Duplex}}).connection.stream;
  }
}
