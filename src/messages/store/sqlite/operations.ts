/** Requests from the service's thread to the database's thread: plain data, because it is copied. */
import type {
  AppendOutcome,
  ClaimQuery,
  LeasedMessage,
  LeaseRef,
  ListQuery,
  MessagePage,
  Nack,
  NewMessage,
  SettleOutcome,
  StoredMessage,
  StoreRefusal,
} from '../store.ts';

/** The input and the result of each kind of operation. */
export interface Operations {
  append: {readonly given: NewMessage; readonly result: AppendOutcome};
  get: {readonly given: {readonly account: string; readonly id: string}; readonly result: StoredMessage | undefined};
  list: {readonly given: ListQuery; readonly result: MessagePage};
  claim: {readonly given: ClaimQuery; readonly result: readonly LeasedMessage[]};
  ack: {readonly given: LeaseRef; readonly result: SettleOutcome};
  nack: {readonly given: Nack; readonly result: SettleOutcome};
  /** `probe`: write in any case, to find out whether the disk is writable. */
  sweep: {readonly given: {readonly probe: boolean}; readonly result: SweepOutcome};
}

export type OperationKind = keyof Operations;

export type Operation = {
  readonly [K in OperationKind]: {readonly kind: K; readonly given: Operations[K]['given']};
}[OperationKind];

/** Operations that are sent to the engine together. It may commit several chunks in one transaction. */
export interface Chunk {
  readonly operations: readonly Operation[];
  /** Their weight, from the size of their messages. */
  readonly bytes: number;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export type OperationValue = Operations[OperationKind]['result'];

export interface SweepOutcome {
  /** Leases that had expired. */
  readonly lapsed: number;
  /** Messages beyond their retention time that were deleted. */
  readonly deleted: number;
  /** There is more to do: sweep again soon. */
  readonly more: boolean;
}

export type OperationResult =
  | {readonly ok: true; readonly value: OperationValue}
  | {readonly ok: false; readonly refusal: StoreRefusal; readonly problem: string};

export interface BatchResult {
  /** In the order of the operations. All that was written is durable. */
  readonly results: readonly OperationResult[];
  /** Rows that the operations read or wrote; limited, see Work. */
  readonly rows: number;
  /** Bytes available for new messages; negative if new messages are rejected. */
  readonly room: number;
  /** Why the batch's writes were rolled back, if they were. */
  readonly failure?: Failure;
  /** Time from the start of the transaction until it was durable; 0 if nothing was written. */
  readonly commitMs: number;
}

/** To the thread: operations, or `close` when all have been answered. */
export type ThreadRequest = Chunk | 'close';

/** From the thread: first that the database is open, then results in the order of the operations. */
export type ThreadAnswer = 'open' | BatchResult;

export interface Failure {
  readonly refusal: 'full' | 'down';
  readonly problem: string;
}

/** The engine's options. */
export interface EngineOptions {
  /** The database file; its folder must exist. */
  readonly path: string;
  /** How often a message can be claimed before it is dead. */
  readonly maxAttempts: number;
  /** How much one account may store, in bytes as counted by cost.ts. */
  readonly accountBytes: number;
  /** Below this much free space, new messages are rejected; the rest is for draining the queue. */
  readonly reserveBytes: number;
  readonly retention: RetentionOptions;
}

export interface RetentionOptions {
  readonly doneMs: number;
  readonly deadMs: number;
  readonly idempotencyMs: number;
}
