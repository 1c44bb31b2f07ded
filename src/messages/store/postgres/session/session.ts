import pg from 'pg';
import {Deadline} from '../../../../base/deadline.ts';
import {StoreError} from '../../store.ts';
import {type ConnectionOptions, connectionConfig} from './connection.ts';
import {refused, unknown} from './failure.ts';
import {migrate} from './schema.ts';
import {type Durability, READ_SETTINGS, type Settings, sessionSettings, shortfall} from './settings.ts';

export interface SessionOptions extends ConnectionOptions {
  readonly durability: Durability;
  /**
   * Of the messages of SQLite: awaited before anything is served, not awaited, or done by this session.
   */
  readonly migration: 'awaited' | 'none' | 'own';
}

/** A prepared statement. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

export type Row = Readonly<Record<string, unknown>>;

/** What a transaction did, and whether an answer to it needs the wait for its durability. */
export interface Done<T> {
  readonly value: T;
  /** False if it neither wrote nor answers for an earlier write. */
  readonly promises: boolean;
}

/** The time limit of a statement, and of a COMMIT. */
const ANSWER_MS = 10_000;
/**
 * The time limit of the first COMMIT. Much longer: while no standby answers, each connection that is given up leaves a
 * backend behind that waits on.
 */
const FIRST_ANSWER_MS = 600_000;
/** How often a COMMIT is confirmed again because the configuration was loaded meanwhile. */
const CONFIRMATIONS = 5;

/**
 * Writes to the WAL and to nothing else, so that COMMIT waits for it and for all that is before it. With a message that
 * is not transactional, COMMIT would not wait.
 */
const WRITE = {name: 'write', text: `SELECT pg_logical_emit_message(true, 'nameplate', '')`};
const MIGRATED = {name: 'migrated', text: 'SELECT state FROM migrated FOR SHARE'};
const BEGIN = {text: 'BEGIN'};
const COMMIT = {text: 'COMMIT'};

/** One connection. Statements are sent without waiting for earlier ones, and are executed in order. */
export class Session implements Disposable {
  readonly #client: pg.Client;
  readonly #durability: Durability;
  /** Warnings since the current transaction began. */
  #warnings: Error[] = [];
  /** Why the connection cannot be used anymore. */
  #broken: Error | undefined;
  /** The configuration with which a COMMIT was last confirmed: when it was loaded. */
  #confirmed: string | undefined;
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
      await session.#run({...sessionSettings(options.durability)});
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
   * Statements that only read. What they see is durable, or must become so first: since the configuration was loaded,
   * a commit may have ended its wait without a standby.
   */
  async read<T>(statements: () => Promise<T>): Promise<T> {
    const [value, settings] = await Promise.all([statements(), this.#run(READ_SETTINGS)]);
    if (settingsOf(settings).loaded === this.#confirmed) return value;
    await this.#commitWrite().catch((cause: Error) => {
      throw new StoreError('down', cause.message, {cause}); // A read has no outcome that could be unknown.
    });
    return value;
  }

  async query(statement: Statement | string, values: unknown[] = []): Promise<readonly Row[]> {
    const {rows} = await this.#run(typeof statement === 'string' ? {text: statement} : {...statement, values});
    return rows;
  }

  /**
   * One transaction: `read` must only read and lock, because it starts before the settings are known; `write` gets its
   * result. Resolves once all of it is durable. Rejects with a StoreError, which is `unknown` only after COMMIT was sent.
   */
  async commit<R, T>(
    read: () => Promise<R>,
    write: (found: R) => Promise<Done<T>>,
    answerMs: number = ANSWER_MS,
  ): Promise<T> {
    const {settings, done} = await this.#work(read, write);
    const sent = [
      ...(done.promises ? [this.#run(WRITE)] : []),
      this.#run(COMMIT, answerMs),
      this.#run(READ_SETTINGS, answerMs),
    ];
    const [after, commit, written] = (await Promise.allSettled(sent)).reverse();
    try {
      if (written?.status === 'rejected' && isRolledBack(commit)) throw refused(written.reason);
      if (isRolledBack(commit)) throw new StoreError('down', 'the transaction was rolled back');
      for (const each of [commit, after]) if (each?.status === 'rejected') throw unknown(each.reason);
      const [warning] = this.#warnings;
      if (warning) throw unknown(warning);
      if (done.promises && after?.status === 'fulfilled') {
        await this.#confirm(settings, settingsOf(after.value));
      }
      return done.value;
    } catch (error) {
      if (error instanceof StoreError && error.refusal === 'unknown') this.#break(error);
      throw error;
    }
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

  async #commitWrite(): Promise<void> {
    await this.commit(
      async () => undefined,
      async () => ({value: undefined, promises: true}),
    );
  }

  async #work<R, T>(read: () => Promise<R>, write: (found: R) => Promise<Done<T>>) {
    this.#warnings = [];
    const [began, settings, found] = await Promise.allSettled([this.#run(BEGIN), this.#run(READ_SETTINGS), read()]);
    try {
      if (began.status === 'rejected') throw began.reason;
      if (settings.status === 'rejected') throw settings.reason;
      const before = settingsOf(settings.value);
      const lacking = shortfall(this.#durability, before);
      // First, because on a standby, reading has failed, too.
      if (lacking !== undefined) throw new StoreError('down', lacking);
      if (found.status === 'rejected') throw found.reason;
      return {settings: before, done: await write(found.value)};
    } catch (error) {
      await this.#run({text: 'ROLLBACK'}).catch((cause: Error) => this.#break(cause));
      throw refused(error);
    }
  }

  /**
   * Emptying synchronous_standby_names ends all waits as if a standby had answered. The session has loaded the new
   * configuration before it executes the statement after COMMIT. So if nothing was loaded since, the wait was real;
   * otherwise, another COMMIT must wait, which covers all earlier WAL.
   */
  async #confirm(before: Settings, after: Settings, left: number = CONFIRMATIONS): Promise<void> {
    if (this.#durability !== 'synchronous-standby' || before.loaded === after.loaded) {
      this.#confirmed = after.loaded;
      return;
    }
    const lacking = shortfall(this.#durability, after);
    if (lacking !== undefined) throw unknown(new Error(lacking));
    if (left === 0) throw unknown(new Error('the configuration is being loaded again and again'));
    try {
      const [, , , , again] = await Promise.all(
        [BEGIN, READ_SETTINGS, WRITE, COMMIT, READ_SETTINGS].map(each => this.#run(each)),
      );
      const [warning] = this.#warnings;
      if (warning) throw warning;
      await this.#confirm(after, settingsOf(again), left - 1);
    } catch (error) {
      throw unknown(error);
    }
  }

  /** Gives up a connection that does not answer in time. Never cancels: the server may still finish the query. */
  async #run(query: pg.QueryConfig, answerMs: number = ANSWER_MS): Promise<pg.QueryResult> {
    if (this.#broken) throw this.#broken;
    using deadline = new Deadline(answerMs);
    deadline.signal.addEventListener('abort', () => this.#break(deadline.signal.reason));
    return await this.#client.query(query);
  }

  #break(error: Error): void {
    if (this.#broken) return;
    this.#broken = error;
    this.#ended.resolve();
    // Not end(), which would wait for statements in progress.
    const {connection} = this.#client as unknown as {connection: {stream: {destroy(error?: Error): void}}};
    connection.stream.destroy(error);
  }
}

function settingsOf(result: pg.QueryResult | undefined): Settings {
  return result?.rows[0] as Settings;
}

function isRolledBack(commit: PromiseSettledResult<pg.QueryResult> | undefined): boolean {
  return commit?.status === 'fulfilled' && commit.value.command !== 'COMMIT';
}
