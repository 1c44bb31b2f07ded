/** Distinguishes a full disk from other failures of SQLite, because each calls for a different response. */
import type {Failure} from './thread-messages.ts';

/** SQLite's primary result codes, the low byte of an extended one. https://sqlite.org/rescode.html */
const SQLITE_FULL = 13;

/** COMMIT failed: when the log is read again, the transaction may be in it. */
export class CommitError extends Error {
  constructor(cause: unknown) {
    super('COMMIT failed', {cause});
  }
}

/** The meaning of an error of SQLite or the file system for writes. */
export function failureOf(error: unknown): Failure {
  if (error instanceof CommitError) return failureOf(error.cause);
  const {errcode, code, message} = error as {errcode?: number; code?: string; message?: string};
  const full = (errcode !== undefined && (errcode & 0xff) === SQLITE_FULL) || code === 'ENOSPC' || code === 'EDQUOT';
  const detail = errcode === undefined ? '' : ` (SQLite result ${errcode})`;
  return {refusal: full ? 'full' : 'down', problem: `${message ?? String(error)}${detail}`};
}
