import {createHash} from 'node:crypto';
import type {Clock} from './clock.ts';
import type {DnsConfig} from './config.ts';

type Checks = DnsConfig['checks'];

const GROWTH = 1.5;
const JITTER = 0.1;
/**
 * Steady checks begin in so many groups a period, one in 5 s by default: one that comes alone finds the CPU's caches cold,
 * and costs more.
 */
const GROUPS = 720;

/** Where in a period a subject has its place, 0 to 1: the same after every restart. */
export function phaseOf(uid: string): number {
  return createHash('sha256').update(uid).digest().readUInt32BE(0) / 2 ** 32;
}

/** Milliseconds to the next steady check: at the subject's own place in the period, but not within half a period. */
export function steadyDelay(uid: string, checks: Checks, now: number): number {
  const untilPhase = firstSteadyDelay(uid, checks, now);
  const period = checks.steadySeconds * 1000;
  return untilPhase < period / 2 ? untilPhase + period : untilPhase;
}

/** Milliseconds to the first check of a subject that is already verified: its next place in the period. */
export function firstSteadyDelay(uid: string, checks: Checks, now: number): number {
  const period = checks.steadySeconds * 1000;
  const phase = Math.floor(phaseOf(uid) * GROUPS) / GROUPS;
  return (phase * period - (now % period) + period) % period;
}

/** Milliseconds to the next check after `count` checks that did not verify; `random` is in 0 to 1. */
export function pendingDelay(count: number, checks: Checks, random: number): number {
  const seconds = Math.min(checks.soonSeconds * GROWTH ** Math.max(count - 1, 0), checks.pendingMaxSeconds);
  return seconds * 1000 * (1 + JITTER * (2 * random - 1));
}

/** Lets each account have `burst` requests at once and one more per `intervalMs`; later ones wait (GCRA). */
export class RateLimit {
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #burst: number;
  readonly #fullAt = new Map<string, number>();

  constructor(clock: Clock, intervalMs: number, burst: number) {
    this.#clock = clock;
    this.#intervalMs = intervalMs;
    this.#burst = burst;
  }

  /** Milliseconds that this request has to wait. */
  take(account: string): number {
    const now = this.#clock.monotonic();
    for (const [other, at] of this.#fullAt) if (at <= now) this.#fullAt.delete(other);
    const next = Math.max(this.#fullAt.get(account) ?? now, now) + this.#intervalMs;
    this.#fullAt.set(account, next);
    return Math.max(0, next - now - this.#burst * this.#intervalMs);
  }
}
