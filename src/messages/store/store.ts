/**
 * What the service asks of whatever keeps the messages. Neutral to the engine: nothing here speaks of SQL, files or
 * threads. Each method resolves once its effect is durable, and rejects with a StoreError when it had none or when that
 * cannot be told. Times are milliseconds since the epoch.
 */

export const MESSAGE_STATUSES = ['queued', 'leased', 'done', 'dead'] as const;

/**
 * - queued: waits for a worker.
 * - leased: a worker has it until the lease runs out.
 * - done: acknowledged by a worker; kept for the retention time.
 * - dead: given up after the configured number of attempts; kept for the retention time.
 */
export type MessageStatus = (typeof MESSAGE_STATUSES)[number];

export interface StoredMessage {
  /** `msg_` and a UUIDv7; ids of one account sort as the messages came. */
  readonly id: string;
  /** To the character as it was given, lone surrogates and NUL included. */
  readonly message: string;
  readonly status: MessageStatus;
  readonly createdAt: number;
  /** How often a worker has claimed it. */
  readonly attempts: number;
  /** What the last worker that gave it back said. */
  readonly reason?: string;
}

export interface NewMessage {
  readonly account: string;
  readonly message: string;
  readonly idempotency?: Idempotency;
}

export interface Idempotency {
  /** Unique within the account, for the store's configured time. */
  readonly key: string;
  /** Digest of the request: the same key with another one is a mismatch. */
  readonly fingerprint: string;
}

export type AppendOutcome =
  | {readonly kind: 'appended' | 'replayed'; readonly id: string; readonly createdAt: number}
  /** The idempotency key was used before, with another fingerprint. */
  | {readonly kind: 'mismatch'}
  /** The account has as much stored as it may. */
  | {readonly kind: 'quota'};

export interface ListQuery {
  readonly account: string;
  readonly limit: number;
  /** Only messages younger than this id. */
  readonly after?: string;
  readonly status?: MessageStatus;
}

/** Oldest first. */
export interface MessagePage {
  readonly messages: readonly StoredMessage[];
  /** There are more, after the last one of this page. */
  readonly more: boolean;
}

export interface ClaimQuery {
  readonly account: string;
  readonly limit: number;
  readonly leaseMs: number;
}

/** A message that belongs to whoever claimed it, until `leaseUntil` or its ack or nack. */
export interface LeasedMessage extends StoredMessage {
  readonly lease: string;
  readonly leaseUntil: number;
}

/** Names one message of an account under one lease. */
export interface LeaseRef {
  readonly account: string;
  readonly id: string;
  readonly lease: string;
}

export interface Nack extends LeaseRef {
  /** Not to be claimed again before this time has passed. */
  readonly delayMs: number;
  readonly reason?: string;
}

export type SettleOutcome =
  | {readonly kind: 'settled'; readonly status: MessageStatus; readonly attempts: number}
  | {readonly kind: 'unknown-message'}
  /** The lease ran out, or the message was given back; somebody else may have it. */
  | {readonly kind: 'lease-lost'};

/** What one page or claim may hold, in bytes of messages, unless a single one is longer. */
export const PAGE_BYTES = 1 << 20;

export interface MessageStore {
  append(message: NewMessage): Promise<AppendOutcome>;
  get(account: string, id: string): Promise<StoredMessage | undefined>;
  list(query: ListQuery): Promise<MessagePage>;
  /** The oldest that wait, at most `limit`. No two claims ever hold one message at a time. */
  claim(query: ClaimQuery): Promise<readonly LeasedMessage[]>;
  /** The message is done. Repeating it under the same lease settles it again, for workers that missed the answer. */
  ack(ref: LeaseRef): Promise<SettleOutcome>;
  /** The message waits again, or is dead if that was its last attempt. */
  nack(nack: Nack): Promise<SettleOutcome>;
  /** What the store can do now; told without I/O. */
  state(): StoreHealth;
  /** Finishes what it has accepted; what comes later is refused as down. */
  close(): Promise<void>;
}

/**
 * - ok
 * - full: nothing new is accepted; everything else works, so that the queue can be emptied.
 * - down: nothing can be written; reading may work.
 */
export interface StoreHealth {
  readonly kind: 'ok' | 'full' | 'down';
  /** For people; absent when all is well. */
  readonly problem?: string;
}

/**
 * - full: no room, as in the state.
 * - busy: more is waiting to be written than the store takes in; nothing was done.
 * - down: it could not be written (or read).
 */
export type StoreRefusal = 'full' | 'busy' | 'down';

export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly refusal: StoreRefusal;

  constructor(refusal: StoreRefusal, message: string, options?: ErrorOptions) {
    super(message, options);
    this.refusal = refusal;
  }
}
