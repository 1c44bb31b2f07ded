/** Whether PostgreSQL has what SQLite has. */
import type {Session} from '../postgres/session/session.ts';
import {StoreError} from '../store.ts';
import type {KeyRow, MessageRow, Source} from './source.ts';
import {accountsOf, keysOf, messagesOf} from './target.ts';

/**
 * Whether a row may have become this one, or be gone if undefined, although no client has written. Rows that are equal
 * need no permission.
 */
interface Permissions {
  readonly message: (ours: MessageRow, theirs: MessageRow | undefined) => boolean;
  readonly key: (ours: KeyRow, theirs: KeyRow | undefined) => boolean;
}

/** After a migration, before anything was served. */
export const NO_CHANGE: Permissions = {message: () => false, key: () => false};

/**
 * The changes that the sweeps of pods make, and those of SQLite will make again. No client can delete anything, or
 * change a finished message. `now` as PostgreSQL has it: a lease that has not ended was given back by a client.
 */
export function sweptUntil(now: number): Permissions {
  return {
    message: (ours, theirs) => (theirs === undefined ? ours.finished_at !== null : hasLapsed(ours, theirs, now)),
    key: (_, theirs) => theirs === undefined,
  };
}

function hasLapsed(ours: MessageRow, theirs: MessageRow, now: number): boolean {
  if (ours.lease_until === null || Number(ours.lease_until) > now) return false;
  const {status, finished_at} = theirs;
  const isBack = status === 'waiting' || status === 'dead';
  return isBack && isEqual({...ours, lease: null, available_at: null, lease_until: null, finished_at, status}, theirs);
}

/** Rejects with a StoreError that says where they differ, and `why`. */
export async function compare(source: Source, session: Session, allowed: Permissions, why = ''): Promise<void> {
  const [wanted, found] = [source.accounts, await accountsOf(session)];
  if (wanted.join('\n') !== found.join('\n')) throw different(`${found.length} and ${wanted.length} accounts`, why);
  for (const account of wanted) {
    const message = await firstDifference(source.messages(account), messagesOf(session, account), allowed.message);
    if (message) throw different(`the message msg_${message.id} of ${account}`, why);
    const key = await firstDifference(source.keys(account), keysOf(session, account), allowed.key);
    if (key) throw different(`the idempotency key of msg_${key.id} of ${account}`, why);
  }
}

/** Both in the same order. */
async function firstDifference<R>(
  ours: Iterable<R>,
  theirs: AsyncIterable<R>,
  isAllowed: (ours: R, theirs: R | undefined) => boolean,
): Promise<R | undefined> {
  const rest = theirs[Symbol.asyncIterator]();
  let next = await rest.next();
  for (const row of ours) {
    const isThere = !next.done && (isEqual(row, next.value) || isAllowed(row, next.value));
    if (isThere) next = await rest.next();
    else if (!isAllowed(row, undefined)) return row;
  }
  return next.done ? undefined : next.value;
}

/** Their properties are in the same order. */
function isEqual(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function different(what: string, why: string): StoreError {
  return new StoreError('down', `PostgreSQL differs from SQLite (${what})${why}`);
}
