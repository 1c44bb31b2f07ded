/** The data that the migration writes to PostgreSQL, and reads back. */
import {columnsOf, type Session} from '../postgres/session/session.ts';
import {BATCH_BYTES, BATCH_ROWS} from '../rules.ts';
import type {KeyRow, MessageRow, Source} from './source.ts';

const COLUMNS = [
  ...(['account', 'id', 'lease', 'created_at', 'available_at', 'lease_until', 'finished_at', 'bytes'] as const),
  ...(['attempts', 'status', 'reason'] as const),
];
const KEY_COLUMNS = ['account', 'key', 'fingerprint', 'id', 'created_at'] as const;
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
const INSERT_ACCOUNT = {
  name: 'migrate-account',
  text: 'INSERT INTO accounts (account, bytes, last_id) VALUES ($1, $2, $3)',
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

/** Copies an account in batches. Its row comes last. Returns the number of messages. */
export async function copyAccount(session: Session, source: Source, account: string): Promise<number> {
  let count = 0;
  for (const batch of batches(source.messages(account))) {
    count += batch.length;
    await session.query(INSERT_MESSAGES, columnsOf(batch, ...COLUMNS, 'literal'));
  }
  for (const batch of batches(source.keys(account))) await session.query(INSERT_KEYS, columnsOf(batch, ...KEY_COLUMNS));
  await session.query(INSERT_ACCOUNT, [account, source.bytesOf(account), source.lastId ?? null]);
  return count;
}

export async function accountsOf(session: Session): Promise<readonly string[]> {
  return (await session.query('SELECT account FROM accounts ORDER BY account')).map(({account}) => String(account));
}

export async function* messagesOf(session: Session, account: string): AsyncIterable<MessageRow> {
  for (let after = BEFORE_ALL; ; ) {
    const rows = await session.query<MessageRow>(READ_MESSAGES, [account, after]);
    if (rows.length === 0) return;
    yield* rows;
    after = String(rows.at(-1)?.id);
  }
}

export async function* keysOf(session: Session, account: string): AsyncIterable<KeyRow> {
  for (let after = ''; ; ) {
    const rows = await session.query<KeyRow>(READ_KEYS, [account, after]);
    yield* rows;
    if (rows.length < BATCH_ROWS) return;
    after = String(rows.at(-1)?.key);
  }
}

function* batches<R extends MessageRow | KeyRow>(rows: Iterable<R>): Iterable<readonly R[]> {
  let batch: R[] = [];
  let bytes = 0;
  for (const row of rows) {
    batch.push(row);
    bytes += 'literal' in row ? Buffer.byteLength(row.literal) : 0;
    if (batch.length < BATCH_ROWS && bytes < BATCH_BYTES) continue;
    yield batch;
    [batch, bytes] = [[], 0];
  }
  if (batch.length > 0) yield batch;
}
