/**
 * The outcome for a key after its reconcile. Throwing means `retry` with the thrown error, or `after` if that is a
 * `RequeueError`.
 *
 * - `done`: there is nothing more to do until something changes.
 * - `after`: reconcile again in `ms` milliseconds even if nothing changes. Resets the backoff.
 * - `retry`: a failure that may pass. Retry with the key's exponential backoff.
 */
export type Outcome =
  | {readonly kind: 'done'}
  | {readonly kind: 'after'; readonly ms: number}
  | {readonly kind: 'retry'; readonly error: unknown};

export function done(): Outcome {
  return {kind: 'done'};
}

export function after(ms: number): Outcome {
  return {kind: 'after', ms};
}

export function retry(error: unknown): Outcome {
  return {kind: 'retry', error};
}

/** Thrown where a reconcile cannot go on although nothing has failed: it is repeated in `ms` milliseconds. */
export class RequeueError extends Error {
  override readonly name: string = 'RequeueError';
  readonly ms: number;

  constructor(ms: number, why: string) {
    super(why);
    this.ms = ms;
  }
}
