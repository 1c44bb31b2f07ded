/**
 * The charge of an account for stored data: its bytes, counted once for the table and each index that contains them,
 * plus the space of the engine and the other columns. Close to the growth of the database, and never less than half of
 * it (sqlite/cost.test.ts, and a test of the same name for PostgreSQL). The migration in sqlite/schema.ts counts the
 * same way.
 */

/** A row of messages with its index entries, without account, message, and reason. */
const MESSAGE_BYTES = 512;
/** The account is in the row and in up to three indexes. */
const MESSAGE_ACCOUNTS = 4;
/** A row of idempotency with its index entry, without account and key, which are in both. */
const KEY_BYTES = 256;
const KEY_COPIES = 2;

interface MessageCost {
  readonly account: string;
  /** The size of the message as JSON. */
  readonly bytes: number;
  readonly reasonBytes: number;
}

export function messageCost({account, bytes, reasonBytes}: MessageCost): number {
  return MESSAGE_BYTES + MESSAGE_ACCOUNTS * Buffer.byteLength(account) + bytes + reasonBytes;
}

export function keyCost(account: string, key: string): number {
  return KEY_BYTES + KEY_COPIES * (Buffer.byteLength(account) + Buffer.byteLength(key));
}
