import {isMessageId} from '../message-id.ts';
import {type ListQuery, type MessagePage, type MessageStatus, PAGE_BYTES, type StoredMessage} from '../store.ts';
import {idOf, uuidOf} from './accounts.ts';
import type {Row, Session} from './session.ts';

const COLUMNS = 'id, status, created_at, attempts, reason, bytes';
const LITERAL = '(SELECT literal FROM bodies b WHERE b.account = $1 AND b.id = m.id) AS literal';

const GET = {
  name: 'get',
  text: `SELECT ${COLUMNS}, ${LITERAL} FROM messages m WHERE account = $1 AND id = $2`,
};

/** Reads one row more than the limit, without its body, to know whether there is more. */
function page(name: string, rows: string) {
  return {
    name,
    text: `
      WITH next AS MATERIALIZED (${rows})
      SELECT ${COLUMNS}, ${LITERAL}, (SELECT count(*) FROM next) AS found
      FROM (
        SELECT *, row_number() OVER byId AS nth, sum(bytes) OVER byId AS total FROM next WINDOW byId AS (ORDER BY id)
      ) AS m
      WHERE nth < $3 AND (nth = 1 OR total <= ${PAGE_BYTES}) ORDER BY id`,
  };
}

// No digit of an id is greater than f.
const ofStatus = (status: string) => `
  SELECT ${COLUMNS} FROM messages
  WHERE account = $1 AND (status || id::text) > ${status} || $2 AND (status || id::text) < ${status} || 'g'
  ORDER BY (status || id::text) LIMIT $3`;

export const ALL = page(
  'list',
  `SELECT ${COLUMNS} FROM messages WHERE account = $1 AND id > $2::uuid ORDER BY id LIMIT $3`,
);
export const SOME = page('list-status', ofStatus('$4::text'));
export const QUEUED = page(
  'list-queued',
  `SELECT * FROM ((${ofStatus(`'waiting'`)}) UNION ALL (${ofStatus(`'delayed'`)})) AS queued ORDER BY id LIMIT $3`,
);
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';

export async function get(session: Session, account: string, id: string): Promise<StoredMessage | undefined> {
  if (!isMessageId(id)) return undefined;
  const [row] = await session.query(GET, [account, uuidOf(id)]);
  return row && toMessage(row);
}

export async function list(session: Session, {account, limit, after, status}: ListQuery): Promise<MessagePage> {
  const values = [account, after === undefined ? BEFORE_ALL : uuidOf(after), limit + 1];
  const rows = await rowsOf(session, status, values);
  return {messages: rows.map(toMessage), more: Number(rows[0]?.found ?? 0) > rows.length};
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
