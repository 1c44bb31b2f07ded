import {keyCost, messageCost, SWEEP_BYTES, SWEEP_ROWS} from '../rules.ts';
import type {RetentionOptions} from '../store.ts';
import type {Transaction} from './transaction.ts';

interface Expired {
  readonly deleted: number;
  readonly more: boolean;
}

/** Deletes what is past its retention time. Must run inside a transaction. */
export function prepareRetention({db, usage, work}: Transaction, {doneMs, deadMs, idempotencyMs}: RetentionOptions) {
  const finished = db.prepare(`
    SELECT seq, account, bytes, ifnull(octet_length(reason), 0) AS reason_bytes FROM messages INDEXED BY messages_finished
    WHERE status = ? AND finished_at <= ? AND finished_at IS NOT NULL ORDER BY finished_at LIMIT ${SWEEP_ROWS}`);
  const deleteMessage = db.prepare('DELETE FROM messages WHERE seq = ?');
  const keys = db.prepare(`
    DELETE FROM idempotency WHERE (account, key) IN (
      SELECT account, key FROM idempotency INDEXED BY idempotency_by_age
      WHERE created_at <= ? ORDER BY created_at LIMIT ${SWEEP_ROWS}) RETURNING account, key`);

  /** Freeing a long message walks its pages, so bytes count as well as rows. */
  function deleteFinished(status: 'done' | 'dead', until: number): Expired {
    const rows = finished.all(status, until);
    let [deleted, freed] = [0, 0];
    for (const row of rows) {
      const [account, bytes] = [String(row.account), Number(row.bytes)];
      if (freed >= SWEEP_BYTES) return {deleted, more: true};
      deleteMessage.run(Number(row.seq));
      usage.add(account, -messageCost({account, bytes, reasonBytes: Number(row.reason_bytes)}));
      deleted += 1;
      freed += bytes;
    }
    return {deleted, more: rows.length === SWEEP_ROWS};
  }

  function forgetKeys(until: number): number {
    const rows = keys.all(until);
    for (const {account, key} of rows) usage.add(String(account), -keyCost(String(account), String(key)));
    return rows.length;
  }

  return (now: number): Expired => {
    const done = deleteFinished('done', now - doneMs);
    const dead = deleteFinished('dead', now - deadMs);
    const forgotten = forgetKeys(now - idempotencyMs);
    const deleted = done.deleted + dead.deleted;
    work.rows += deleted + forgotten;
    return {deleted, more: done.more || dead.more || forgotten === SWEEP_ROWS};
  };
}
