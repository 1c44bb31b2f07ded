/** What the migration writes to PostgreSQL, and reads back. */
import type {Session} from '../postgres/session/session.ts';
import type {KeyRow, MessageRow, Source} from './source.ts';

// Bounds the memory, and the time of each statement, whatever accounts have stored.
const BATCH_ROWS = 500;
const BATCH_BYTES = 4 << 20;
const COLUMNS = [
  ...['account', 'id', 'lease', 'created_at', 'available_at', 'lease_until', 'finished_at', 'bytes', 'attempts'],
  ...['status', 'reason'],
];
const TYPES = ['text', 'uuid', 'uuid', 'bigint', 'bigint', 'bigint', 'bigint', 'int', 'int', 'text', 'text'];
const arrays = (types: readonly string[]) => types.map((type, index) => `$${index + 1}::${type}[]`).join(', ');

const INSERT_MESSAGES = {
  name: 'migrate-messages',
  text: `
    WITH texts AS (
      INSERT INTO bodies (account, id, literal)
      SELECT * FROM unnest($1::text[], $2::uuid[], $${COLUMNS.length + 1}::text[]))
    INSERT INTO messages (${COLUMNS.join(', ')}) SELECT * FROM unnest(${arrays(TYPES)})`,
};
const INSERT_KEYS = {
  name: 'migrate-keys',
  text: `INSERT INTO idempotency SELECT * FROM unnest(${arrays(['text', 'text', 'text', 'uuid', 'bigint'])})`,
};
// As cost.ts: PostgreSQL stores a reason as JSON, so its charge differs from that of SQLite.
const INSERT_ACCOUNT = {
  name: 'migrate-account',
  text: `
    INSERT INTO accounts (account, bytes, last_id)
    SELECT $1,
      (SELECT coalesce(sum(512 + 4 * octet_length(account) + bytes + coalesce(octet_length(reason), 0)), 0)
        FROM messages WHERE account = $1) +
      (SELECT coalesce(sum(256 + 2 * (octet_length(account) + octet_length(key))), 0)
        FROM idempotency WHERE account = $1),
      $2`,
};
// At least one, however long.
const READ_MESSAGES = {
  name: 'migrated-messages',
  text: `
    WITH next AS MATERIALIZED (SELECT * FROM messages WHERE account = $1 AND id > $2 ORDER BY id LIMIT ${BATCH_ROWS})
    SELECT ${COLUMNS.map(column => `m.${column}::text`).join(', ')},
      (SELECT literal FROM bodies b WHERE b.account = m.account AND b.id = m.id) AS literal
    FROM (
      SELECT *, row_number() OVER byId AS nth, sum(bytes) OVER byId AS total FROM next WINDOW byId AS (ORDER BY id)
    ) AS m
    WHERE nth = 1 OR total <= ${BATCH_BYTES} ORDER BY m.id`,
};
const READ_KEYS = {
  name: 'migrated-keys',
  text: `
    SELECT account, key, fingerprint, id::text, created_at::text FROM idempotency
    WHERE account = $1 AND key > $2 ORDER BY key LIMIT ${BATCH_ROWS}`,
};
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';

/** Copies an account in batches. Its row comes last. */
export async function copyAccount(session: Session, source: Source, account: string): Promise<void> {
  for (const batch of batches(source.messages(account))) await session.query(INSERT_MESSAGES, columnsOf(batch));
  for (const batch of batches(source.keys(account))) await session.query(INSERT_KEYS, columnsOf(batch));
  await session.query(INSERT_ACCOUNT, [account, source.lastId ?? null]);
}

export async function accountsOf(session: Session): Promise<readonly string[]> {
  return (await session.query('SELECT account FROM accounts ORDER BY account')).map(({account}) => String(account));
}

export async function* messagesOf(session: Session, account: string): AsyncIterable<MessageRow> {
  for (let after = BEFORE_ALL; ; ) {
    const rows = await session.query(READ_MESSAGES, [account, after]);
    if (rows.length === 0) return;
    for (const row of rows) yield Object.values(row) as MessageRow;
    after = String(rows.at(-1)?.id);
  }
}

export async function* keysOf(session: Session, account: string): AsyncIterable<KeyRow> {
  for (let after = ''; ; ) {
    const rows = await session.query(READ_KEYS, [account, after]);
    for (const row of rows) yield Object.values(row) as KeyRow;
    if (rows.length < BATCH_ROWS) return;
    after = String(rows.at(-1)?.key);
  }
}

type AnyRow = readonly (string | null)[];

function* batches(rows: Iterable<AnyRow>): Iterable<readonly AnyRow[]> {
  let batch: AnyRow[] = [];
  let bytes = 0;
  for (const row of rows) {
    batch.push(row);
    bytes += Buffer.byteLength(row.at(-1) ?? '');
    if (batch.length < BATCH_ROWS && bytes < BATCH_BYTES) continue;
    yield batch;
    [batch, bytes] = [[], 0];
  }
  if (batch.length > 0) yield batch;
}

function columnsOf(rows: readonly AnyRow[]): unknown[] {
  return (rows[0] ?? []).map((_, column) => rows.map(row => row[column]));
}
