import type {CaLimits} from '../claim/order-windows.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** After the n-th failure within a day: a minute, tripled each time, at most 8 hours. */
const FIRST_MS = MINUTE_MS;
const FACTOR = 3;
const MAX_MS = 8 * 60 * MINUTE_MS;
/** At most this part of what is left of the current certificate passes until the next attempt. */
const PART = 10;

interface Failures {
  /** RFC 3339, oldest first, including the last one. */
  readonly failures: readonly string[];
  /** RFC 3339. Earlier failures are of another account. */
  readonly since: string;
  readonly limits: Pick<CaLimits, 'ordersPerHost' | 'hostWindowSeconds'>;
  /** When the current certificate expires, RFC 3339; undefined if there is none. */
  readonly notAfter: string | undefined;
  readonly nowMs: number;
}

/** When the next order for a host may be placed after one has failed. Pure. */
export function retryAtMs({failures, since, limits, notAfter, nowMs}: Failures): number {
  const own = failures.filter(time => time >= since && Date.parse(time) > nowMs - DAY_MS).length;
  const pauseMs = Math.min(FIRST_MS * FACTOR ** Math.min(Math.max(own, 1) - 1, 10), MAX_MS);
  const leftMs = notAfter === undefined ? Number.NaN : Date.parse(notAfter) - nowMs;
  const boundMs = leftMs > 0 ? Math.max(leftMs / PART, FIRST_MS) : Number.POSITIVE_INFINITY;
  const windowMs = limits.hostWindowSeconds * 1000;
  const recent = failures.map(time => Date.parse(time)).filter(ms => ms > nowMs - windowMs && ms <= nowMs);
  const excess = recent.toSorted((a, b) => a - b)[recent.length - limits.ordersPerHost];
  return Math.max(nowMs + Math.min(pauseMs, boundMs), excess === undefined ? 0 : excess + windowMs);
}
