/** Moves all messages from SQLite to PostgreSQL, or back. Can be killed at any time and repeated. */
import {randomUUID} from 'node:crypto';
import type {Clock} from '../../../time/clock.ts';
import {APPLICATION_NAME} from '../postgres/session/connection.ts';
import {Session, type SessionOptions} from '../postgres/session/session.ts';
import {StoreError} from '../store.ts';
import {compare, NO_CHANGE, sweptUntil} from './compare.ts';
import {isServed, openSource, type Source} from './source.ts';
import {accountsOf, copyAccount} from './target.ts';

/** How long the last COMMIT may wait for a standby. */
const ANSWER_MS = 600_000;
// Sessions of pods wait until the transaction ends.
const LOCK_TABLES = 'LOCK TABLE accounts, messages, bodies, idempotency IN EXCLUSIVE MODE';
const NO_LIMIT = 'SET LOCAL idle_in_transaction_session_timeout = 0';
/** How often to retry opening a database that another process has open. */
const RETRY_MS = 1000;
/** How long a check may wait for PostgreSQL, less than Helm waits for it. */
const CHECK_MS = 60_000;
const MIGRATED = 'SELECT id, state FROM migrated FOR UPDATE';
const NOTE_DONE = {
  name: 'migrate-done',
  text: `
    WITH reused AS (UPDATE migrated SET id = $1, state = 'done' RETURNING id)
    INSERT INTO migrated SELECT $1, 'done' WHERE NOT EXISTS (SELECT FROM reused)`,
};
/** SQLSTATE insufficient_privilege. */
const INSUFFICIENT_PRIVILEGE = '42501';
const CHANGED =
  ': it has changed since the migration, and an undo would lose that. Keep PostgreSQL, which still serves';
const IN_USE = 'the PostgreSQL database is in use: it has accounts that were not migrated';
const MIGRATED_BEFORE =
  'messages were migrated to this database before. If they are those of this platform, set messages.postgres.migrate to false. Otherwise, use a new, empty database';

/** A summary for people. */
export type Report = string;

interface MigrationOptions {
  /** Of the SQLite database. */
  readonly path: string;
  readonly connection: SessionOptions;
  readonly isBack: boolean;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Gets what it is waiting for. */
  readonly note: (waiting: string) => void;
}

/** Waits until no other process has the SQLite database open. Rejects with a StoreError if nothing was changed. */
export async function runMigration(options: MigrationOptions): Promise<Report> {
  const {connection, isBack, signal, note} = options;
  using source = await untilAlone(options);
  if (source === undefined) return 'SQLite is being served. Nothing to undo.';
  using session = await Session.open({...connection, migration: 'own'}, signal, note);
  return await (isBack ? migrateBack : migrateToPostgres)(source, session);
}

/**
 * Whether PostgreSQL is ready for a migration, while SQLite is still being served. Rejects with a StoreError that says
 * what is wrong.
 */
export async function checkTarget(connection: SessionOptions): Promise<Report> {
  let waiting = '';
  const deadline = AbortSignal.timeout(CHECK_MS);
  try {
    using session = await Session.open({...connection, migration: 'own'}, deadline, note => {
      waiting = note;
    });
    if ((await migrationOf(session))?.state === 'done') throw new StoreError('down', MIGRATED_BEFORE);
    if ((await accountsOf(session)).length > 0) throw new StoreError('down', IN_USE);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    const problem = deadline.aborted ? `no answer within ${CHECK_MS / 1000} s (${waiting})` : error.message;
    const advice = 'Fix the Secret with its URI, its settings, or the database, and try again.';
    const message = `PostgreSQL cannot take the messages: ${problem}. ${advice} Nothing was changed; the API serves as before.`;
    throw new StoreError('down', message, {cause: error});
  }
  return 'PostgreSQL is ready for the migration.';
}

/** Undefined if it is to be served, and so needs no undoing. */
async function untilAlone({path, isBack, clock, signal, note}: MigrationOptions): Promise<Source | undefined> {
  for (let isFirst = true; ; isFirst = false) {
    const source = openSource(path);
    if (source !== undefined) return source;
    if (isBack && isServed(path)) return undefined;
    if (isFirst) note('waiting until no other process has the database open');
    await clock.sleep(RETRY_MS, signal);
  }
}

/**
 * One transaction copies everything and compares it, so PostgreSQL has either nothing or all of it. SQLite is fenced
 * first: from then on, only the migration opens it.
 */
async function migrateToPostgres(source: Source, session: Session): Promise<Report> {
  const report = await session.commit(
    async () => {
      await session.query(NO_LIMIT);
      await session.query(LOCK_TABLES);
      return {last: await migrationOf(session), accounts: await accountsOf(session)};
    },
    async ({last, accounts}) => {
      refuseOther(source, last);
      if (last?.state === 'done') return {value: 'The messages were migrated before. Nothing to do.', promises: true};
      if (accounts.length > 0) throw new StoreError('down', IN_USE);
      const id = source.migrationId ?? randomUUID();
      if (source.migrationId === undefined) source.fence(id);
      let count = 0;
      for (const account of source.accounts) count += await copyAccount(session, source, account);
      await compare(source, session, NO_CHANGE);
      await session.query(NOTE_DONE, [id]);
      return {value: `Migrated ${count} messages of ${source.accounts.length} accounts.`, promises: true};
    },
    ANSWER_MS,
  );
  source.noteMigrated();
  return report;
}

/** Only while no client has changed what PostgreSQL has. Then PostgreSQL is emptied, serves no more, and SQLite may. */
async function migrateBack(source: Source, session: Session): Promise<Report> {
  await session.commit(
    async () => {
      await session.query(NO_LIMIT);
      await session.query(LOCK_TABLES);
      return migrationOf(session);
    },
    async (last, now) => {
      refuseOther(source, last);
      if (last?.state === 'done') {
        await compare(source, session, sweptUntil(now), CHANGED);
        // New sessions wait for this row; those that have read it before are ended.
        await session.query(`UPDATE migrated SET state = 'undone'`);
        await endSessions(session);
        await session.query('TRUNCATE accounts, messages, bodies, idempotency');
      } else if ((await accountsOf(session)).length > 0) {
        throw new StoreError('down', 'the PostgreSQL database has messages that were not migrated');
      }
      return {value: undefined, promises: true};
    },
    ANSWER_MS,
  );
  source.unfence();
  return 'Undone. SQLite may be served again.';
}

interface Migration {
  readonly id: string;
  readonly state: 'done' | 'undone';
}

/** The last one to this database. */
async function migrationOf(session: Session): Promise<Migration | undefined> {
  const [row] = await session.query(MIGRATED);
  return row as Migration | undefined;
}

/**
 * With a changed URI, an undo would lift the fence while another database serves, and pods would serve the messages of
 * another platform.
 */
function refuseOther(source: Source, last: Migration | undefined): void {
  if (last !== undefined && last.id === source.migrationId) return;
  const correct = 'Correct the URI in the Secret';
  if (source.isMigrated) {
    throw new StoreError('down', `the messages were migrated to another PostgreSQL database. ${correct}`);
  }
  if (last?.state === 'done') {
    const problem = 'the messages of another SQLite database were migrated to this PostgreSQL database';
    throw new StoreError('down', `${problem}. ${correct}, or use a new, empty database`);
  }
}

/**
 * Of the pods, and whatever else this role has opened. A role that the server sets for sessions (ALTER ROLE … SET role)
 * need not have the right to.
 */
async function endSessions(session: Session): Promise<void> {
  await session.query('SET LOCAL ROLE NONE');
  try {
    await session.query(`
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid()
        AND (usename = session_user OR application_name = '${APPLICATION_NAME}')`);
  } catch (error) {
    if ((error as {code?: string}).code !== INSUFFICIENT_PRIVILEGE) throw error;
    const advice = 'Scale the Deployment to 0, or use the role of the pods';
    throw new StoreError('down', `this role must not end the sessions of the pods. ${advice}`, {cause: error});
  }
  await session.query('RESET ROLE');
}
