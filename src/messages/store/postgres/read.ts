import {type StoredRow, toMessage} from '../rules.ts';
import {
  type Backlog,
  type ListQuery,
  type MessagePage,
  type MessageStatus,
  PAGE_BYTES,
  type StoredMessage,
  type StoredRows,
} from '../store.ts';
import type {Row, Session} from './session/session.ts';
import {NOW} from './session/settings.ts';
import type {Statement} from './session/statement-group.ts';

const SHOWN = 'id, status, created_at, attempts, reason, bytes';
const LITERAL = '(SELECT literal FROM bodies b WHERE b.account = $1 AND b.id = m.id) AS literal';

/**
 * The conditions for one message `m`, by the primary key. With `id =`, a plan from when the table was small may use the
 * other index that begins with the account, and then each execution reads all of the account's messages. Only the
 * primary key has the order of ids.
 */
export const isMessage = (account: string, id: string) =>
  `m.account = ${account} AND m.id >= ${id} AND m.id <= ${id} ORDER BY m.id LIMIT 1`;

export const GET = {
  name: 'get',
  text: `SELECT ${SHOWN}, ${LITERAL} FROM messages m WHERE ${isMessage('$1', '$2::uuid')}`,
};

/** Reads one row more than the limit, without its body, to know whether there is more. */
function page(name: string, rows: string) {
  return {
    name,
    text: `
      WITH next AS MATERIALIZED (${rows})
      SELECT ${SHOWN}, ${LITERAL}, (SELECT count(*) FROM next) AS found
      FROM (
        SELECT *, row_number() OVER byId AS nth, sum(bytes) OVER byId AS total FROM next WINDOW byId AS (ORDER BY id)
      ) AS m
      WHERE nth < $3 AND (nth = 1 OR total <= ${PAGE_BYTES}) ORDER BY id`,
  };
}

// No digit of an id is greater than f.
const ofStatus = (status: string) => `
  SELECT ${SHOWN} FROM messages
  WHERE account = $1 AND (status || id::text) > ${status} || $2 AND (status || id::text) < ${status} || 'g'
  ORDER BY (status || id::text) LIMIT $3`;

export const ALL = page(
  'list',
  `SELECT ${SHOWN} FROM messages WHERE account = $1 AND id > $2::uuid ORDER BY id LIMIT $3`,
);
export const SOME = page('list-status', ofStatus('$4::text'));
export const QUEUED = page(
  'list-queued',
  `SELECT * FROM ((${ofStatus(`'waiting'`)}) UNION ALL (${ofStatus(`'delayed'`)})) AS queued ORDER BY id LIMIT $3`,
);

/** Of an account in `a`, in the order of their ids. */
const openOf = (status: string) => `
  FROM messages m WHERE m.account = a.account AND (status || id::text) > '${status}' AND (status || id::text) < '${status}g'`;
const oldestOf = (status: string) => `(SELECT created_at ${openOf(status)} ORDER BY (status || id::text) LIMIT 1)`;
// Three messages of each account, so that no backlog is too long for it.
export const OLDEST = {
  name: 'oldest',
  text: `
    SELECT ${NOW} - min(o.created_at) AS age_ms FROM accounts a CROSS JOIN LATERAL (
      ${oldestOf('waiting')} UNION ALL ${oldestOf('delayed')} UNION ALL ${oldestOf('leased')}) AS o`,
};
/** Up to $1 of each. */
export const COUNT = {
  name: 'count',
  text: `
    SELECT
      (SELECT count(*) FROM (
        SELECT 1 FROM accounts a
        CROSS JOIN LATERAL (SELECT 1 ${openOf('waiting')} UNION ALL SELECT 1 ${openOf('delayed')}) AS o
        LIMIT $1) AS counted) AS queued,
      (SELECT count(*) FROM (SELECT 1 FROM messages WHERE lease_until IS NOT NULL LIMIT $1) AS counted) AS leased`,
};
/** One account can store millions of messages. Counting all of them would take too long. */
const COUNTED = 500_000;
export const ROWS = {
  name: 'rows',
  text: `
    SELECT pg_stat_get_live_tuples('messages'::regclass) AS live, pg_stat_get_dead_tuples('messages'::regclass) AS dead`,
};
/** Of each statement about the backlog. A server that is silent for 5 s counts as unresponsive. */
const TIME_LIMIT = 'SET statement_timeout = 1500';
// As settings.ts has it.
const NO_LIMIT = 'SET statement_timeout = 0';

const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';

export async function get(session: Session, account: string, id: string): Promise<StoredMessage | undefined> {
  const [row] = await session.query<StoredRow>(GET, [account, id]);
  return row && toMessage(row);
}

export async function list(session: Session, {account, limit, after, status}: ListQuery): Promise<MessagePage> {
  const values = [account, after ?? BEFORE_ALL, limit + 1];
  const rows = await rowsOf(session, status, values);
  return {messages: rows.map(toMessage), more: (rows[0]?.found ?? 0) > rows.length};
}

/** `now` as this pod has it: the age of the oldest message is by the server's clock, whatever the pod's says. */
export async function readBacklog(session: Session, now: number): Promise<Backlog> {
  const [oldest, counted] = await Promise.all([readInTime(session, OLDEST), readInTime(session, COUNT, [COUNTED])]);
  return {
    ...(counted && {queued: Number(counted.queued), leased: Number(counted.leased)}),
    ...(oldest?.age_ms !== null && {oldestAt: oldest ? now - Number(oldest.age_ms) : 'unknown'}),
  };
}

/** One row; undefined if the server does not answer in time: the connection stays usable. */
async function readInTime(session: Session, statement: Statement, values: unknown[] = []): Promise<Row | undefined> {
  const [, read] = await Promise.allSettled([
    session.query(TIME_LIMIT),
    session.query(statement, values),
    session.query(NO_LIMIT),
  ]);
  return read.status === 'fulfilled' ? read.value[0] : undefined;
}

export async function readStoredRows(session: Session): Promise<StoredRows> {
  const [row] = await session.query<StoredRows>(ROWS);
  return row ?? {live: 0, dead: 0};
}

type PageRow = StoredRow & {readonly found: number};

function rowsOf(session: Session, status: MessageStatus | undefined, values: unknown[]): Promise<readonly PageRow[]> {
  if (status === undefined) return session.query(ALL, values);
  return status === 'queued' ? session.query(QUEUED, values) : session.query(SOME, [...values, status]);
}
