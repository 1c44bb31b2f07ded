/**
 * The limits and decisions that both engines share. An account is charged for the bytes of its stored data, once for the
 * table and once for each index that contains them, and for the space of the engine and the other columns. The charge is
 * close to the growth of the database, and never less than half of it (cost.test.ts of each engine).
 */
import type {
  AppendOutcome,
  LeaseRef,
  MessageStatus,
  Nack,
  NewMessage,
  SettleOutcome,
  StoredMessage,
  StoreRules,
} from './store.ts';

/** The most rows and bytes of messages in a transaction, so that no account waits long for another's. */
export const BATCH_ROWS = 512;
export const BATCH_BYTES = 4 << 20;
/** The most leases that one sweep ends, so that no commit waits long for it. */
export const LAPSE_ROWS = 200;
/** The most rows of each kind, and approximate bytes, that one sweep deletes. */
export const SWEEP_ROWS = 200;
export const SWEEP_BYTES = 4 << 20;
/**
 * The most messages whose delay or lease has ended that a claim makes available, per message that it may return. More
 * than one, so that claims catch up. The claim or nack that hid each one has paid for it.
 */
export const REVEALED_PER_CLAIMED = 2;

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
  /** The same of the reason. */
  readonly reasonBytes: number;
}

export function messageCost({account, bytes, reasonBytes}: MessageCost): number {
  return MESSAGE_BYTES + MESSAGE_ACCOUNTS * Buffer.byteLength(account) + bytes + reasonBytes;
}

export function keyCost(account: string, key: string): number {
  return KEY_BYTES + KEY_COPIES * (Buffer.byteLength(account) + Buffer.byteLength(key));
}

/** A queued message is `waiting`, or `delayed` until a time. */
export type StoredStatus = 'waiting' | 'delayed' | Exclude<MessageStatus, 'queued'>;

/** The columns of a message that clients see. Texts are JSON string literals. */
export interface StoredRow {
  readonly id: string;
  readonly status: StoredStatus;
  readonly created_at: number;
  readonly attempts: number;
  readonly reason: string | null;
  readonly literal: string;
}

export function toMessage({id, status, created_at, attempts, reason, literal}: StoredRow): StoredMessage {
  return {
    id,
    message: JSON.parse(literal),
    status: shownStatus(status),
    createdAt: created_at,
    attempts,
    ...(reason !== null && {reason: JSON.parse(reason)}),
  };
}

export function shownStatus(status: StoredStatus): MessageStatus {
  return status === 'waiting' || status === 'delayed' ? 'queued' : status;
}

/** An idempotency key, as it was stored. */
interface KeptKey {
  readonly fingerprint: string;
  readonly id: string;
  readonly createdAt: number;
}

/** How much each account has stored, as a transaction sees it. */
export interface Charges {
  of(account: string): number;
  /** `bytes` is negative for deletions. */
  add(account: string, bytes: number): void;
}

/** A message to store, as JSON, for which its account was charged; otherwise, the outcome. */
type Decision =
  | Exclude<AppendOutcome, {readonly kind: 'appended'}>
  | {readonly kind: 'new'; readonly literal: string; readonly bytes: number};

/** `kept`: its idempotency key, if it was used before. */
export function decideAppend(
  {account, message, idempotency}: NewMessage,
  kept: KeptKey | undefined,
  charges: Charges,
  {accountBytes, retention}: StoreRules,
  now: number,
): Decision {
  if (idempotency && kept && kept.createdAt > now - retention.idempotencyMs) {
    if (kept.fingerprint !== idempotency.fingerprint) return {kind: 'mismatch'};
    return {kind: 'replayed', id: kept.id, createdAt: kept.createdAt};
  }
  const literal = JSON.stringify(message);
  const bytes = Buffer.byteLength(literal);
  const forKey = idempotency && !kept ? keyCost(account, idempotency.key) : 0;
  const cost = messageCost({account, bytes, reasonBytes: 0}) + forKey;
  if (charges.of(account) + cost > accountBytes) return {kind: 'quota'};
  charges.add(account, cost);
  return {kind: 'new', literal, bytes};
}

/** A message as a transaction sees it. */
interface Found {
  readonly status: StoredStatus;
  readonly lease: unknown;
  readonly leaseUntil: number;
  readonly attempts: number;
  /** The size of the reason as JSON. */
  readonly reasonBytes: number;
}

/** The answer to an ack or a nack, and what it changes, if anything. */
interface Settlement<Change> {
  readonly outcome: SettleOutcome;
  readonly change?: Change;
}

/** A message that was given back. It has no lease anymore. */
export interface GivenBack {
  readonly status: 'waiting' | 'delayed' | 'dead';
  readonly availableAt: number | null;
  readonly finishedAt: number | null;
  /** As JSON. */
  readonly reason: string | null;
}

/** The lease of a finished message stays, so that an ack whose response was lost can be repeated. */
export function decideAck(found: Found | undefined, {lease}: LeaseRef, now: number): Settlement<'done'> {
  if (!isHeld(found, lease, now)) return lost(found);
  const outcome = {kind: 'settled', status: 'done', attempts: found.attempts} as const;
  return {outcome, ...(found.status === 'leased' && {change: 'done'})};
}

export function decideNack(
  found: Found | undefined,
  {account, lease, delayMs, reason}: Nack,
  charges: Charges,
  rules: Pick<StoreRules, 'maxAttempts' | 'accountBytes'>,
  now: number,
): Settlement<GivenBack> {
  if (!isHeld(found, lease, now) || found.status !== 'leased') return lost(found);
  const {attempts, reasonBytes} = found;
  const isDead = attempts >= rules.maxAttempts;
  const status = isDead ? 'dead' : delayMs === 0 ? 'waiting' : 'delayed';
  const literal = reason === undefined ? null : JSON.stringify(reason);
  return {
    outcome: {kind: 'settled', status: shownStatus(status), attempts},
    change: {
      status,
      availableAt: status === 'delayed' ? now + delayMs : null,
      finishedAt: isDead ? now : null,
      reason: chargeReason(account, literal, reasonBytes, charges, rules),
    },
  };
}

/** Whether a message still belongs to whoever claimed it under this lease. */
function isHeld(found: Found | undefined, lease: string, now: number): found is Found {
  return found !== undefined && found.lease === lease && (found.status !== 'leased' || found.leaseUntil > now);
}

function lost(found: Found | undefined): {readonly outcome: SettleOutcome} {
  return {outcome: {kind: found ? 'lease-lost' : 'unknown-message'}};
}

/** Charges for the reason in place of one with `before` bytes. Returns what is stored: nothing beyond the quota. */
function chargeReason(
  account: string,
  reason: string | null,
  before: number,
  charges: Charges,
  {accountBytes}: Pick<StoreRules, 'accountBytes'>,
): string | null {
  const more = Buffer.byteLength(reason ?? '') - before;
  const fits = more <= 0 || charges.of(account) + more <= accountBytes;
  charges.add(account, fits ? more : -before);
  return fits ? reason : null;
}
