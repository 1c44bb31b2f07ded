/** The SQLite database that is migrated: opened by no other process, and read as rows of PostgreSQL's tables. */
import {existsSync} from 'node:fs';
import {DatabaseSync, type SQLOutputValue} from 'node:sqlite';
import {CLOCK_SKEW_MS} from '../postgres/session/schema.ts';
import {lastId} from '../sqlite/append.ts';
import {inOrder} from '../sqlite/read.ts';
import {FENCE, migrate, SCHEMA_VERSION} from '../sqlite/schema.ts';
import {StoreError} from '../store.ts';

/** The columns of messages in PostgreSQL, and the body. */
export interface MessageRow {
  readonly account: string;
  readonly id: string;
  readonly lease: string | null;
  readonly created_at: string;
  readonly available_at: string | null;
  readonly lease_until: string | null;
  readonly finished_at: string | null;
  readonly bytes: string;
  readonly attempts: string;
  readonly status: string;
  readonly reason: string | null;
  readonly literal: string;
}

/** The columns of idempotency in PostgreSQL. */
export interface KeyRow {
  readonly account: string;
  readonly key: string;
  readonly fingerprint: string;
  readonly id: string;
  readonly created_at: string;
}

const SQLITE_BUSY = 5;

/** Undefined while another process has the database open. */
export function openSource(path: string): Source | undefined {
  if (!existsSync(path)) throw new StoreError('down', `there is no database ${path}`);
  const db = new DatabaseSync(path, {timeout: 0});
  try {
    db.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = FULL');
    // Leaving WAL mode needs the only connection; then every write of a process that was killed is in the file.
    db.exec('PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE; COMMIT');
    const version = versionOf(db);
    if (version < FENCE) migrate(db);
    else if (version % FENCE !== SCHEMA_VERSION) {
      throw new StoreError('down', 'another version of this program began the migration: continue with that one');
    }
  } catch (error) {
    db.close();
    if (isBusy(error)) return undefined;
    throw error;
  }
  return new Source(db);
}

/** Whether another process has the database open that is not a migration: that one would have locked it. */
export function isServed(path: string): boolean {
  using db = new DatabaseSync(path, {readOnly: true, timeout: 0});
  try {
    return versionOf(db) < FENCE;
  } catch (error) {
    if (isBusy(error)) return false;
    throw error;
  }
}

export class Source implements Disposable {
  readonly #db: DatabaseSync;

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  get accounts(): readonly string[] {
    const rows = this.#db.prepare('SELECT account FROM accounts ORDER BY account').all();
    return rows.map(({account}) => String(account));
  }

  /** What the account is charged. */
  bytesOf(account: string): number {
    return Number(this.#db.prepare('SELECT bytes FROM accounts WHERE account = ?').get(account)?.bytes);
  }

  /** The greatest id of all messages. */
  get lastId(): string | undefined {
    return lastId(this.#db);
  }

  *messages(account: string): Iterable<MessageRow> {
    for (const row of this.#db.prepare(inOrder('*')).iterate(account, '')) {
      yield toRow(row);
    }
  }

  *keys(account: string): Iterable<KeyRow> {
    for (const row of this.#db.prepare('SELECT * FROM idempotency WHERE account = ? ORDER BY key').iterate(account)) {
      const {key, fingerprint, id, created_at} = row;
      yield {
        account,
        key: String(key),
        fingerprint: String(fingerprint),
        id: String(id),
        created_at: String(created_at),
      };
    }
  }

  /** Of the migration that has fenced the database. */
  get migrationId(): string | undefined {
    if (versionOf(this.#db) < FENCE) return undefined;
    return String(this.#db.prepare('SELECT id FROM migration').get()?.id);
  }

  /** That migration has seen its commit. */
  get isMigrated(): boolean {
    return versionOf(this.#db) >= 2 * FENCE;
  }

  /** From now on, no program serves this database. */
  fence(migrationId: string): void {
    this.#db.exec(`
      BEGIN;
      CREATE TABLE migration (id TEXT NOT NULL) STRICT;
      INSERT INTO migration VALUES ('${migrationId}');
      PRAGMA user_version = ${FENCE + SCHEMA_VERSION};
      COMMIT`);
  }

  noteMigrated(): void {
    this.#db.exec(`PRAGMA user_version = ${2 * FENCE + SCHEMA_VERSION}`);
  }

  unfence(): void {
    this.#db.exec(`
      BEGIN;
      DROP TABLE IF EXISTS migration;
      PRAGMA user_version = ${SCHEMA_VERSION};
      COMMIT`);
  }

  [Symbol.dispose](): void {
    this.#db.close();
  }
}

function toRow(row: Readonly<Record<string, SQLOutputValue>>): MessageRow {
  const endsAt = row.available_at === null ? null : Number(row.available_at);
  const isLeased = row.status === 'leased';
  return {
    account: String(row.account),
    id: String(row.id),
    lease: textOf(row.lease),
    created_at: String(row.created_at),
    available_at: textOf(isLeased ? Number(endsAt) + CLOCK_SKEW_MS : endsAt),
    lease_until: textOf(isLeased ? endsAt : null),
    finished_at: textOf(row.finished_at),
    bytes: String(row.bytes),
    attempts: String(row.attempts),
    status: String(row.status),
    reason: textOf(row.reason),
    literal: String(row.literal),
  };
}

function textOf(value: SQLOutputValue | undefined): string | null {
  return value === null || value === undefined ? null : String(value);
}

function isBusy(error: unknown): boolean {
  const {errcode = 0} = error as {errcode?: number};
  return (errcode & 0xff) === SQLITE_BUSY;
}

function versionOf(db: DatabaseSync): number {
  return Number(db.prepare('PRAGMA user_version').get()?.user_version);
}
