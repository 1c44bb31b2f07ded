/**
 * What a reconcile says about its key when it returns. Throwing means `retry` with the thrown error.
 *
 * - `done`: nothing more to do until something changes.
 * - `after`: look again in `ms` milliseconds even if nothing changes; resets the backoff.
 * - `retry`: something failed that may pass; again with the key's exponential backoff.
 * - `terminal`: something failed that trying again cannot mend; counted and logged, not retried until something changes.
 */
export type Outcome =
  | {readonly kind: 'done'}
  | {readonly kind: 'after'; readonly ms: number}
  | {readonly kind: 'retry'; readonly error: unknown}
  | {readonly kind: 'terminal'; readonly error: unknown};

export function done(): Outcome {
  return {kind: 'done'};
}

export function after(ms: number): Outcome {
  return {kind: 'after', ms};
}

export function retry(error: unknown): Outcome {
  return {kind: 'retry', error};
}

export function terminal(error: unknown): Outcome {
  return {kind: 'terminal', error};
}
