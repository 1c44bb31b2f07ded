import {LAPSE_ROWS, REVEALED_PER_CLAIMED} from '../rules.ts';
import {type ClaimQuery, type LeasedMessage, PAGE_BYTES, type StoreRules} from '../store.ts';
import {toMessage} from './read.ts';
import {CLOCK_SKEW_MS} from './session/schema.ts';
import type {Session} from './session/session.ts';

const backToQueue = (rows: string) => `
  WITH back AS (
    UPDATE messages SET lease = NULL, lease_until = NULL, available_at = NULL,
      status = CASE WHEN status = 'leased' AND attempts >= $1 THEN 'dead' ELSE 'waiting' END,
      finished_at = CASE WHEN status = 'leased' AND attempts >= $1 THEN $2::bigint END
    WHERE ctid = ANY(ARRAY(${rows} FOR UPDATE SKIP LOCKED))
    RETURNING 1)
  SELECT count(*) AS count FROM back`;
export const REVEAL = {
  name: 'reveal',
  text: backToQueue(
    'SELECT ctid FROM messages WHERE account = $3 AND available_at <= $2::bigint ORDER BY available_at LIMIT $4',
  ),
};
export const LAPSE = {
  name: 'lapse',
  text: backToQueue(`
    SELECT ctid FROM messages WHERE lease_until <= $2::bigint - ${CLOCK_SKEW_MS}
    ORDER BY lease_until LIMIT ${LAPSE_ROWS}`),
};
// Messages beyond the page stay locked until the transaction ends, and other claims skip them.
export const TAKE = {
  name: 'take',
  text: `
    WITH next AS MATERIALIZED (
      SELECT ctid AS place, id, bytes FROM messages
      WHERE account = $1 AND (status || id::text) > 'waiting' AND (status || id::text) < 'waitingg'
      ORDER BY (status || id::text) LIMIT $2 FOR UPDATE SKIP LOCKED),
    page AS (
      SELECT place FROM (
        SELECT place, row_number() OVER byId AS nth, sum(bytes) OVER byId AS total FROM next WINDOW byId AS (ORDER BY id)
      ) AS counted
      WHERE nth = 1 OR total <= ${PAGE_BYTES})
    UPDATE messages
    SET status = 'leased', attempts = attempts + 1, lease = gen_random_uuid(), lease_until = $3::bigint,
      available_at = $3::bigint + ${CLOCK_SKEW_MS}
    WHERE ctid = ANY(ARRAY(SELECT place FROM page))
    RETURNING id, status, created_at, attempts, reason, lease,
      (SELECT literal FROM bodies b WHERE b.account = messages.account AND b.id = messages.id) AS literal`,
};

export interface ClaimedBatch {
  readonly messages: readonly LeasedMessage[];
  readonly hasWritten: boolean;
}

/** Its cost depends only on what it returns. `now` is the database's time. */
export async function claim(
  session: Session,
  {account, limit, leaseMs}: ClaimQuery,
  {maxAttempts}: StoreRules,
  now: number,
): Promise<ClaimedBatch> {
  const until = now + leaseMs;
  const [revealed, rows] = await Promise.all([
    session.query(REVEAL, [maxAttempts, now, account, limit * REVEALED_PER_CLAIMED]),
    session.query(TAKE, [account, limit, until]),
  ]);
  const messages = rows
    .map(row => ({...toMessage(row), lease: String(row.lease), leaseUntil: until}))
    .sort((a, b) => (a.id < b.id ? -1 : 1));
  return {messages, hasWritten: messages.length > 0 || Number(revealed[0]?.count) > 0};
}

/** Ends at most LAPSE_ROWS expired leases of any account; returns how many. */
export async function lapse(session: Session, {maxAttempts}: StoreRules, now: number): Promise<number> {
  const [row] = await session.query(LAPSE, [maxAttempts, now]);
  return Number(row?.count);
}
