/** What both engines limit and decide alike. */
import {keyCost, messageCost} from './cost.ts';
import type {AppendOutcome, NewMessage, StoreRules} from './store.ts';

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

/** An idempotency key, as it was stored. */
interface KeptKey {
  readonly fingerprint: string;
  readonly id: string;
  readonly createdAt: number;
}

/** How much each account has stored, as a transaction has it. */
export interface Charges {
  of(account: string): number;
  /** `bytes` is negative for deletions. */
  add(account: string, bytes: number): void;
}

/** A message to store, as JSON, which was charged; otherwise, the outcome. */
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

/** Whether a message still belongs to whoever claimed it under this lease. */
export function isHeld(
  {status, lease, leaseUntil}: {readonly status: string; readonly lease: unknown; readonly leaseUntil: number},
  wanted: string,
  now: number,
): boolean {
  return lease === wanted && (status !== 'leased' || leaseUntil > now);
}

/** Charges for the reason in place of one with `before` bytes. Returns what is stored: nothing beyond the quota. */
export function chargeReason(
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
