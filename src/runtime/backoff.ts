export interface BackoffPolicy {
  /** Delay after the first failure, milliseconds. */
  readonly initialMs: number;
  /** No delay is longer than this, jitter included. */
  readonly maxMs: number;
  readonly factor: number;
  /** 0 to 1: how much of the delay is random, so that many clients of a server that came back do not come together. */
  readonly jitter: number;
}

/** Delay after the `failures`th failure in a row (1, 2, ...). `random` is in [0, 1). */
export function backoffMs(policy: BackoffPolicy, failures: number, random: () => number): number {
  if (failures <= 0) return 0;
  const grown = Math.min(policy.maxMs, policy.initialMs * policy.factor ** (failures - 1));
  return grown * (1 - policy.jitter * random());
}
