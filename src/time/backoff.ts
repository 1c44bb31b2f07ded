export interface BackoffPolicy {
  /** The delay after the first failure, in milliseconds. */
  readonly initialMs: number;
  /** The longest delay, including jitter. */
  readonly maxMs: number;
  readonly factor: number;
  /** From 0 to 1: how much of the delay is random, so many clients do not all return to a server at the same time. */
  readonly jitter: number;
}

/** The delay in milliseconds after this many failures in a row. `random` is in [0, 1). */
export function backoffMs(policy: BackoffPolicy, failures: number, random: () => number): number {
  if (failures <= 0) return 0;
  const grown = Math.min(policy.maxMs, policy.initialMs * policy.factor ** (failures - 1));
  return grown * (1 - policy.jitter * random());
}

/** The same, but at least the delay that the server requested, plus jitter: other clients got the same request. */
export function retryDelayMs(
  policy: BackoffPolicy,
  failures: number,
  askedMs: number | undefined,
  random: () => number,
): number {
  return Math.max(backoffMs(policy, failures, random), (askedMs ?? 0) * (1 + policy.jitter * random()));
}
