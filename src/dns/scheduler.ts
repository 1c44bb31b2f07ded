import type {ProofQuestion, Verdict} from './verdict.ts';

export interface Subject {
  /** Checks are shared out fairly between accounts. */
  readonly account: string;
  /** Sets the phase of the steady checks, so that a restart makes no burst. */
  readonly uid: string;
  readonly question: ProofQuestion;
  /** `pending`: soon and then with growing pauses. `steady`: one check in `checks.steadySeconds`. */
  readonly urgency: 'pending' | 'steady';
}

export interface CheckResult {
  readonly verdict: Verdict;
  /** Milliseconds since the epoch. */
  readonly checkedAt: number;
  /** The latest request token that this check answers. */
  readonly request?: string;
  /** Start of the unbroken run of agreed negative verdicts; milliseconds since the epoch. */
  readonly agreedSince?: number;
}

/** Owns all checks; reconcile reads its verdicts as it reads objects from a cache, and never waits on DNS. */
export interface DnsScheduler {
  /** Idempotent. A changed question forgets the old verdict and is checked soon. */
  watch(key: string, subject: Subject): void;
  unwatch(key: string): void;
  /** Checks soon. The same token again asks nothing; requests are rate-limited per account. */
  request(key: string, token: string): void;
  get(key: string): CheckResult | undefined;
  /** Called when the result of a key changed in a way that reconcile can see. Returns the unsubscribe function. */
  subscribe(handler: (key: string) => void): () => void;
  /** Runs checks until the signal aborts; then waits for those in flight to end. */
  start(signal: AbortSignal): Promise<void>;
}
