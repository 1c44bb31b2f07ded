/** Time as src/dns needs it; structurally the runtime's own clock. All figures are milliseconds. */
export interface Clock {
  /** Wall clock, since the epoch. */
  now(): number;
  /** Never goes back; for durations. */
  monotonic(): number;
  /** Resolves after `ms`; rejects when the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}
