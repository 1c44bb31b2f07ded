import {keyCost, LAPSE_ROWS, messageCost, SWEEP_BYTES, SWEEP_ROWS} from '../rules.ts';
import {type RetentionOptions, type StoreRules, type SweepOutcome, UNKNOWN_BACKLOG} from '../store.ts';
import {Accounts, withAccounts} from './accounts.ts';
import {lapse} from './lease.ts';
import {FORGET_USAGE} from './rate-usage.ts';
import {isMessage} from './read.ts';
import {LOCKS} from './session/schema.ts';
import {columnsOf, type Session} from './session/session.ts';
import {NOW} from './session/settings.ts';

// The same pod for as long as its connection lasts, so that only one pod has the metrics of the backlog.
const MINE = {name: 'sweep-lock', text: `SELECT pg_try_advisory_lock(${LOCKS.sweep}) AS mine, ${NOW} AS now`};
export const FINISHED = {
  name: 'finished',
  text: `
    SELECT account, id, bytes FROM messages
    WHERE status = $1 AND finished_at <= $2 AND finished_at IS NOT NULL ORDER BY finished_at LIMIT ${SWEEP_ROWS}`,
};
export const OLD_KEYS = {
  name: 'old-keys',
  text: `SELECT account, key FROM idempotency WHERE created_at <= $1 ORDER BY created_at LIMIT ${SWEEP_ROWS}`,
};
export const DELETE_MESSAGES = {
  name: 'delete-messages',
  text: `
    DELETE FROM messages WHERE ctid = ANY(ARRAY(
      SELECT m.place FROM unnest($1::text[], $2::uuid[]) AS old(account, id) CROSS JOIN LATERAL (
        SELECT ctid AS place, finished_at FROM messages m
        WHERE ${isMessage('old.account', 'old.id')} FOR UPDATE SKIP LOCKED) m
      WHERE m.finished_at IS NOT NULL))
    RETURNING account, id, bytes, coalesce(octet_length(reason), 0) AS "reasonBytes"`,
};
export const DELETE_BODIES = {
  name: 'delete-bodies',
  text: `
    DELETE FROM bodies WHERE ctid = ANY(ARRAY(
      SELECT b.place FROM unnest($1::text[], $2::uuid[]) AS old(account, id) CROSS JOIN LATERAL (
        SELECT ctid AS place FROM bodies b WHERE b.account = old.account AND b.id = old.id LIMIT 1) b))`,
};
// A key that has been used again in the meantime has not expired.
export const DELETE_KEYS = {
  name: 'delete-keys',
  text: `
    DELETE FROM idempotency WHERE ctid = ANY(ARRAY(
      SELECT k.place FROM unnest($1::text[], $2::text[]) AS old(account, key) CROSS JOIN LATERAL (
        SELECT ctid AS place FROM idempotency k
        WHERE k.account = old.account AND k.key = old.key AND created_at <= $3 LIMIT 1) k))
    RETURNING account, key`,
};

const NOTHING: SweepOutcome = {lapsed: 0, deleted: 0, more: false};
const ELSEWHERE: SweepOutcome = {...NOTHING, backlog: UNKNOWN_BACKLOG, rows: 'unknown'};

/**
 * One bounded step: ends leases, and deletes what is past its retention time. Does nothing if another pod does it.
 * Two transactions, because leases lock messages before accounts.
 */
export async function sweep(session: Session, rules: StoreRules): Promise<SweepOutcome> {
  const begun = await session.commit(
    () => mine(session),
    async now => {
      if (now === undefined) return {value: undefined, promises: false};
      const [lapsed] = await Promise.all([lapse(session, rules, now), session.query(FORGET_USAGE)]);
      return {value: {now, lapsed}, promises: lapsed > 0};
    },
  );
  if (begun === undefined) return ELSEWHERE;
  const {now, lapsed} = begun;
  const expired = await withAccounts(session, () => expire(session, rules.retention, now));
  return {lapsed, deleted: expired.deleted, more: expired.more || lapsed === LAPSE_ROWS};
}

/** The database's time; undefined if another pod has the lock. */
async function mine(session: Session): Promise<number | undefined> {
  const [row] = await session.query<{readonly mine: boolean; readonly now: number}>(MINE, []);
  return row?.mine ? row.now : undefined;
}

interface OldMessage {
  readonly account: string;
  readonly id: string;
  readonly bytes: number;
}

interface OldKey {
  readonly account: string;
  readonly key: string;
}

interface Old {
  readonly messages: readonly OldMessage[];
  readonly keys: readonly OldKey[];
  readonly accounts: Accounts;
  readonly more: boolean;
}

function expire(session: Session, retention: RetentionOptions, now: number): Promise<SweepOutcome> {
  return session.commit(
    () => findOld(session, retention, now),
    async old => {
      if (old.messages.length + old.keys.length === 0) return {value: NOTHING, promises: false};
      const deleted = await deleteOld(session, old, retention, now);
      return {value: {lapsed: 0, deleted, more: old.more}, promises: true};
    },
  );
}

async function findOld(session: Session, {doneMs, deadMs, idempotencyMs}: RetentionOptions, now: number): Promise<Old> {
  const [done, dead, keys] = await Promise.all([
    session.query<OldMessage>(FINISHED, ['done', now - doneMs]),
    session.query<OldMessage>(FINISHED, ['dead', now - deadMs]),
    session.query<OldKey>(OLD_KEYS, [now - idempotencyMs]),
  ]);
  const found = [...done, ...dead];
  const messages = upTo(found);
  const accounts = await Accounts.lock(session, new Set([...messages, ...keys].map(({account}) => account)));
  const more = messages.length < found.length || [done, dead, keys].some(({length}) => length === SWEEP_ROWS);
  return {messages, keys, accounts, more};
}

async function deleteOld(session: Session, old: Old, {idempotencyMs}: RetentionOptions, now: number): Promise<number> {
  const {accounts} = old;
  const [messages, keys] = await Promise.all([
    session.query<OldMessage & {reasonBytes: number}>(DELETE_MESSAGES, columnsOf(old.messages, 'account', 'id')),
    session.query<OldKey>(DELETE_KEYS, [...columnsOf(old.keys, 'account', 'key'), now - idempotencyMs]),
  ]);
  for (const message of messages) accounts.add(message.account, -messageCost(message));
  for (const {account, key} of keys) accounts.add(account, -keyCost(account, key));
  session.send(DELETE_BODIES, columnsOf(messages, 'account', 'id'));
  accounts.save(session);
  return messages.length;
}

/** At least one row. Deleting a long message costs by its bytes. */
function upTo(rows: readonly OldMessage[]): readonly OldMessage[] {
  let bytes = 0;
  const end = rows.findIndex(row => {
    const isFull = bytes >= SWEEP_BYTES;
    bytes += row.bytes;
    return isFull;
  });
  return end === -1 ? rows : rows.slice(0, end);
}
