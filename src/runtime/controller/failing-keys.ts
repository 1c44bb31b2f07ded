import type {Logger} from 'pino';
import type {Clock} from '../../time/clock.ts';
import {FAILURE_KINDS, type FailureKind} from '../kube/errors.ts';

interface FailingKeysOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** A key that has failed for this long is reported once. */
  readonly reportAfterMs: number;
  /** How many keys are reported now. */
  readonly gauge: (kind: FailureKind, count: number) => void;
}

interface Failing {
  readonly sinceMs: number;
  failures: number;
  reported?: FailureKind;
}

/**
 * Keys whose last attempts have all failed. All keys that have failed for long share one line in the log per kind of
 * failure, and a metric counts them.
 */
export class FailingKeys {
  readonly #options: FailingKeysOptions;
  readonly #failing = new Map<string, Failing>();
  readonly #reported = new Map<FailureKind, number>();

  constructor(options: FailingKeysOptions) {
    this.#options = options;
    for (const kind of FAILURE_KINDS) this.#report(kind, 0); // an alert needs a series
  }

  /** How many keys have failed for long, by kind of failure. */
  get reported(): ReadonlyMap<FailureKind, number> {
    return this.#reported;
  }

  /** Returns how often the key has failed in a row. */
  add(key: string, kind: FailureKind, error: unknown): number {
    const {clock, logger} = this.#options;
    const failing = this.#failing.get(key) ?? {sinceMs: clock.monotonic(), failures: 0};
    this.#failing.set(key, failing);
    failing.failures += 1;
    if (failing.reported === undefined && this.keepsFailing(key)) {
      failing.reported = kind;
      const isFirst = this.#report(kind, 1) === 1;
      if (isFirst) logger.error({key, err: error, kind}, 'Reconciles keep failing; retrying.');
    }
    return failing.failures;
  }

  keepsFailing(key: string): boolean {
    const {clock, reportAfterMs} = this.#options;
    const failing = this.#failing.get(key);
    return failing !== undefined && clock.monotonic() - failing.sinceMs >= reportAfterMs;
  }

  forget(key: string): void {
    const kind = this.#failing.get(key)?.reported;
    this.#failing.delete(key);
    if (kind && this.#report(kind, -1) === 0) this.#options.logger.info({kind}, 'Reconciles are no longer failing.');
  }

  #report(kind: FailureKind, more: 1 | 0 | -1): number {
    const count = (this.#reported.get(kind) ?? 0) + more;
    this.#reported.set(kind, count);
    this.#options.gauge(kind, count);
    return count;
  }
}
