/** The meaning of an acknowledgment, and the settings of PostgreSQL that it requires. */

/**
 * - synchronous-standby: an answer waits until the write is on the disk of a standby too.
 * - storage: an answer waits until the write is in the storage of the primary, which the service replicates.
 * - accepted-loss: an answer waits for whatever the server's own settings say. The last messages can be lost.
 */
export const DURABILITIES = ['synchronous-standby', 'storage', 'accepted-loss'] as const;
export type Durability = (typeof DURABILITIES)[number];

/** For people. */
export const PROMISES: Readonly<Record<Durability, string>> = {
  'synchronous-standby': 'a response waits for the disks of the primary and a standby',
  storage: 'a response waits for the storage of the primary',
  'accepted-loss': "a response waits for what the server's settings say, and may be lost",
};

/** The server's settings as one transaction sees them. */
export interface Settings {
  readonly standby: boolean;
  readonly names: string;
  readonly commit: string;
  readonly fsync: string;
  /** Whether the role can see what the standbys have. */
  readonly sees: boolean;
}

/** The facts that are known once the wait of a WRITE has ended. */
export interface Confirmed extends Settings {
  /** How many of the standbys that COMMIT waits for have the WRITE on disk. */
  readonly confirmed: number;
}

export const READ_SETTINGS = {
  name: 'read-settings',
  text: `
    SELECT pg_is_in_recovery() AS standby, current_setting('synchronous_standby_names') AS names,
      current_setting('synchronous_commit') AS commit, current_setting('fsync') AS fsync,
      pg_has_role('pg_read_all_stats', 'USAGE') AS sees`,
};

/**
 * A transaction that writes to the WAL and to nothing else, so that it waits for this and for all that is before it.
 * With a message that is not transactional, it would not wait. The session remembers its position.
 */
export const WRITE = {
  name: 'write',
  text: `SELECT set_config('nameplate.written', pg_logical_emit_message(true, 'nameplate', '')::text, false)`,
};

/** For a statement after WRITE. The function is what the view pg_stat_replication reads. */
export const READ_CONFIRMATION = {
  name: 'read-confirmation',
  text: `${READ_SETTINGS.text}, (
      SELECT count(*)::int FROM pg_stat_get_wal_senders()
      WHERE sync_state IN ('sync', 'quorum') AND flush_lsn >= current_setting('nameplate.written')::pg_lsn
    ) AS confirmed`,
};

/** The server's clock, in milliseconds since the epoch. */
export const NOW = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

/**
 * The settings and the time; from then on, the COMMIT of this transaction waits for nothing. One statement, because the
 * statements are most of what a small batch costs. Columns are evaluated in order; otherwise, `commit` would be `off`,
 * and nothing would be written.
 */
export const READ_SETTINGS_AND_DO_NOT_WAIT = {
  name: 'read-settings-and-do-not-wait',
  text: `${READ_SETTINGS.text}, ${NOW} AS now, set_config('synchronous_commit', 'off', true)`,
};

/** With these values, the standby's disk has the commit, not only its memory. */
const FLUSHED = ['on', 'remote_apply'];

/** Why the settings do not give this durability; undefined if they do. */
export function shortfall(durability: Durability, settings: Settings): string | undefined {
  const {standby, names, commit, fsync, sees} = settings;
  if (standby) return 'the server is a standby: connect to the primary';
  if (durability === 'accepted-loss') return undefined;
  if (fsync !== 'on') return `fsync is ${fsync}: a power failure would lose acknowledged messages`;
  if (durability === 'storage') return commit === 'off' ? 'synchronous_commit is off' : undefined;
  if (names.trim() === '') return 'synchronous_standby_names is empty: no standby would have what is acknowledged';
  if (!FLUSHED.includes(commit)) return `synchronous_commit is ${commit}; needed: ${FLUSHED.join(' or ')}`;
  if (!sees) return 'the role cannot see what standbys have: run GRANT pg_read_all_stats TO it, as superuser';
  return undefined;
}

/**
 * Whether as many standbys have the WRITE on disk as synchronous_standby_names requires: `ANY 2 (a, b, c)`,
 * `FIRST 2 (a, b, c)`, `2 (a, b, c)`, or `a, b, c`, which requires one.
 * https://www.postgresql.org/docs/current/runtime-config-replication.html#GUC-SYNCHRONOUS-STANDBY-NAMES
 */
export function isConfirmed({names, confirmed}: Pick<Confirmed, 'names' | 'confirmed'>): boolean {
  return confirmed >= Number(/^\s*(?:any|first)?\s*(\d+)\s*\(/i.exec(names)?.[1] ?? 1);
}

/**
 * Settings that a role or a database may set differently. Only index scans in fixed plans: the cost of a statement must
 * not depend on statistics, which are always old in a queue. The pod itself limits how long it waits for an answer.
 */
const SESSION: Readonly<Record<string, string>> = {
  search_path: 'nameplate',
  client_encoding: 'UTF8',
  client_min_messages: 'warning',
  lc_messages: 'C', // For people. The sessions of an ordinary role keep its own: no code reads what a message says.
  default_transaction_isolation: 'read committed',
  default_transaction_deferrable: 'off',
  statement_timeout: '0',
  transaction_timeout: '0',
  lock_timeout: '5s',
  idle_in_transaction_session_timeout: '30s',
  // A pod whose node is gone must not keep the lock of the sweep, which another pod then needs.
  tcp_keepalives_idle: '10',
  tcp_keepalives_interval: '5',
  tcp_keepalives_count: '4',
  plan_cache_mode: 'force_generic_plan',
  jit: 'off',
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
};

/** Sets those that this version of PostgreSQL has and this role may set: lc_messages is only for superusers. */
export function sessionSettings(durability: Durability): {readonly text: string; readonly values: unknown[]} {
  const all = {...SESSION, ...(durability !== 'accepted-loss' && {synchronous_commit: 'on'})};
  return {
    text: `
      SELECT set_config(wanted.name, wanted.value, false)
      FROM unnest($1::text[], $2::text[]) AS wanted(name, value) JOIN pg_settings known ON known.name = wanted.name
      WHERE known.context <> 'superuser' OR has_parameter_privilege(wanted.name, 'SET')`,
    values: [Object.keys(all), Object.values(all)],
  };
}
