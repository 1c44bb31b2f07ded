/** The tables, and the migrations from older versions. */
import type {DatabaseSync} from 'node:sqlite';

/**
 * "NPmq": distinguishes a message store from other SQLite files. https://sqlite.org/pragma.html#pragma_application_id
 */
const APPLICATION_ID = 0x4e_50_6d_71;

/**
 * One script per version; never changed once released. `literal` is the last column, so that reading other columns
 * never reads the overflow pages of a long message. Texts from clients are JSON string literals: JSON escapes what UTF-8
 * cannot represent (lone surrogates) and what SQLite text should not contain (NUL).
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE messages (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    account TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'waiting' CHECK (status IN ('waiting', 'delayed', 'leased', 'done', 'dead')),
    created_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    -- When the delay or the lease ends.
    available_at INTEGER,
    lease TEXT,
    finished_at INTEGER,
    reason TEXT,
    bytes INTEGER NOT NULL,
    literal TEXT NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX messages_by_id ON messages (account, id);
  CREATE INDEX messages_by_status ON messages (account, status, id);
  CREATE INDEX messages_hidden ON messages (account, available_at) WHERE available_at IS NOT NULL;
  CREATE INDEX messages_leased ON messages (available_at) WHERE status = 'leased';
  CREATE INDEX messages_finished ON messages (status, finished_at) WHERE finished_at IS NOT NULL;

  CREATE TABLE idempotency (
    account TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (account, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX idempotency_by_age ON idempotency (created_at);

  -- What each account has stored, as in rules.ts. The code that inserts or deletes messages keeps this up to date.
  CREATE TABLE accounts (account TEXT PRIMARY KEY, bytes INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  `,
  // Ids of all accounts grow in the order of arrival, so new messages of many accounts are in one page of this index. A
  // second index by account would have one page to write for each account.
  `
  DROP INDEX messages_by_id;
  CREATE UNIQUE INDEX messages_by_id ON messages (id);
  DROP INDEX IF EXISTS messages_waiting;
  `,
];

export const SCHEMA_VERSION = MIGRATIONS.length;
/**
 * Added to the version of a database during its migration, and added twice after it. No release has such a version, so
 * none serves the database.
 */
export const FENCE = 1_000_000;

/** Migrates an empty or older database, each step in a transaction. Throws if it is not a message store. */
export function migrate(db: DatabaseSync, scripts = MIGRATIONS): void {
  const version = pragma(db, 'user_version');
  const application = pragma(db, 'application_id');
  if (application !== APPLICATION_ID && (application !== 0 || version !== 0 || hasTables(db))) {
    throw new Error('the file is a SQLite database, but not a message store');
  }
  if (version >= FENCE) {
    throw new Error(
      'the messages of this database were migrated to PostgreSQL: set store.kind to postgres, or undo the migration first',
    );
  }
  if (version > scripts.length) {
    throw new Error(
      `the database has schema version ${version}, this program knows up to ${scripts.length}: upgrade it`,
    );
  }
  for (const [index, script] of scripts.entries()) {
    if (index < version) continue;
    db.exec(
      `BEGIN IMMEDIATE; ${script}; PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${index + 1}; COMMIT`,
    );
  }
}

/** Writes a page without changing anything, to find out whether the disk is writable. */
export function rewriteHeader(db: DatabaseSync): void {
  db.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`);
}

function pragma(db: DatabaseSync, name: string): number {
  return Number(db.prepare(`PRAGMA ${name}`).get()?.[name]);
}

function hasTables(db: DatabaseSync): boolean {
  return db.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() !== undefined;
}
