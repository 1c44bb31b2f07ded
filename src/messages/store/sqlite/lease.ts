import {randomUUID} from 'node:crypto';
import type {DatabaseSync} from 'node:sqlite';
import type {ClaimQuery, LeasedMessage, LeaseRef, MessageStatus, Nack, SettleOutcome} from '../store.ts';
import {COLUMNS, PAGE_BYTES, type Row, toMessage} from './read.ts';

/** Each must run inside a transaction, and after `lapse` of the same moment: only then is every lease in force. */
export interface Leases {
  /** Takes back what workers have held beyond their lease; returns how many messages. */
  lapse(now: number): number;
  claim(query: ClaimQuery, now: number): readonly LeasedMessage[];
  ack(ref: LeaseRef, now: number): SettleOutcome;
  nack(nack: Nack, now: number): SettleOutcome;
}

export function prepareLeases(db: DatabaseSync, maxAttempts: number): Leases {
  const lapseAll = db.prepare(`
    UPDATE messages SET lease = NULL, lease_until = NULL, available_at = lease_until,
      status = iif(attempts >= :maxAttempts, 'dead', 'queued'), finished_at = iif(attempts >= :maxAttempts, :now, NULL)
    WHERE status = 'leased' AND lease_until <= :now`);
  const waiting = db.prepare(`
    SELECT seq, bytes FROM messages
    WHERE account = ? AND status = 'queued' AND available_at <= ? ORDER BY id`);
  const take = db.prepare(`
    UPDATE messages SET status = 'leased', attempts = attempts + 1, lease = ?, lease_until = ?
    WHERE seq = ? RETURNING ${COLUMNS}`);
  const find = db.prepare('SELECT seq, status, attempts, lease FROM messages WHERE account = ? AND id = ?');
  // The lease stays, so that an ack whose answer was lost can be repeated.
  const finish = db.prepare(`UPDATE messages SET status = 'done', lease_until = NULL, finished_at = ? WHERE seq = ?`);
  const giveBack = db.prepare(`
    UPDATE messages SET status = ?, lease = NULL, lease_until = NULL, available_at = ?, finished_at = ?, reason = ?
    WHERE seq = ?`);

  function held({account, id, lease}: LeaseRef): Row | 'unknown-message' | 'lease-lost' {
    const row = find.get(account, id);
    if (row === undefined) return 'unknown-message';
    return row.lease === lease ? row : 'lease-lost';
  }

  return {
    lapse: now => Number(lapseAll.run({maxAttempts, now}).changes),

    claim: ({account, limit, leaseMs}, now) => {
      const leaseUntil = now + leaseMs;
      const rows = upTo(waiting.iterate(account, now), limit);
      return rows.map(({seq}) => {
        const lease = randomUUID();
        const row = take.get(lease, leaseUntil, Number(seq));
        if (row === undefined) throw new Error(`message ${seq} is gone within the transaction that found it`);
        return {...toMessage(row), lease, leaseUntil};
      });
    },

    ack: (ref, now) => {
      const row = held(ref);
      if (typeof row === 'string') return {kind: row};
      if (row.status === 'leased') finish.run(now, Number(row.seq));
      return {kind: 'settled', status: 'done', attempts: Number(row.attempts)};
    },

    nack: ({delayMs, reason, ...ref}, now) => {
      const row = held(ref);
      if (typeof row === 'string') return {kind: row};
      if (row.status !== 'leased') return {kind: 'lease-lost'};
      const attempts = Number(row.attempts);
      const status: MessageStatus = attempts >= maxAttempts ? 'dead' : 'queued';
      giveBack.run(status, now + delayMs, status === 'dead' ? now : null, reason ?? null, Number(row.seq));
      return {kind: 'settled', status, attempts};
    },
  };
}

/** At most `limit` rows and one page of bytes, but one row at least. */
function upTo(rows: Iterable<Row>, limit: number): readonly Row[] {
  const taken: Row[] = [];
  let bytes = 0;
  for (const row of rows) {
    bytes += Number(row.bytes);
    if (taken.length === limit || (taken.length > 0 && bytes > PAGE_BYTES)) break;
    taken.push(row);
  }
  return taken;
}
