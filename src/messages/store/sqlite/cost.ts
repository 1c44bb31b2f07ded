/**
 * What an account is charged for what it stores: the bytes of its own, as often as they stand in the table and its indexes,
 * and what SQLite and the other columns take. Close to what the file grows by; never less than half of it (cost.test.ts).
 * The migration in schema.ts counts the same.
 */

/** A row of messages with its index entries, beside account, message and reason. */
const MESSAGE_BYTES = 512;
/** The account stands in the row and in up to three indexes. */
const MESSAGE_ACCOUNTS = 4;
/** A row of idempotency with its index entry, beside account and key, which stand in both. */
const KEY_BYTES = 256;
const KEY_COPIES = 2;

export interface MessageCost {
  readonly account: string;
  /** Of the message as JSON. */
  readonly bytes: number;
  readonly reasonBytes: number;
}

export function messageCost({account, bytes, reasonBytes}: MessageCost): number {
  return MESSAGE_BYTES + MESSAGE_ACCOUNTS * Buffer.byteLength(account) + bytes + reasonBytes;
}

export function keyCost(account: string, key: string): number {
  return KEY_BYTES + KEY_COPIES * (Buffer.byteLength(account) + Buffer.byteLength(key));
}
