import {randomUUID} from 'node:crypto';
import {
  decideAck,
  decideNack,
  LAPSE_ROWS,
  REVEALED_PER_CLAIMED,
  type StoredRow,
  type StoredStatus,
  toMessage,
} from '../rules.ts';
import type {ClaimQuery, LeasedMessage, LeaseRef, Nack, SettleOutcome, StoreRules} from '../store.ts';
import {COLUMNS, upTo} from './read.ts';
import type {Transaction} from './transaction.ts';

/** The cost of each operation depends only on what it returns. Each must run inside a transaction. */
export function prepareLeases(
  {db, usage, work, backlog}: Transaction,
  rules: Pick<StoreRules, 'maxAttempts' | 'accountBytes'>,
) {
  const {maxAttempts} = rules;
  const isLastAttempt = `status = 'leased' AND attempts >= :maxAttempts`;
  const backToQueue = `
    UPDATE messages SET lease = NULL, available_at = NULL,
      status = iif(${isLastAttempt}, 'dead', 'waiting'), finished_at = iif(${isLastAttempt}, :now, NULL)`;
  const lapseOldest = db.prepare(`${backToQueue}
    WHERE seq IN (SELECT seq FROM messages INDEXED BY messages_leased
      WHERE status = 'leased' AND available_at <= :now ORDER BY available_at LIMIT ${LAPSE_ROWS})
    RETURNING status`);
  const hidden = db.prepare(`
    SELECT seq, status FROM messages INDEXED BY messages_hidden
    WHERE account = :account AND available_at <= :now ORDER BY available_at LIMIT :limit`);
  const reveal = db.prepare(`${backToQueue} WHERE seq = :seq RETURNING status`);
  const waiting = db.prepare(`
    SELECT seq, bytes FROM messages INDEXED BY messages_by_status
    WHERE account = ? AND status = 'waiting' ORDER BY id LIMIT ?`);
  const take = db.prepare(`
    UPDATE messages SET status = 'leased', attempts = attempts + 1, lease = :lease, available_at = :until
    WHERE seq = :seq RETURNING ${COLUMNS}`);
  const find = db.prepare(`
    SELECT seq, status, attempts, lease, available_at, ifnull(octet_length(reason), 0) AS reason_bytes
    FROM messages INDEXED BY messages_by_id WHERE account = ? AND id = ?`);
  const finish = db.prepare(`UPDATE messages SET status = 'done', available_at = NULL, finished_at = ? WHERE seq = ?`);
  const giveBack = db.prepare(`
    UPDATE messages SET status = ?, lease = NULL, available_at = ?, finished_at = ?, reason = ? WHERE seq = ?`);

  function found({account, id}: LeaseRef) {
    work.rows += 1;
    const row = find.get(account, id);
    return (
      row && {
        seq: Number(row.seq),
        status: row.status as StoredStatus,
        lease: row.lease,
        leaseUntil: Number(row.available_at),
        attempts: Number(row.attempts),
        reasonBytes: Number(row.reason_bytes),
      }
    );
  }

  return {
    /** Ends at most LAPSE_ROWS expired leases; returns how many. */
    lapse: (now: number): number => {
      const lapsed = lapseOldest.all({maxAttempts, now});
      for (const {status} of lapsed) backlog.move('leased', status as StoredStatus);
      work.rows += lapsed.length;
      return lapsed.length;
    },

    claim: ({account, limit, leaseMs}: ClaimQuery, now: number): readonly LeasedMessage[] => {
      const revealed = hidden.all({now, account, limit: limit * REVEALED_PER_CLAIMED});
      for (const {seq, status} of revealed) {
        const after = reveal.get({maxAttempts, now, seq: Number(seq)});
        backlog.move(status as StoredStatus, after?.status as StoredStatus);
      }
      work.rows += revealed.length;
      const until = now + leaseMs;
      return upTo(limit, waiting.iterate(account, limit)).rows.map(({seq, bytes}) => {
        const lease = randomUUID();
        const row = take.get({lease, until, seq: Number(seq)});
        if (row === undefined) throw new Error(`message ${seq} is gone within the transaction that found it`);
        work.add(1, Number(bytes));
        backlog.move('waiting', 'leased');
        return {...toMessage(row as unknown as StoredRow), lease, leaseUntil: until};
      });
    },

    ack: (ref: LeaseRef, now: number): SettleOutcome => {
      const message = found(ref);
      const {outcome, change} = decideAck(message, ref, now);
      if (message && change) {
        finish.run(now, message.seq);
        backlog.move('leased', change);
      }
      return outcome;
    },

    nack: (nack: Nack, now: number): SettleOutcome => {
      const message = found(nack);
      const {outcome, change} = decideNack(message, nack, usage, rules, now);
      if (message && change) {
        const {status, availableAt, finishedAt, reason} = change;
        giveBack.run(status, availableAt, finishedAt, reason, message.seq);
        backlog.move('leased', status);
      }
      return outcome;
    },
  };
}
