import {once} from 'node:events';
import {isDeepStrictEqual} from 'node:util';
import {RateLimit} from '../fairness/rate-limit.ts';
import {Alarm} from '../time/alarm.ts';
import type {Clock} from '../time/clock.ts';
import {DeadlineError} from '../time/deadline.ts';
import {DueHeap} from '../time/due-heap.ts';
import {AccountQueue} from './account-queue.ts';
import {
  type CheckSettings,
  firstSteadyDelay,
  longestDelay,
  pendingDelay,
  phaseOf,
  pollDelay,
  polledCheckDelay,
  steadyDelay,
} from './pace.ts';

/** The part of a verdict that the scheduler needs. */
interface Judgement {
  /** Yes or no. */
  readonly verified: boolean;
  /** A "no" that may demote something; any other "no" is a fault of the check. */
  readonly agreed: boolean;
  /** The check was cut short. The next one, soon, continues with what it has learned. */
  readonly unfinished?: boolean;
  /** Present if a poll can show that another check may find something else. */
  readonly signs?: unknown;
}

export interface Watched<Question> {
  /** Accounts take turns. */
  readonly account: string;
  /** Sets the phase of the steady checks, so a restart causes no burst. */
  readonly uid: string;
  readonly question: Question;
  /**
   * - pending: soon, then with growing pauses.
   * - steady: every `checks.steadySeconds`.
   */
  readonly urgency: 'pending' | 'steady';
  /**
   * Only of a host that nothing depends on yet: since when it has waited for its first proof, in milliseconds since the
   * epoch. Between its checks, it is polled.
   */
  readonly waitsSinceMs?: number;
}

export interface CheckResult<Verdict extends Judgement> {
  readonly verdict: Verdict;
  /** On the monotonic clock, as are the other times except the last. */
  readonly checkedAt: number;
  /** When the check began: its verdict shows no change made since. */
  readonly startedAt: number;
  /** The latest request token that this check answers. */
  readonly request?: string;
  /**
   * Start of the unbroken run of agreed negative verdicts. The run has lasted for `checkedAt - agreedSince`: until the
   * check, not until now.
   */
  readonly agreedSince?: number;
  /** The same for people, in milliseconds since the epoch. */
  readonly agreedSinceEpochMs?: number;
}

/** Owns all checks. A reconcile reads verdicts as it reads objects from a cache, and never waits for a check. */
export interface Scheduler<Question, Verdict extends Judgement> {
  /** Idempotent. If the question changed, the old verdict is dropped and the host is checked soon. */
  watch(key: string, watched: Watched<Question>): void;
  unwatch(key: string): void;
  /**
   * Checks a watched key soon, within the limit of its account; beyond that, within `checks.pendingMaxSeconds`. A
   * request never makes a check later. Repeating a token has no effect.
   */
  request(key: string, token: string): void;
  get(key: string): CheckResult<Verdict> | undefined;
  /** Calls the handler when a result changes in a way that a reconcile can see. Returns the unsubscribe function. */
  subscribe(handler: (key: string) => void): () => void;
  /** Runs checks until the signal aborts, then waits for those in flight to end. */
  start(signal: AbortSignal): Promise<void>;
}

interface SchedulerOptions<Question, Verdict extends Judgement> {
  readonly verify: (question: Question, signal: AbortSignal) => Promise<Verdict>;
  /**
   * Whether a check may now find something else than this verdict; `silent`: nobody can tell. `everything`: also look
   * for what changes rarely. Absent: no host is polled.
   */
  readonly poll?: (
    verdict: Verdict,
    everything: boolean,
    signal: AbortSignal,
  ) => Promise<'changed' | 'same' | 'silent'>;
  /** The part of a verdict that a reconcile reads: a change of anything else wakes nobody. */
  readonly shown: (verdict: Verdict) => unknown;
  readonly checks: CheckSettings;
  readonly driftAfterSeconds: number;
  readonly clock: Clock;
  /** From 0 to 1. */
  readonly random: () => number;
  /** `verify` should neither fail nor take minutes. If it does, the key is checked again later. */
  readonly onError: (key: string, error: unknown) => void;
}

/** An account's requests beyond this many get one check per `checks.soonSeconds`. */
const REQUEST_BURST = 10;
/** A check has its own deadlines, all shorter. Without this one, a check that never ends would also hold its slot. */
const CHECK_LIMIT_MS = 120_000;
/** So many checks in a row continue one that was cut short; then the usual pause follows. */
const MAX_CONTINUED = 3;
/** A host with so many polls that led to no proof, or got no answer, is no longer polled: its servers may be hostile. */
const MAX_VAIN_POLLS = 8;
/** A check that takes longer waits for a slow server and does little work, so another check may start... */
const SLOW_MS = 500;
/** ...up to this many times `checks.inFlight` in total. */
const SLOW_FACTOR = 16;

interface Entry<Question, Verdict extends Judgement> {
  readonly key: string;
  watched: Watched<Question>;
  result: CheckResult<Verdict> | undefined;
  /** The latest requested token. Checks that start from now on answer it. */
  request: string | undefined;
  /** Checks since the last change, or since the last request that the limit let through. */
  count: number;
  /** Checks in a row that were cut short, up to `MAX_CONTINUED`. */
  unfinished: number;
  /** Counts changes of the question. A verdict about an earlier question is dropped. */
  generation: number;
  running: boolean;
  /** Undefined until the first poll. */
  polls: Polls | undefined;
  /** When it must be queued, on the monotonic clock. Infinite while it is queued or running. */
  dueAt: number;
}

interface Polls {
  /** Since when the host has waited, on the monotonic clock: for its first proof, or since a change or a request. */
  readonly since: number;
  /** When everything was last checked or polled. */
  everythingAt: number;
  vain: number;
  /** The last poll got no answer: the next check queries other servers, too. */
  silent: boolean;
}

export function createScheduler<Question, Verdict extends Judgement>(
  options: SchedulerOptions<Question, Verdict>,
): Scheduler<Question, Verdict> {
  type Host = Entry<Question, Verdict>;
  const {checks, clock, random} = options;
  const soonMs = checks.soonSeconds * 1000;
  const entries = new Map<string, Host>();
  const delayed = new DueHeap<Host>();
  const handlers = new Set<(key: string) => void>();
  const queue = new AccountQueue(Math.max(1, Math.ceil(checks.inFlight / 4)));
  const limit = new RateLimit(REQUEST_BURST * soonMs);
  const running = new Set<Promise<void>>();
  /** The number of running checks that are not slow. */
  let quick = 0;
  let stop: AbortSignal | undefined;
  const alarm = new Alarm(clock, queueDue);

  function watch(key: string, watched: Watched<Question>): void {
    const entry = entries.get(key);
    if (entry === undefined) {
      add(key, watched);
      return;
    }
    const {watched: before} = entry;
    if (isDeepStrictEqual(before, watched)) return;
    queue.remove(before.account, key);
    entry.watched = watched;
    const changed = !isDeepStrictEqual(before.question, watched.question);
    if (changed) {
      entry.generation++;
      entry.result = undefined;
    }
    if (changed) restart(entry);
    else if (watched.urgency === 'pending') entry.count = 0;
    if (entry.running) return;
    // A request that waits keeps its time. In the queue, that time has come.
    const left = entry.dueAt === Number.POSITIVE_INFINITY ? 0 : entry.dueAt - clock.monotonic();
    const delay = isAnswered(entry) ? ownDelay(entry) : Math.min(ownDelay(entry), left);
    schedule(entry, changed ? 0 : delay);
  }

  function add(key: string, watched: Watched<Question>): void {
    const dueAt = Number.POSITIVE_INFINITY;
    // With all fields: V8 keeps those that are added later in a second object.
    const entry: Host = {
      key,
      watched,
      result: undefined,
      request: undefined,
      count: 0,
      unfinished: 0,
      generation: 0,
      running: false,
      polls: undefined,
      dueAt,
    };
    entries.set(key, entry);
    schedule(entry, firstDelay(entry));
  }

  function unwatch(key: string): void {
    const entry = entries.get(key);
    if (entry === undefined) return;
    entries.delete(key);
    entry.dueAt = Number.POSITIVE_INFINITY;
    queue.remove(entry.watched.account, key);
  }

  function request(key: string, token: string): void {
    const entry = entries.get(key);
    if (entry === undefined || entry.request === token) return;
    const isFirst = isAnswered(entry);
    entry.request = token;
    // An earlier request has set the time already. A check that is due answers the token. While a check runs, the next
    // one has no time yet: `nextDelay` sets it.
    if (!isFirst || entry.dueAt === Number.POSITIVE_INFINITY) return;
    const now = clock.monotonic();
    const pauseEndsAt = (entry.result?.checkedAt ?? Number.NEGATIVE_INFINITY) + soonMs;
    schedule(entry, hastened(entry, entry.dueAt - now, pauseEndsAt - now));
  }

  function isAnswered({request: token, result}: Host): boolean {
    return token === result?.request;
  }

  /**
   * Milliseconds to a check that answers a request: at most `delay`, but not within `pause`. It takes from the account's
   * limit only if this brings the check forward, so that requests that the limit holds back pile up no debt.
   */
  function hastened(entry: Host, delay: number, pause: number): number {
    const most = Math.min(delay, longestDelay(checks, random()));
    if (pause >= most) return most;
    const wait = limit.reserve(entry.watched.account, soonMs, clock.monotonic(), most);
    if (wait < most) restart(entry);
    return Math.max(wait, pause);
  }

  /** The host is new again: its pauses are the shortest ones. */
  function restart(entry: Host): void {
    entry.count = 0;
    entry.polls = pollsSince(clock.monotonic());
  }

  function pollsOf(entry: Host): Polls {
    const {waitsSinceMs = clock.now()} = entry.watched;
    entry.polls ??= pollsSince(clock.monotonic() - Math.max(0, clock.now() - waitsSinceMs));
    return entry.polls;
  }

  function pollsSince(since: number): Polls {
    return {since, everythingAt: clock.monotonic(), vain: 0, silent: false};
  }

  function schedule(entry: Host, delay: number): void {
    if (stop === undefined || stop.aborted) return;
    entry.dueAt = clock.monotonic() + delay;
    delayed.add(entry);
    alarm.set(entry.dueAt);
  }

  function queueDue(): void {
    const now = clock.monotonic();
    for (let entry = delayed.take(now); entry; entry = delayed.take(now)) {
      entry.dueAt = Number.POSITIVE_INFINITY;
      queue.add(entry.watched.account, entry.key);
    }
    alarm.set(delayed.nextDueAt);
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
        dispatch();
      });
      running.add(task);
      quick++;
      void countAsSlow(ended.signal);
    }
  }

  async function countAsSlow(ended: AbortSignal): Promise<void> {
    await clock.sleep(SLOW_MS, ended).catch(() => undefined);
    quick--;
    dispatch();
  }

  /** A check, or a poll and, if that finds a change, a check: in the same place of the account. */
  async function check(entry: Host, signal: AbortSignal): Promise<void> {
    const {generation} = entry;
    const isCurrent = () => entry.generation === generation && entries.get(entry.key) === entry;
    entry.running = true;
    try {
      const polled = isPollEnough(entry) ? await inTime(poll(entry, signal)) : undefined;
      if (isCurrent() && (polled === undefined || polled === 'changed')) await checkNow(entry, signal, isCurrent);
      if (isCurrent() && polled && polled !== 'same' && !entry.result?.verdict.verified) pollsOf(entry).vain++;
    } catch (error) {
      if (!signal.aborted) options.onError(entry.key, error);
    }
    entry.running = false;
    if (entries.get(entry.key) !== entry) return;
    schedule(entry, entry.generation === generation ? nextDelay(entry) : 0);
  }

  async function checkNow(entry: Host, signal: AbortSignal, isCurrent: () => boolean): Promise<void> {
    const {request: token, watched} = entry;
    entry.count++;
    const startedAt = clock.monotonic();
    const verdict = await inTime(options.verify(watched.question, signal));
    if (isCurrent()) record(entry, verdict, startedAt, token);
  }

  async function poll(entry: Host, signal: AbortSignal): Promise<'changed' | 'same' | 'silent'> {
    const polls = pollsOf(entry);
    const {result} = entry;
    const now = clock.monotonic();
    const nextAt = now + pollDelay(now - polls.since, checks, 1);
    const everything = nextAt > polls.everythingAt + checks.pendingMaxSeconds * 1000;
    if (everything) polls.everythingAt = now;
    const found = result && (await options.poll?.(result.verdict, everything, signal));
    polls.silent = found === 'silent';
    return found ?? 'changed';
  }

  /** Whether the host is polled between its checks. A request is answered by a check, and not polled away. */
  function isPolled(entry: Host): boolean {
    const {watched, result} = entry;
    if (!options.poll || watched.urgency === 'steady' || watched.waitsSinceMs === undefined) return false;
    if (result === undefined || result.verdict.verified || result.verdict.signs === undefined) return false;
    const {vain, silent} = pollsOf(entry);
    return isAnswered(entry) && entry.unfinished === 0 && !silent && vain < MAX_VAIN_POLLS;
  }

  function isPollEnough(entry: Host): boolean {
    return isPolled(entry) && untilPolledCheck(entry) > 0;
  }

  function untilPolledCheck(entry: Host): number {
    const checkedAt = entry.result?.checkedAt ?? Number.NEGATIVE_INFINITY;
    return checkedAt + polledCheckDelay(checkedAt - pollsOf(entry).since, checks) - clock.monotonic();
  }

  /** A check that is late is left to itself. */
  async function inTime<T>(work: Promise<T>): Promise<T> {
    const ended = new AbortController();
    const late = clock.sleep(CHECK_LIMIT_MS, ended.signal).then(() => {
      throw new DeadlineError(CHECK_LIMIT_MS);
    });
    late.catch(() => {}); // also if the check ends in time
    try {
      return await Promise.race([work, late]);
    } finally {
      ended.abort();
    }
  }

  function record(entry: Host, verdict: Verdict, startedAt: number, token: string | undefined): void {
    const before = entry.result;
    const checkedAt = clock.monotonic();
    const negative = verdict.agreed && !verdict.verified;
    if (entry.polls) Object.assign(entry.polls, {everythingAt: checkedAt, silent: false});
    entry.unfinished = verdict.unfinished && entry.unfinished < MAX_CONTINUED ? entry.unfinished + 1 : 0;
    entry.result = {
      verdict,
      startedAt,
      checkedAt,
      ...(token !== undefined && {request: token}),
      ...(negative && {
        agreedSince: before?.agreedSince ?? checkedAt,
        agreedSinceEpochMs: before?.agreedSinceEpochMs ?? clock.now(),
      }),
    };
    if (!isDeepStrictEqual(visible(before), visible(entry.result))) for (const handler of handlers) handler(entry.key);
  }

  /**
   * The part that a reconcile can see: everything but the times of the check. Of the run, only whether it has become
   * drift.
   */
  function visible(result: CheckResult<Verdict> | undefined) {
    if (result === undefined) return undefined;
    const {verdict, request: token, agreedSince, checkedAt} = result;
    const drifted = agreedSince !== undefined && checkedAt - agreedSince >= options.driftAfterSeconds * 1000;
    return {shown: options.shown(verdict), token, drifted};
  }

  function firstDelay({watched}: Host): number {
    if (watched.urgency === 'steady') return firstSteadyDelay(watched.uid, checks, clock.now());
    return phaseOf(watched.uid) * soonMs;
  }

  function nextDelay(entry: Host): number {
    const delay = ownDelay(entry);
    return isAnswered(entry) ? delay : hastened(entry, delay, pendingDelay(0, checks, random()));
  }

  /** The delay without a request. */
  function ownDelay(entry: Host): number {
    if (entry.result === undefined && entry.count === 0) return firstDelay(entry);
    if (entry.unfinished > 0) return pendingDelay(1, checks, random());
    const {urgency, uid} = entry.watched;
    if (isPolled(entry)) {
      const age = clock.monotonic() - pollsOf(entry).since;
      return Math.max(0, Math.min(pollDelay(age, checks, random()), untilPolledCheck(entry)));
    }
    if (urgency === 'pending' || !entry.result?.verdict.verified) return pendingDelay(entry.count, checks, random());
    return steadyDelay(uid, checks, clock.now());
  }

  async function start(signal: AbortSignal): Promise<void> {
    stop = signal;
    for (const entry of entries.values()) schedule(entry, nextDelay(entry));
    if (!signal.aborted) await once(signal, 'abort');
    alarm.cancel();
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
