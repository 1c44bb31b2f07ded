import {BATCH_BYTES, BATCH_ROWS} from '../rules.ts';

/** Counts the rows that a transaction reads or writes for its operations, and the bytes of their messages. */
export class Work {
  rows = 0;
  bytes = 0;

  add(rows: number, bytes: number): void {
    this.rows += rows;
    this.bytes += bytes;
  }

  /** After so many operations, the current one is the last of its transaction. */
  isEnough(operations: number): boolean {
    return Math.max(this.rows, operations) >= BATCH_ROWS || this.bytes >= BATCH_BYTES;
  }

  reset(): void {
    this.rows = 0;
    this.bytes = 0;
  }
}
