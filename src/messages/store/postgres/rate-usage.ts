/** The part of its rate limits that all pods together have let each account use. */
import type {RateUsage, RateUsages} from '../store.ts';
import {columnsOf, type Session} from './session/session.ts';

const NOW_MS = 'extract(epoch FROM now())::float8 * 1000';
const both = (kind: keyof RateUsage) => `${kind} = greatest(u.${kind}, ${NOW_MS}) + excluded.${kind} - ${NOW_MS}`;
// Sorted by the program, so that no two pods wait for each other.
export const SPEND = {
  name: 'spend',
  text: `
    INSERT INTO usage AS u (account, requests, bytes, answers)
    SELECT account, ${NOW_MS} + requests, ${NOW_MS} + bytes, ${NOW_MS} + answers
    FROM unnest($1::text[], $2::float8[], $3::float8[], $4::float8[]) AS used(account, requests, bytes, answers)
    ON CONFLICT (account) DO UPDATE SET ${both('requests')}, ${both('bytes')}, ${both('answers')}
    RETURNING account, requests - ${NOW_MS} AS requests, bytes - ${NOW_MS} AS bytes, answers - ${NOW_MS} AS answers`,
};
/** Rows of accounts whose buckets are full again. */
export const FORGET_USAGE = {
  name: 'forget-usage',
  text: `
    DELETE FROM usage WHERE ctid = ANY(ARRAY(
      SELECT ctid FROM usage WHERE greatest(requests, bytes, answers) <= ${NOW_MS} LIMIT 1000 FOR UPDATE SKIP LOCKED))`,
};

/**
 * Shorter than other time limits, but longer than lock_timeout: if SPEND, which waits for nothing else, has no answer by
 * then, the server is unreachable, and waiting longer for any other answer is useless.
 */
const SILENT_MS = 7000;

/**
 * Adds what this pod has allowed; returns in how many milliseconds each bucket will be full again. The table is not
 * logged, so this waits neither for the disk nor for a standby. After a crash or a failover, it is empty.
 */
export async function spend(session: Session, used: RateUsages): Promise<RateUsages> {
  const sorted = [...used].sort(([a], [b]) => (a < b ? -1 : 1)).map(([account, usage]) => ({account, ...usage}));
  const values = columnsOf(sorted, 'account', 'requests', 'bytes', 'answers');
  const rows = await session.query<RateUsage & {readonly account: string}>(SPEND, values, SILENT_MS);
  return new Map(rows.map(({account, ...usage}) => [account, usage]));
}
