import {StoreError, type StoreRefusal} from '../../store.ts';

/** By SQLSTATE. https://www.postgresql.org/docs/current/errcodes-appendix.html */
const REFUSALS: Readonly<Record<string, StoreRefusal>> = {
  '53100': 'full', // disk_full
  '40001': 'busy', // serialization_failure
  '40P01': 'busy', // deadlock_detected
  '55P03': 'busy', // lock_not_available: another session holds the lock
};

const READ_ONLY = '25006'; // read_only_sql_transaction

/** A failure of a transaction whose COMMIT was not sent: nothing was done. */
export function refused(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const {code = '', message = String(error)} = error as {code?: string; message?: string};
  return new StoreError(REFUSALS[code] ?? 'down', describe(code, message), {cause: error});
}

/** A failure once COMMIT was sent. */
export function unknownOutcome(error: unknown): StoreError {
  const {code = '', message = String(error)} = error as {code?: string; message?: string};
  return new StoreError('unknown', `no certain answer to COMMIT: ${describe(code, message)}`, {cause: error});
}

function describe(code: string, message: string): string {
  if (code === READ_ONLY) return 'the server is a standby: connect to the primary';
  return /^[0-9A-Z]{5}$/.test(code) ? `${message} (SQLSTATE ${code})` : message;
}
