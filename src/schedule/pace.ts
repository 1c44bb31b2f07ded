import {createHash} from 'node:crypto';

/** How often hosts are checked, and how many at the same time. */
export interface CheckSettings {
  /** When the first check after a change or a request begins, and the shortest pause between two checks of a host. */
  readonly soonSeconds: number;
  /** The longest pause of a host that is not verified. Its pauses grow up to this. */
  readonly pendingMaxSeconds: number;
  /** The pause between checks of a verified host. */
  readonly steadySeconds: number;
  /** The most checks in flight at the same time, not counting those that wait for slow servers. */
  readonly inFlight: number;
}

const DAY_MS = 86_400_000;
/** The longest pauses of a host that has waited for less than a day: between polls, and between checks. */
const POLL_SECONDS = 50;
const POLLED_CHECK_SECONDS = 1800;
const GROWTH = 1.5;
const JITTER = 0.1;
/**
 * Steady checks begin in this many groups per period: by default, one group every 5 s. A check on its own finds the
 * CPU's caches cold and costs more.
 */
const GROUPS = 720;

/** A host's place in the period, from 0 to 1. It is the same after every restart. */
export function phaseOf(uid: string): number {
  return createHash('sha256').update(uid).digest().readUInt32BE(0) / 2 ** 32;
}

/** Milliseconds to the next steady check: at the host's place in the period, but not within half a period. */
export function steadyDelay(uid: string, checks: CheckSettings, now: number): number {
  const untilPhase = firstSteadyDelay(uid, checks, now);
  const period = checks.steadySeconds * 1000;
  return untilPhase < period / 2 ? untilPhase + period : untilPhase;
}

/** Milliseconds to the first check of a host that is already verified: its next place in the period. */
export function firstSteadyDelay(uid: string, checks: CheckSettings, now: number): number {
  const period = checks.steadySeconds * 1000;
  const phase = Math.floor(phaseOf(uid) * GROUPS) / GROUPS;
  return (phase * period - (now % period) + period) % period;
}

/** Milliseconds to the next check after `count` checks that did not verify. `random` is from 0 to 1. */
export function pendingDelay(count: number, checks: CheckSettings, random: number): number {
  return Math.min(
    jittered(checks.soonSeconds * GROWTH ** Math.max(count - 1, 0), random),
    longestDelay(checks, random),
  );
}

/** Milliseconds to the next poll of a host that has waited for `ageMs`. `random` is from 0 to 1. */
export function pollDelay(ageMs: number, checks: CheckSettings, random: number): number {
  const longest = Math.min(POLL_SECONDS * daysOf(ageMs), checks.pendingMaxSeconds);
  return jittered(Math.min(checks.soonSeconds + ageMs / 2000, longest), random);
}

/** Milliseconds between the checks of a host that is polled. */
export function polledCheckDelay(ageMs: number, {soonSeconds, pendingMaxSeconds}: CheckSettings): number {
  const longest = Math.min(POLLED_CHECK_SECONDS * daysOf(ageMs), 12 * pendingMaxSeconds);
  return 1000 * Math.min(soonSeconds + ageMs / 1000, longest);
}

/** At least one: the pauses of a host that nobody fixes grow from the second day on. */
function daysOf(ageMs: number): number {
  return Math.max(1, ageMs / DAY_MS);
}

/** The longest pause of a host that is not verified, in milliseconds. `random` is from 0 to 1. */
export function longestDelay({pendingMaxSeconds}: CheckSettings, random: number): number {
  return jittered(pendingMaxSeconds, random);
}

function jittered(seconds: number, random: number): number {
  return seconds * 1000 * (1 + JITTER * (2 * random - 1));
}
