import {isMessageId} from '../message-id.ts';
import {
  type Backlog,
  type ListQuery,
  type MessagePage,
  type MessageStatus,
  PAGE_BYTES,
  type StoredMessage,
  type StoredRows,
} from '../store.ts';
import {idOf, uuidOf} from './accounts.ts';
import type {Row, Session} from './session/session.ts';
import {NOW} from './session/settings.ts';

const SHOWN = 'id, status, created_at, attempts, reason, bytes';
const LITERAL = '(SELECT literal FROM bodies b WHERE b.account = $1 AND b.id = m.id) AS literal';

const GET = {
  name: 'get',
  text: `SELECT ${SHOWN}, ${LITERAL} FROM messages m WHERE account = $1 AND id = $2`,
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
// One index range for each account, and indexes that contain only open messages.
export const BACKLOG = {
  name: 'backlog',
  text: `
    SELECT (SELECT count(*) FROM accounts a CROSS JOIN LATERAL (SELECT ${openOf('waiting')}) AS w) AS waiting,
      (SELECT count(*) FROM messages WHERE available_at IS NOT NULL) AS hidden,
      (SELECT count(*) FROM messages WHERE lease_until IS NOT NULL) AS leased,
      ${NOW} - (SELECT min(o.created_at) FROM accounts a CROSS JOIN LATERAL (
        ${oldestOf('waiting')} UNION ALL ${oldestOf('delayed')} UNION ALL ${oldestOf('leased')}) AS o) AS oldest_ms`,
};
export const ROWS = {
  name: 'rows',
  text: `
    SELECT pg_stat_get_live_tuples('messages'::regclass) AS live, pg_stat_get_dead_tuples('messages'::regclass) AS dead`,
};
const BACKLOG_LIMIT = 'SET statement_timeout = 3000';
// As settings.ts has it.
const NO_LIMIT = 'SET statement_timeout = 0';

const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';

export async function get(session: Session, account: string, id: string): Promise<StoredMessage | undefined> {
  if (!isMessageId(id)) return undefined;
  const rows = await session.query(GET, [account, uuidOf(id)]);
  return rows.map(toMessage)[0];
}

export async function list(session: Session, {account, limit, after, status}: ListQuery): Promise<MessagePage> {
  const values = [account, after === undefined ? BEFORE_ALL : uuidOf(after), limit + 1];
  const rows = await rowsOf(session, status, values);
  return {messages: rows.map(toMessage), more: Number(rows[0]?.found ?? 0) > rows.length};
}

/**
 * Undefined if the server does not answer in time: the connection stays usable. `now` as this pod has it: the age of the
 * oldest message is by the server's clock, whatever the pod's says.
 */
export async function readBacklog(session: Session, now: number): Promise<Backlog | undefined> {
  const [, counted] = await Promise.allSettled([
    session.query(BACKLOG_LIMIT),
    session.query(BACKLOG, []),
    session.query(NO_LIMIT),
  ]);
  const [row] = counted.status === 'fulfilled' ? counted.value : [];
  if (row === undefined) return undefined;
  const [waiting, hidden, leased] = [Number(row.waiting), Number(row.hidden), Number(row.leased)];
  const oldest = row.oldest_ms !== null && {oldestAt: now - Number(row.oldest_ms)};
  return {queued: waiting + hidden - leased, leased, ...oldest};
}

export async function readStoredRows(session: Session): Promise<StoredRows> {
  const [row] = await session.query(ROWS, []);
  return {live: Number(row?.live), dead: Number(row?.dead)};
}

function rowsOf(session: Session, status: MessageStatus | undefined, values: unknown[]): Promise<readonly Row[]> {
  if (status === undefined) return session.query(ALL, values);
  return status === 'queued' ? session.query(QUEUED, values) : session.query(SOME, [...values, status]);
}

export function toMessage({id, status, created_at, attempts, reason, literal}: Row): StoredMessage {
  return {
    id: idOf(id),
    message: JSON.parse(String(literal)),
    status: status === 'waiting' || status === 'delayed' ? 'queued' : (status as MessageStatus),
    createdAt: Number(created_at),
    attempts: Number(attempts),
    ...(reason !== null && {reason: JSON.parse(String(reason))}),
  };
}
