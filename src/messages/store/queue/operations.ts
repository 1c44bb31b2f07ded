/** The operations of an engine, and their results: plain data, because it may be copied to another thread. */
import type {
  AppendOutcome,
  Backlog,
  ClaimQuery,
  LeasedMessage,
  LeaseRef,
  ListQuery,
  MessagePage,
  Nack,
  NewMessage,
  RateUsages,
  SettleOutcome,
  StoredMessage,
  StoredRows,
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
  spend: {readonly given: {readonly used: RateUsages}; readonly result: RateUsages};
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
