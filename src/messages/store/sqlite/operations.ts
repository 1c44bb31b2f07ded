/** What the service's thread asks of the database's: plain data, since it is copied between them. */
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

/** Each kind of operation: what is given and what comes back. */
export interface Operations {
  append: {readonly given: NewMessage; readonly result: AppendOutcome};
  get: {readonly given: {readonly account: string; readonly id: string}; readonly result: StoredMessage | undefined};
  list: {readonly given: ListQuery; readonly result: MessagePage};
  claim: {readonly given: ClaimQuery; readonly result: readonly LeasedMessage[]};
  ack: {readonly given: LeaseRef; readonly result: SettleOutcome};
  nack: {readonly given: Nack; readonly result: SettleOutcome};
  /** `probe`: write in any case, to learn whether the disk can be written. */
  sweep: {readonly given: {readonly probe: boolean}; readonly result: SweepOutcome};
}

export type OperationKind = keyof Operations;

export type Operation = {
  readonly [K in OperationKind]: {readonly kind: K; readonly given: Operations[K]['given']};
}[OperationKind];

/** Operations that leave for the engine together; it may commit several chunks as one. */
export interface Chunk {
  readonly operations: readonly Operation[];
  /** What they weigh, by their messages. */
  readonly bytes: number;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export type OperationValue = Operations[OperationKind]['result'];

export interface SweepOutcome {
  /** Leases that had run out. */
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
  /** Rows that the operations read or wrote; bounded, see Work. */
  readonly rows: number;
  /** Bytes that there are for new messages; negative when they are refused. */
  readonly room: number;
  /** Why the batch's writes were undone; absent when they were not. */
  readonly failure?: Failure;
  /** Time from the begin of the transaction until it was durable; 0 where nothing was to be written. */
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

/** How the engine keeps messages. */
export interface EngineOptions {
  /** The database file; its folder must exist. */
  readonly path: string;
  /** Claims of one message before it is dead. */
  readonly maxAttempts: number;
  /** What one account may have stored, in bytes as cost.ts counts them. */
  readonly accountBytes: number;
  /** New messages are refused while the volume has less than this free; what is left serves to empty the queue. */
  readonly reserveBytes: number;
  readonly retention: RetentionOptions;
}

export interface RetentionOptions {
  readonly doneMs: number;
  readonly deadMs: number;
  readonly idempotencyMs: number;
}
