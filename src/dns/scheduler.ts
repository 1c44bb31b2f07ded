import {isDeepStrictEqual} from 'node:util';
import type {Clock} from './clock.ts';
import type {DnsConfig} from './config.ts';
import {FairQueue} from './fair-queue.ts';
import {firstSteadyDelay, pendingDelay, phaseOf, RateLimit, steadyDelay} from './pace.ts';
import type {ProofQuestion, Verdict} from './verdict.ts';

export interface Subject {
  /** Checks are shared out fairly between accounts. */
  readonly account: string;
  /** Sets the phase of the steady checks, so that a restart makes no burst. */
  readonly uid: string;
  readonly question: ProofQuestion;
  /** `pending`: soon and then with growing pauses. `steady`: one check in `checks.steadySeconds`, while it is verified. */
  readonly urgency: 'pending' | 'steady';
}

export interface CheckResult {
  readonly verdict: Verdict;
  /** Milliseconds since the epoch. */
  readonly checkedAt: number;
  /** When the check began: its verdict says nothing of what was done since. Milliseconds since the epoch. */
  readonly startedAt: number;
  /** The latest request token that this check answers. */
  readonly request?: string;
  /**
   * Start of the unbroken run of agreed negative verdicts; milliseconds since the epoch. The run has lasted for
   * `checkedAt - agreedSince`: until the check, not until now.
   */
  readonly agreedSince?: number;
}

/** Owns all checks; reconcile reads its verdicts as it reads objects from a cache, and never waits on DNS. */
export interface DnsScheduler {
  /** Idempotent. A changed question forgets the old verdict and is checked soon. */
  watch(key: string, subject: Subject): void;
  unwatch(key: string): void;
  /** Checks a watched key soon. The same token again asks nothing; requests are rate-limited per account. */
  request(key: string, token: string): void;
  get(key: string): CheckResult | undefined;
  /** Called when the result of a key changed in a way that reconcile can see. Returns the unsubscribe function. */
  subscribe(handler: (key: string) => void): () => void;
  /** Runs checks until the signal aborts; then waits for those in flight to end. */
  start(signal: AbortSignal): Promise<void>;
}

export interface SchedulerOptions {
  readonly verify: (question: ProofQuestion, signal: AbortSignal) => Promise<Verdict>;
  readonly checks: DnsConfig['checks'];
  readonly driftAfterSeconds: number;
  readonly clock: Clock;
  /** 0 to 1. */
  readonly random: () => number;
  /** Verify must not fail; when it does, the key is checked again later. */
  readonly onError: (key: string, error: unknown) => void;
}

/** An account's requests beyond this many wait for `checks.soonSeconds` each. */
const REQUEST_BURST = 10;
/** A check that takes longer waits for a slow server and hardly works: its place goes to another one... */
const SLOW_MS = 500;
/** ...as long as no more than this many times `checks.inFlight` wait. */
const SLOW_FACTOR = 16;
/** Timers hold 31 bits; after this long we look again. */
const MAX_SLEEP_MS = 3_600_000;

interface Entry {
  readonly key: string;
  subject: Subject;
  result?: CheckResult;
  /** The latest token asked for; the checks that start from now on answer it. */
  request?: string;
  /** Checks since the last reason to hurry. */
  count: number;
  /** Counts changes of the question: a verdict about an earlier one is dropped. */
  generation: number;
  running: boolean;
  /** When it is to be queued, on the monotonic clock; infinite while it is queued or running. */
  dueAt: number;
}

export function createScheduler(options: SchedulerOptions): DnsScheduler {
  const {checks, clock, random} = options;
  const entries = new Map<string, Entry>();
  const handlers = new Set<(key: string) => void>();
  const queue = new FairQueue(Math.max(1, Math.ceil(checks.inFlight / 4)));
  const limit = new RateLimit(clock, checks.soonSeconds * 1000, REQUEST_BURST);
  const running = new Set<Promise<void>>();
  /** Of those that are running, those that are not slow. */
  let quick = 0;
  let stop: AbortSignal | undefined;
  /** One timer, for whichever is due first: one for each takes an AbortController, a promise and a Timeout a name. */
  let alarm: {readonly dueAt: number; readonly cancel: AbortController} | undefined;

  function watch(key: string, subject: Subject): void {
    const entry = entries.get(key);
    if (entry === undefined) {
      add(key, subject);
      return;
    }
    const {subject: before} = entry;
    if (isDeepStrictEqual(before, subject)) return;
    queue.remove(before.account, key);
    entry.subject = subject;
    const changed = !isDeepStrictEqual(before.question, subject.question);
    if (changed) {
      entry.generation++;
      delete entry.result;
    }
    if (changed || subject.urgency === 'pending') entry.count = 0;
    if (!entry.running) schedule(entry, changed ? 0 : nextDelay(entry));
  }

  function add(key: string, subject: Subject): void {
    const entry: Entry = {key, subject, count: 0, generation: 0, running: false, dueAt: Number.POSITIVE_INFINITY};
    entries.set(key, entry);
    schedule(entry, firstDelay(entry));
  }

  function unwatch(key: string): void {
    const entry = entries.get(key);
    if (entry === undefined) return;
    entries.delete(key);
    queue.remove(entry.subject.account, key);
  }

  function request(key: string, token: string): void {
    const entry = entries.get(key);
    if (entry === undefined || entry.request === token) return;
    entry.request = token;
    const sinceLast = clock.now() - (entry.result?.checkedAt ?? Number.NEGATIVE_INFINITY);
    const delay = Math.max(limit.take(entry.subject.account), checks.soonSeconds * 1000 - sinceLast, 0);
    entry.count = 0;
    if (!entry.running) schedule(entry, delay);
  }

  function schedule(entry: Entry, delay: number): void {
    if (stop === undefined || stop.aborted) return;
    entry.dueAt = clock.monotonic() + delay;
    setAlarm(entry.dueAt);
  }

  function setAlarm(dueAt: number): void {
    if (alarm && alarm.dueAt <= dueAt) return;
    alarm?.cancel.abort();
    const cancel = new AbortController();
    alarm = {dueAt, cancel};
    const ring = () => cancel.signal.aborted || queueDue();
    const ms = Math.min(Math.max(0, dueAt - clock.monotonic()), MAX_SLEEP_MS);
    clock.sleep(ms, cancel.signal).then(ring, () => undefined);
  }

  function queueDue(): void {
    alarm = undefined;
    const now = clock.monotonic();
    let next = Number.POSITIVE_INFINITY;
    for (const entry of entries.values()) {
      if (entry.dueAt <= now) {
        entry.dueAt = Number.POSITIVE_INFINITY;
        queue.add(entry.subject.account, entry.key);
      } else next = Math.min(next, entry.dueAt);
    }
    if (next < Number.POSITIVE_INFINITY) setAlarm(next);
    dispatch();
  }

  function dispatch(): void {
    while (stop?.aborted === false && quick < checks.inFlight && running.size < checks.inFlight * SLOW_FACTOR) {
      const next = queue.take();
      const entry = next && entries.get(next.key);
      if (next === undefined) return;
      if (entry === undefined || entry.running) {
        queue.done(next.account);
        continue;
      }
      const ended = new AbortController();
      const task = check(entry, stop).finally(() => {
        running.delete(task);
        ended.abort();
        queue.done(next.account);
      });
      running.add(task);
      quick++;
      void givePlaceBack(ended.signal);
    }
  }

  async function givePlaceBack(ended: AbortSignal): Promise<void> {
    await clock.sleep(SLOW_MS, ended).catch(() => undefined);
    quick--;
    dispatch();
  }

  async function check(entry: Entry, signal: AbortSignal): Promise<void> {
    const {generation, request: token, subject} = entry;
    entry.running = true;
    entry.count++;
    try {
      const startedAt = clock.now();
      const verdict = await options.verify(subject.question, signal);
      if (entry.generation === generation && entries.get(entry.key) === entry) record(entry, verdict, startedAt, token);
    } catch (error) {
      if (!signal.aborted) options.onError(entry.key, error);
    }
    entry.running = false;
    if (entries.get(entry.key) !== entry) return;
    schedule(entry, entry.generation === generation ? nextDelay(entry) : 0);
  }

  function record(entry: Entry, verdict: Verdict, startedAt: number, token: string | undefined): void {
    const before = entry.result;
    const checkedAt = clock.now();
    const negative = verdict.agreed && !verdict.verified;
    entry.result = {
      verdict,
      startedAt,
      checkedAt,
      ...(token !== undefined && {request: token}),
      ...(negative && {agreedSince: before?.agreedSince ?? checkedAt}),
    };
    if (!isDeepStrictEqual(visible(before), visible(entry.result))) for (const handler of handlers) handler(entry.key);
  }

  /** What reconcile can see: all but the time of the check, and of the run only whether it has become drift. */
  function visible(result: CheckResult | undefined) {
    if (result === undefined) return undefined;
    const {verdict, request: token, agreedSince, checkedAt} = result;
    const {minTtlSeconds: _, ...shown} = verdict;
    const drifted = agreedSince !== undefined && checkedAt - agreedSince >= options.driftAfterSeconds * 1000;
    return {shown, token, drifted};
  }

  function firstDelay({subject}: Entry): number {
    if (subject.urgency === 'steady') return firstSteadyDelay(subject.uid, checks, clock.now());
    return phaseOf(subject.uid) * checks.soonSeconds * 1000;
  }

  function nextDelay(entry: Entry): number {
    if (entry.request !== entry.result?.request) return pendingDelay(0, checks, random());
    if (entry.result === undefined && entry.count === 0) return firstDelay(entry);
    const settled = entry.subject.urgency === 'steady' && entry.result?.verdict.verified;
    return settled ? steadyDelay(entry.subject.uid, checks, clock.now()) : pendingDelay(entry.count, checks, random());
  }

  async function start(signal: AbortSignal): Promise<void> {
    stop = signal;
    for (const entry of entries.values()) schedule(entry, nextDelay(entry));
    await new Promise<void>(resolve => {
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve(), {once: true});
    });
    alarm?.cancel.abort();
    await Promise.all(running);
  }

  return {
    watch,
    unwatch,
    request,
    get: key => entries.get(key)?.result,
    subscribe(handler) {
      handlers.add(handler);
      return () => handlers.delete(handler);
    },
    start,
  };
}
