import {randomUUID} from 'node:crypto';
import type {DatabaseSync} from 'node:sqlite';
import {chargeReason, isHeld, LAPSE_ROWS, REVEALED_PER_CLAIMED} from '../rules.ts';
import type {ClaimQuery, LeasedMessage, LeaseRef, MessageStatus, Nack, SettleOutcome, StoreRules} from '../store.ts';
import type {AccountBytes} from './account-bytes.ts';
import type {BacklogCounter} from './backlog.ts';
import {COLUMNS, type Row, toMessage, upTo} from './read.ts';
import type {Work} from './work.ts';

/** The cost of each depends only on what it returns. Each must run inside a transaction. */
export interface Leases {
  /** Ends at most LAPSE_ROWS expired leases; returns how many. */
  lapse(now: number): number;
  claim(query: ClaimQuery, now: number): readonly LeasedMessage[];
  ack(ref: LeaseRef, now: number): SettleOutcome;
  nack(nack: Nack, now: number): SettleOutcome;
}

export function prepareLeases(
  db: DatabaseSync,
  usage: AccountBytes,
  rules: Pick<StoreRules, 'maxAttempts' | 'accountBytes'>,
  work: Work,
  backlog: BacklogCounter,
): Leases {
  const {maxAttempts} = rules;
  const isLastAttempt = `status = 'leased' AND attempts >= :maxAttempts`;
  const backToQueue = `
    UPDATE messages SET lease = NULL, lease_until = NULL, available_at = 0,
      status = iif(${isLastAttempt}, 'dead', 'queued'), finished_at = iif(${isLastAttempt}, :now, NULL)`;
  const lapseOldest = db.prepare(`${backToQueue}
    WHERE seq IN (SELECT seq FROM messages INDEXED BY messages_leased
      WHERE status = 'leased' AND lease_until <= :now ORDER BY lease_until LIMIT ${LAPSE_ROWS})
    RETURNING status`);
  const hidden = db.prepare(`
    SELECT seq, status FROM messages INDEXED BY messages_hidden
    WHERE account = :account AND status IN ('queued', 'leased') AND available_at > 0 AND available_at <= :now
    ORDER BY available_at LIMIT :limit`);
  const reveal = db.prepare(`${backToQueue} WHERE seq = :seq RETURNING status`);
  // By seq, which orders an account's ids and is in every index at no cost.
  const waiting = db.prepare(`
    SELECT seq, bytes FROM messages INDEXED BY messages_waiting
    WHERE account = ? AND status = 'queued' AND available_at = 0 ORDER BY seq LIMIT ?`);
  const take = db.prepare(`
    UPDATE messages SET status = 'leased', attempts = attempts + 1, lease = :lease,
      lease_until = :until, available_at = :until
    WHERE seq = :seq RETURNING ${COLUMNS}`);
  const find = db.prepare(`
    SELECT seq, status, attempts, lease, lease_until, ifnull(octet_length(reason), 0) AS reason_bytes
    FROM messages WHERE account = ? AND id = ?`);
  // The lease stays, so that an ack whose response was lost can be repeated.
  const finish = db.prepare(`UPDATE messages SET status = 'done', lease_until = NULL, finished_at = ? WHERE seq = ?`);
  const giveBack = db.prepare(`
    UPDATE messages SET status = ?, lease = NULL, lease_until = NULL, available_at = ?, finished_at = ?, reason = ?
    WHERE seq = ?`);

  function held({account, id, lease}: LeaseRef, now: number): Row | 'unknown-message' | 'lease-lost' {
    work.rows += 1;
    const row = find.get(account, id);
    if (row === undefined) return 'unknown-message';
    const held = {status: String(row.status), lease: row.lease, leaseUntil: Number(row.lease_until)};
    return isHeld(held, lease, now) ? row : 'lease-lost';
  }

  return {
    lapse: now => {
      const lapsed = lapseOldest.all({maxAttempts, now});
      for (const {status} of lapsed) backlog.move('leased', status as MessageStatus);
      work.rows += lapsed.length;
      return lapsed.length;
    },

    claim: ({account, limit, leaseMs}, now) => {
      const revealed = hidden.all({now, account, limit: limit * REVEALED_PER_CLAIMED});
      for (const {seq, status} of revealed) {
        const after = reveal.get({maxAttempts, now, seq: Number(seq)});
        backlog.move(status as MessageStatus, after?.status as MessageStatus);
      }
      work.rows += revealed.length;
      const until = now + leaseMs;
      return upTo(limit, waiting.iterate(account, limit)).rows.map(({seq, bytes}) => {
        const lease = randomUUID();
        const row = take.get({lease, until, seq: Number(seq)});
        if (row === undefined) throw new Error(`message ${seq} is gone within the transaction that found it`);
        work.add(1, Number(bytes));
        backlog.move('queued', 'leased');
        return {...toMessage(row), lease, leaseUntil: until};
      });
    },

    ack: (ref, now) => {
      const row = held(ref, now);
      if (typeof row === 'string') return {kind: row};
      if (row.status === 'leased') {
        finish.run(now, Number(row.seq));
        backlog.move('leased', 'done');
      }
      return {kind: 'settled', status: 'done', attempts: Number(row.attempts)};
    },

    nack: ({delayMs, reason, ...ref}, now) => {
      const row = held(ref, now);
      if (typeof row === 'string') return {kind: row};
      if (row.status !== 'leased') return {kind: 'lease-lost'};
      const attempts = Number(row.attempts);
      const status: MessageStatus = attempts >= maxAttempts ? 'dead' : 'queued';
      const availableAt = delayMs === 0 ? 0 : now + delayMs;
      const kept = chargeReason(ref.account, reason ?? null, Number(row.reason_bytes), usage, rules);
      giveBack.run(status, availableAt, status === 'dead' ? now : null, kept, Number(row.seq));
      backlog.move('leased', status);
      return {kind: 'settled', status, attempts};
    },
  };
}
