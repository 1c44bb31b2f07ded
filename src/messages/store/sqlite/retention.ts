import type {DatabaseSync} from 'node:sqlite';
import type {AccountBytes} from './account-bytes.ts';
import type {RetentionOptions} from './operations.ts';

/** Rows that one sweep deletes at most, so that no commit waits long for it. */
const SWEEP_ROWS = 500;

export interface Expired {
  readonly deleted: number;
  readonly more: boolean;
}

/** Deletes what has been kept for its time. Must run inside a transaction. */
export function prepareRetention(
  db: DatabaseSync,
  usage: AccountBytes,
  {doneMs, deadMs, idempotencyMs}: RetentionOptions,
) {
  const messages = db.prepare(`
    DELETE FROM messages WHERE seq IN (
      SELECT seq FROM messages WHERE status = ? AND finished_at <= ? LIMIT ${SWEEP_ROWS}) RETURNING account, bytes`);
  const keys = db.prepare(`
    DELETE FROM idempotency WHERE (account, key) IN (
      SELECT account, key FROM idempotency WHERE created_at <= ? LIMIT ${SWEEP_ROWS})`);

  function deleteFinished(status: 'done' | 'dead', until: number): number {
    const rows = messages.all(status, until);
    for (const {account, bytes} of rows) usage.add(String(account), -Number(bytes));
    return rows.length;
  }

  return (now: number): Expired => {
    const counts = [deleteFinished('done', now - doneMs), deleteFinished('dead', now - deadMs)];
    const forgotten = Number(keys.run(now - idempotencyMs).changes);
    return {
      deleted: counts.reduce((sum, count) => sum + count, 0),
      more: [...counts, forgotten].some(count => count === SWEEP_ROWS),
    };
  };
}
