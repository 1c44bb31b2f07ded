/** Limits the work of a transaction, so that no account waits long for another's. */
const ROWS = 512;
const BYTES = 4 << 20;

/** Counts the rows that a transaction reads or writes for its operations, and the bytes of their messages. */
export class Work {
  rows = 0;
  bytes = 0;

  add(rows: number, bytes: number): void {
    this.rows += rows;
    this.bytes += bytes;
  }

  /** The current operation is the last one of its transaction. */
  get isEnough(): boolean {
    return this.rows >= ROWS || this.bytes >= BYTES;
  }

  reset(): void {
    this.rows = 0;
    this.bytes = 0;
  }
}
