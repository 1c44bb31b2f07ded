/** The tables, and the migrations from older versions. */
import {StoreError} from '../../store.ts';

/** A lease ends for its worker at `lease_until`, and for others this much later: clocks differ after a failover. */
export const CLOCK_SKEW_MS = 1000;

/** The first key of all advisory locks: "NPmq". The second one says what for. */
export const LOCKS = {migrate: 'SELECT pg_advisory_xact_lock(1313893745, 1)', sweep: '1313893745, 2'} as const;

/**
 * One script per version; never changed once released. While pods are replaced one by one, connections that older
 * programs already have must work on the newer schema, so no prepared statement returns columns that it does not name.
 * They do not open new ones, so a rollback needs an older database.
 *
 * `status` is what the API shows, except that queued messages are `waiting`, or `delayed` until `available_at`. That
 * column is set for leased messages too, a second after the lease ends: after a failover, the clock may be another.
 * Texts from clients are JSON string literals: JSON escapes NUL and lone surrogates, which PostgreSQL's text lacks.
 * Bodies are separate, because each change of status writes the whole row again.
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE accounts (
    account text COLLATE "C" PRIMARY KEY,
    bytes bigint NOT NULL,
    last_id uuid
  ) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

  CREATE TABLE messages (
    account text COLLATE "C" NOT NULL,
    id uuid NOT NULL,
    lease uuid,
    created_at bigint NOT NULL,
    available_at bigint,
    lease_until bigint,
    finished_at bigint,
    bytes integer NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    status text COLLATE "C" NOT NULL DEFAULT 'waiting'
      CHECK (status IN ('waiting', 'delayed', 'leased', 'done', 'dead')),
    reason text,
    PRIMARY KEY (account, id)
  ) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
  -- An expression, so that only this index has the order that lists and claims read in.
  CREATE INDEX messages_by_status ON messages (account, ((status || id::text)));
  CREATE INDEX messages_hidden ON messages (account, available_at) WHERE available_at IS NOT NULL;
  CREATE INDEX messages_leased ON messages (lease_until) WHERE lease_until IS NOT NULL;
  CREATE INDEX messages_finished ON messages (status, finished_at) WHERE finished_at IS NOT NULL;

  CREATE TABLE bodies (
    account text COLLATE "C" NOT NULL,
    id uuid NOT NULL,
    literal text NOT NULL,
    PRIMARY KEY (account, id)
  );

  CREATE TABLE idempotency (
    account text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    fingerprint text NOT NULL,
    id uuid NOT NULL,
    created_at bigint NOT NULL,
    PRIMARY KEY (account, key)
  );
  CREATE INDEX idempotency_by_age ON idempotency (created_at);

  -- At most one row: the last migration, done or undone. SQLite has its id, too. See ../../migration/migrate.ts.
  CREATE TABLE migrated (id uuid NOT NULL, state text NOT NULL);

  -- When each bucket of an account's rate limits will be full again, in milliseconds since the epoch.
  CREATE UNLOGGED TABLE usage (
    account text COLLATE "C" PRIMARY KEY,
    requests float8 NOT NULL,
    bytes float8 NOT NULL,
    answers float8 NOT NULL
  ) WITH (fillfactor = 50);
  `,
];

/** A session before it can be used for anything else. */
interface Migrating {
  query(text: string, values?: unknown[], answerMs?: number): Promise<readonly Readonly<Record<string, unknown>>[]>;
  commit(
    read: () => Promise<unknown>,
    write: () => Promise<{readonly value: undefined; readonly promises: true}>,
    answerMs: number,
  ): Promise<unknown>;
}

/** The time limit of a script, which may build an index of a large table, and of the wait until a standby has it. */
const SCRIPT_MS = 86_400_000;

/** Creates or migrates the tables, in one transaction; other pods wait. Rejects with a StoreError if it cannot. */
export async function migrate(session: Migrating, scripts = MIGRATIONS): Promise<void> {
  const to = scripts.length;
  if ((await versionOf(session, to)) >= to) return;
  await session.commit(
    () => session.query(LOCKS.migrate),
    async () => {
      const version = await versionOf(session, to);
      if (version === 0) await create(session);
      for (const script of scripts.slice(version)) await session.query(script, [], SCRIPT_MS);
      if (version < to) await session.query(`UPDATE schema_version SET version = ${to}`);
      return {value: undefined, promises: true};
    },
    SCRIPT_MS,
  );
}

/**
 * 0: there are no tables. Reads the catalog itself: to_regclass may still remember, after the wait for the lock, that
 * there were none.
 */
async function versionOf(session: Migrating, latest: number): Promise<number> {
  const [server] = await session.query(`
    SELECT current_setting('server_version_num')::int AS number, current_setting('server_encoding') AS encoding,
      EXISTS (
        SELECT FROM pg_class WHERE relname = 'schema_version'
          AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = 'nameplate')) AS migrated`);
  if (Number(server?.number) < 150_000) throw new StoreError('down', 'PostgreSQL must be version 15 or later');
  if (server?.encoding !== 'UTF8')
    throw new StoreError('down', `the database's encoding is ${server?.encoding}, not UTF8`);
  if (server?.migrated !== true) return 0;
  const [row] = await session.query('SELECT version FROM nameplate.schema_version');
  const version = Number(row?.version);
  if (version <= latest) return version;
  throw new StoreError(
    'down',
    `the database has schema version ${version}, this program knows up to ${latest}: upgrade it`,
  );
}

/** The role may lack the right to create schemas; then the platform has created an empty one for it. */
async function create(session: Migrating): Promise<void> {
  const [found] = await session.query(`SELECT FROM pg_namespace WHERE nspname = 'nameplate'`);
  if (found === undefined) await session.query('CREATE SCHEMA nameplate');
  await session.query('CREATE TABLE schema_version (version integer NOT NULL)');
  await session.query('INSERT INTO schema_version VALUES (0)');
}
