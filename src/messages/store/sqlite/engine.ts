import {statfsSync} from 'node:fs';
import {dirname} from 'node:path';
import {DatabaseSync} from 'node:sqlite';
import {LAPSE_ROWS} from '../rules.ts';
import {
  isWrite,
  type Operation,
  type OperationResult,
  type OperationValue,
  type StoreRules,
  type SweepOutcome,
} from '../store.ts';
import {prepareAppend} from './append.ts';
import {prepareLeases} from './lease.ts';
import {prepareReads} from './read.ts';
import {prepareRetention} from './retention.ts';
import {migrate, rewriteHeader} from './schema.ts';
import {Transaction} from './transaction.ts';

export interface Failure {
  readonly refusal: 'full' | 'down';
  readonly problem: string;
}

export interface EngineOptions extends StoreRules {
  /** The database file; its folder must exist. */
  readonly path: string;
  /** Below this much free space, new messages are rejected; the rest is for draining the queue. */
  readonly reserveBytes: number;
}

/** Plain data, because it may be copied to another thread. */
export interface BatchResult {
  /** In the order of the operations. Everything written is durable. */
  readonly results: readonly OperationResult[];
  /** Rows that the operations read or wrote; limited, see Work. */
  readonly rows: number;
  /** Bytes available for new messages; negative if new messages are rejected. */
  readonly room: number;
  /** Why the batch's writes were rolled back, if they were. */
  readonly failure?: Failure;
  /** Time from the start of the transaction until it was durable; 0 if nothing was written. */
  readonly commitMs: number;
}

type Connection = ReturnType<typeof connect>;

/** The synchronous database. One transaction holds many operations, so one sync of the log serves all of them. */
export class Engine {
  readonly #options: EngineOptions;
  readonly #freeBytes: () => number;
  #connection: Connection;
  /** After an I/O error: the connection may still read, but is reopened before the next write. */
  #suspect = false;

  /** Opens or creates the database, migrates it to this schema, and recovers from a crash. Throws. */
  constructor(options: EngineOptions, freeBytes: () => number = () => freeBytesAt(dirname(options.path))) {
    this.#options = options;
    this.#freeBytes = freeBytes;
    this.#connection = connect(options);
  }

  /**
   * Applies the operations in order, in as many transactions as their work needs, and yields each transaction's
   * result once it is durable. `now` is in milliseconds since the epoch. Does not throw: failures are in the results.
   */
  *applyAll(operations: readonly Operation[], now: number): Generator<BatchResult> {
    for (let done = 0; done < operations.length; ) {
      const result = this.#apply(done === 0 ? operations : operations.slice(done), now);
      yield result;
      done += result.results.length;
    }
  }

  /** One transaction, for the first operations of the batch: at least one, and as many as Work allows. */
  #apply(batch: readonly Operation[], now: number): BatchResult {
    const start = performance.now();
    try {
      const room = this.#room();
      if (!batch.some(isWrite)) return {...performSome(this.#connection, batch, now, room), room, commitMs: 0};
      if (this.#suspect) this.#reconnect();
      const done = writeSome(this.#connection, batch, now, room);
      return {...done, room, commitMs: performance.now() - start};
    } catch (error) {
      return this.#failed(batch, now, error);
    }
  }

  /** Moves the log into the database file and closes it. */
  close(): void {
    this.#connection.db.close();
  }

  /** Bytes for new messages: the volume's free space beyond the reserve, or free pages in the file. */
  #room(): number {
    const room = this.#freeBytes() - this.#options.reserveBytes;
    return room >= 0 ? room : room + unusedBytes(this.#connection.db);
  }

  #reconnect(): void {
    const before = this.#connection;
    this.#connection = connect(this.#options);
    this.#suspect = false;
    before.db.close();
  }

  /** No write of the batch is visible on the connection. Its reads are answered if possible. */
  #failed(batch: readonly Operation[], now: number, error: unknown): BatchResult {
    const failure = failureOf(error);
    this.#suspect ||= failure.refusal === 'down';
    // Without room, the frame that ends the transaction is not in the log. After another error, it may be.
    const isUncertain = error instanceof CommitError && failure.refusal === 'down';
    const refused: OperationResult = {ok: false, ...failure, ...(isUncertain && {refusal: 'unknown'})};
    const results = batch.map((operation): OperationResult => {
      if (isWrite(operation)) return refused;
      try {
        return {ok: true, value: perform(this.#connection, operation, now)};
      } catch {
        return refused;
      }
    });
    return {results, rows: 0, room: 0, failure, commitMs: 0};
  }
}

function connect(options: EngineOptions) {
  const db = new DatabaseSync(options.path, {timeout: 5000});
  try {
    // FULL syncs the log at each commit, so that acknowledged messages survive a power loss.
    db.exec(`
      PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 67108864;
      PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF;`);
    migrate(db);
    const transaction = new Transaction(db);
    const {work, usage, backlog} = transaction;
    return {
      db,
      work,
      usage,
      backlog,
      append: prepareAppend(transaction, options),
      reads: prepareReads(transaction),
      leases: prepareLeases(transaction, options),
      expire: prepareRetention(transaction, options.retention),
    };
  } catch (error) {
    db.close();
    throw error;
  }
}

type Done = Pick<BatchResult, 'results' | 'rows'>;

function writeSome(connection: Connection, batch: readonly Operation[], now: number, room: number): Done {
  const {db, usage, backlog} = connection;
  db.exec('BEGIN IMMEDIATE');
  try {
    const done = performSome(connection, batch, now, room);
    usage.flush();
    commit(db);
    backlog.flush();
    return done;
  } catch (error) {
    usage.forget();
    backlog.forget();
    // SQLite has already rolled back after some errors, such as a full disk.
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

function commit(db: DatabaseSync): void {
  try {
    db.exec('COMMIT');
  } catch (error) {
    throw new CommitError(error);
  }
}

const FULL: OperationResult = {
  ok: false,
  refusal: 'full',
  problem: 'the volume has no room for new messages',
};

function performSome(connection: Connection, batch: readonly Operation[], now: number, room: number): Done {
  const {work} = connection;
  const results: OperationResult[] = [];
  work.reset();
  for (const operation of batch) {
    const isRefused = operation.kind === 'append' && room < 0;
    results.push(isRefused ? FULL : {ok: true, value: perform(connection, operation, now)});
    if (work.isEnough(results.length)) break;
  }
  return {results, rows: work.rows};
}

function perform(connection: Connection, operation: Operation, now: number): OperationValue {
  const {append, reads, leases} = connection;
  switch (operation.kind) {
    case 'append':
      return append(operation.given, now);
    case 'get':
      return reads.get(operation.given.account, operation.given.id);
    case 'list':
      return reads.list(operation.given);
    case 'claim':
      return leases.claim(operation.given, now);
    case 'ack':
      return leases.ack(operation.given, now);
    case 'nack':
      return leases.nack(operation.given, now);
    case 'sweep':
      return sweep(connection, operation.given.probe, now);
    case 'spend':
      throw new Error('one process has the database, so its limits are not shared');
  }
}

function sweep({db, leases, expire, backlog}: Connection, probe: boolean, now: number): SweepOutcome {
  if (probe) rewriteHeader(db);
  const lapsed = leases.lapse(now);
  const {deleted, more} = expire(now);
  const read = backlog.read();
  return {lapsed, deleted, backlog: read.backlog, more: more || read.more || lapsed === LAPSE_ROWS};
}

function unusedBytes(db: DatabaseSync): number {
  const value = (pragma: string) => Number(db.prepare(`PRAGMA ${pragma}`).get()?.[pragma]);
  return value('freelist_count') * value('page_size');
}

function freeBytesAt(folder: string): number {
  const {bavail, bsize} = statfsSync(folder);
  return bavail * bsize;
}

/** SQLite's primary result codes, the low byte of an extended one. https://sqlite.org/rescode.html */
const SQLITE_FULL = 13;

/** COMMIT failed: when the log is read again, the transaction may be in it. */
class CommitError extends Error {
  constructor(cause: unknown) {
    super('COMMIT failed', {cause});
  }
}

/** The meaning of an error of SQLite or the file system for writes: a full disk calls for another response. */
function failureOf(error: unknown): Failure {
  if (error instanceof CommitError) return failureOf(error.cause);
  const {errcode, code, message} = error as {errcode?: number; code?: string; message?: string};
  const full = (errcode !== undefined && (errcode & 0xff) === SQLITE_FULL) || code === 'ENOSPC' || code === 'EDQUOT';
  const detail = errcode === undefined ? '' : ` (SQLite result ${errcode})`;
  return {refusal: full ? 'full' : 'down', problem: `${message ?? String(error)}${detail}`};
}
