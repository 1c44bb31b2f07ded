/**
 * The interface of a message store, independent of its engine. Each operation resolves once its effect is durable, and
 * rejects with a StoreError if it had no effect or if that is unknown. Times are milliseconds since the epoch.
 */

export const MESSAGE_STATUSES = ['queued', 'leased', 'done', 'dead'] as const;

/**
 * - queued: waiting for a worker.
 * - leased: a worker has it until the lease expires.
 * - done: acknowledged by a worker; kept for the retention time.
 * - dead: given up after the configured number of attempts; kept for the retention time.
 */
export type MessageStatus = (typeof MESSAGE_STATUSES)[number];

export interface StoredMessage {
  /** A UUIDv7; ids of one account sort by arrival. */
  readonly id: string;
  /** Exactly as given, including lone surrogates and NUL. */
  readonly message: string;
  readonly status: MessageStatus;
  readonly createdAt: number;
  /** How often a worker has claimed it. */
  readonly attempts: number;
  /** The reason given by the last worker that returned it. */
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
  /** Digest of the request. The same key with another digest is a mismatch. */
  readonly fingerprint: string;
}

export type AppendOutcome =
  | {readonly kind: 'appended' | 'replayed'; readonly id: string; readonly createdAt: number}
  /** The idempotency key was used before, with another fingerprint. */
  | {readonly kind: 'mismatch'}
  /** The account's storage quota is used up. */
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
  /** There are more after the last one of this page. */
  readonly more: boolean;
}

export interface ClaimQuery {
  readonly account: string;
  readonly limit: number;
  readonly leaseMs: number;
}

/** A message that belongs to its claimer until `leaseUntil`, or its ack or nack. */
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
  /** When it can be claimed again. */
  readonly delayMs: number;
  readonly reason?: string;
}

export type SettleOutcome =
  | {readonly kind: 'settled'; readonly status: MessageStatus; readonly attempts: number}
  | {readonly kind: 'unknown-message'}
  /** The lease expired, or the message was returned. Another worker may have it. */
  | {readonly kind: 'lease-lost'};

/** The maximum bytes of messages in one page or claim, unless a single message is longer. */
export const PAGE_BYTES = 1 << 18;

export interface MessageStore {
  perform<K extends ClientOperation>(kind: K, given: Operations[K]['given']): Promise<Operations[K]['result']>;
  /**
   * Only of a store that several pods share: adds what this pod has allowed accounts to what the others have, and
   * returns in how many milliseconds each of their buckets will be full again. Undefined if it is down.
   */
  readonly spend?: (used: RateUsages) => Promise<RateUsages | undefined>;
  /** The store's abilities now, without I/O. */
  state(): StoreHealth;
  /** Finishes accepted operations; rejects later ones as down. */
  close(): Promise<void>;
}

/** The rules that every engine keeps. */
export interface StoreRules {
  /** How many times a message can be claimed before it is dead. */
  readonly maxAttempts: number;
  /** How much one account may store, in bytes as counted by cost.ts. */
  readonly accountBytes: number;
  readonly retention: RetentionOptions;
}

export interface RetentionOptions {
  readonly doneMs: number;
  readonly deadMs: number;
  readonly idempotencyMs: number;
}

/** An account's usage of its rate limits, in milliseconds of each rate. */
export interface RateUsage {
  readonly requests: number;
  readonly bytes: number;
  readonly answers: number;
}

/** By account. */
export type RateUsages = ReadonlyMap<string, RateUsage>;

/** For metrics. */
export type StoreObservation =
  | {readonly kind: 'batch'; readonly operations: number; readonly commitMs: number}
  | {
      readonly kind: 'sweep';
      readonly lapsed: number;
      readonly deleted: number;
      readonly backlog?: Backlog;
      readonly rows?: StoredRows | 'unknown';
    };

/** Rows of the messages table in PostgreSQL, as its statistics estimate them. */
export interface StoredRows {
  readonly live: number;
  /** Earlier versions of rows, and deleted ones, that were not removed yet. Each claim may have to skip them. */
  readonly dead: number;
}

/** The messages of all accounts that are neither done nor dead, as far as this pod knows them. */
export interface Backlog {
  /** These two are absent if they are unknown. PostgreSQL stops counting at a large number. */
  readonly queued?: number;
  readonly leased?: number;
  /** When the oldest was submitted; absent if there is none. */
  readonly oldestAt?: number | 'unknown';
}

/** Another pod knows it, or nobody does. */
export const UNKNOWN_BACKLOG: Backlog = {oldestAt: 'unknown'};

/**
 * - ok
 * - full: new messages are rejected. With SQLite, everything else works, so that workers can drain the queue. With
 *   PostgreSQL, only reading does for certain.
 * - down: nothing can be written; reading may work.
 */
export interface StoreHealth {
  readonly kind: 'ok' | 'full' | 'down';
  /** For people; absent if all is well. */
  readonly problem?: string;
}

/**
 * - full: no room, as in the state.
 * - busy: too much is waiting to be written; nothing was done.
 * - down: it could not be written (or read).
 * - unknown: whether it was done cannot be known now. An append with an idempotency key, or an ack, can be repeated.
 */
export type StoreRefusal = 'full' | 'busy' | 'down' | 'unknown';

export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly refusal: StoreRefusal;

  constructor(refusal: StoreRefusal, message: string, options?: ErrorOptions) {
    super(message, options);
    this.refusal = refusal;
  }
}

/** The operations of an engine, and their results: plain data, because it may be copied to another thread. */
export interface Operations {
  append: {readonly given: NewMessage; readonly result: AppendOutcome};
  get: {readonly given: {readonly account: string; readonly id: string}; readonly result: StoredMessage | undefined};
  list: {readonly given: ListQuery; readonly result: MessagePage};
  /** The oldest waiting messages, at most `limit`. No two claims ever hold the same message at a time. */
  claim: {readonly given: ClaimQuery; readonly result: readonly LeasedMessage[]};
  /** Marks the message as done. Can be repeated with the same lease, for workers that missed the response. */
  ack: {readonly given: LeaseRef; readonly result: SettleOutcome};
  /** Makes the message wait again, or marks it dead after its last attempt. */
  nack: {readonly given: Nack; readonly result: SettleOutcome};
  spend: {readonly given: {readonly used: RateUsages}; readonly result: RateUsages};
  /** `probe`: write in any case, to find out whether the disk is writable. */
  sweep: {readonly given: {readonly probe: boolean}; readonly result: SweepOutcome};
}

export type OperationKind = keyof Operations;
/** For clients' requests. The others are for the store itself. */
type ClientOperation = Exclude<OperationKind, 'spend' | 'sweep'>;

export type Operation = {
  readonly [K in OperationKind]: {readonly kind: K; readonly given: Operations[K]['given']};
}[OperationKind];

/** Operations that are sent to the engine together. It may commit several chunks in one transaction. */
export interface Chunk {
  readonly operations: readonly Operation[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export function isWrite({kind}: Operation): boolean {
  return kind !== 'get' && kind !== 'list';
}

export type OperationValue = Operations[OperationKind]['result'];

export interface SweepOutcome {
  /** Leases that had expired. */
  readonly lapsed: number;
  /** Messages beyond their retention time that were deleted. */
  readonly deleted: number;
  /** Absent if it was not read this time. */
  readonly backlog?: Backlog;
  /** Absent if they were not read this time, and with SQLite; unknown if another pod reads them, or nobody can. */
  readonly rows?: StoredRows | 'unknown';
  /** There is more to do: sweep again soon. */
  readonly more: boolean;
}

export type OperationResult =
  | {readonly ok: true; readonly value: OperationValue}
  | {readonly ok: false; readonly refusal: StoreRefusal; readonly problem: string};
