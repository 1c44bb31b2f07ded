import {describe, expect, test} from 'vitest';
import {ManualClock} from '../../test/support/manual-clock.ts';
import {createScheduler, type Watched} from './scheduler.ts';

const checks = {soonSeconds: 5, pendingMaxSeconds: 300, steadySeconds: 3600, inFlight: 32};
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

type Found = 'changed' | 'same' | 'silent';
interface Said {
  readonly verified: boolean;
  readonly agreed: boolean;
  readonly signs?: unknown;
}

const MISSING: Said = {verified: false, agreed: true, signs: 'missing'};
const VERIFIED: Said = {verified: true, agreed: true};

/** Hosts of one account that wait for their first proof. Checks and polls are counted, and take no time. */
function setUp({ageMs = 0, polled = true} = {}) {
  const clock = new ManualClock(100 * DAY);
  const counts = {checks: 0, polls: 0, everything: 0};
  const state: {found: Found; said: Said; onPoll?: () => void} = {found: 'same', said: MISSING};
  const scheduler = createScheduler<string, Said>({
    async verify() {
      counts.checks++;
      return state.said;
    },
    async poll(_, everything) {
      counts.polls++;
      if (everything) counts.everything++;
      state.onPoll?.();
      return state.found;
    },
    shown: ({signs: _, ...shown}) => shown,
    checks,
    driftAfterSeconds: 3600,
    clock,
    random: () => 0.5,
    onError: key => expect.fail(`The check of ${key} failed.`),
  });
  void scheduler.start(new AbortController().signal);
  const watch = (more: Partial<Watched<string>> = {}, key = 'k') => {
    const waitsSinceMs = clock.now() - ageMs;
    const waits = polled && {waitsSinceMs};
    scheduler.watch(key, {account: 'a', uid: key, question: key, urgency: 'pending', ...waits, ...more});
  };
  /** Of an hour. */
  const rates = async (ms = HOUR) => {
    const before = {...counts};
    await clock.advance(ms);
    const since = (what: keyof typeof counts) => ((counts[what] - before[what]) * HOUR) / ms;
    return {checks: since('checks'), polls: since('polls'), everything: since('everything')};
  };
  return {clock, counts, state, scheduler, watch, rates};
}

describe('a host that waits for its first proof', () => {
  test('is polled between checks, ever less often in the first minutes', async () => {
    const {counts, watch, rates} = setUp();
    watch();
    const hour = await rates();
    expect(hour.checks).toBeLessThan(14);
    expect(hour.polls).toBeGreaterThan(HOUR / (60 * SECOND));
    expect(hour.polls).toBeLessThan(HOUR / (45 * SECOND));
    expect(counts.everything).toBeGreaterThan(0);
  });

  test.each([
    {age: 'an hour', ageMs: HOUR, checksPerHour: 2, pollSeconds: 50},
    {age: 'four days', ageMs: 4 * DAY, checksPerHour: 1, pollSeconds: 200},
    {age: 'a month', ageMs: 30 * DAY, checksPerHour: 1, pollSeconds: 300},
  ])('of $age is polled every $pollSeconds s, also after a restart', async ({ageMs, checksPerHour, pollSeconds}) => {
    const {clock, watch, rates} = setUp({ageMs});
    watch();
    await clock.advance(MINUTE);
    const hours = await rates(6 * HOUR);
    expect(hours.checks).toBeCloseTo(checksPerHour, 0);
    expect(hours.polls).toBeGreaterThan((0.9 * 3600) / pollSeconds - checksPerHour);
    expect(hours.polls).toBeLessThan(3600 / pollSeconds + 1);
    // What changes rarely is looked for as often as a host that is not polled is checked.
    expect(hours.everything + hours.checks).toBeGreaterThanOrEqual(3600 / checks.pendingMaxSeconds - 1);
  });

  test('is checked as soon as a poll finds a change', async () => {
    const {clock, counts, state, scheduler, watch} = setUp({ageMs: HOUR});
    watch();
    await clock.advance(10 * MINUTE);
    const before = {...counts};
    Object.assign(state, {found: 'changed', said: VERIFIED});
    while (counts.polls === before.polls) await clock.advance(SECOND);
    expect(counts.checks - before.checks).toBe(1);
    expect(scheduler.get('k')?.verdict.verified).toBe(true);
  });

  test('is not verified by a poll', async () => {
    const {clock, state, scheduler, watch} = setUp({ageMs: HOUR});
    watch();
    await clock.advance(10 * MINUTE);
    state.found = 'changed';
    await clock.advance(DAY);
    expect(scheduler.get('k')?.verdict.verified).toBe(false);
  });

  test('gets the answer to a request from a check', async () => {
    const {clock, counts, scheduler, watch} = setUp({ageMs: HOUR});
    watch();
    await clock.advance(10 * MINUTE);
    const before = {...counts};
    scheduler.request('k', 'one');
    await clock.advance(0);
    expect(scheduler.get('k')?.request).toBe('one');
    expect(counts).toEqual({...before, checks: before.checks + 1});
  });

  test('gets the answer to a request during a poll from a check after it', async () => {
    const {clock, state, scheduler, watch} = setUp({ageMs: HOUR});
    watch();
    await clock.advance(10 * MINUTE);
    state.onPoll = () => scheduler.request('k', 'one');
    await clock.advance(MINUTE);
    expect(scheduler.get('k')?.request).toBe('one');
  });

  test('gets the answer to a request beyond the limit of its account as soon as without polls', async () => {
    const {clock, scheduler, watch} = setUp({ageMs: HOUR});
    const keys = Array.from({length: 200}, (_, n) => `k${n}`);
    for (const key of keys) watch({}, key);
    await clock.advance(40 * MINUTE);
    for (const key of keys) scheduler.request(key, 'all');
    await clock.advance(1.1 * checks.pendingMaxSeconds * SECOND);
    expect(keys.filter(key => scheduler.get(key)?.request !== 'all')).toEqual([]);
  });

  test('has a changed question checked, and not polled, although the change came during a poll', async () => {
    const {clock, state, counts, watch} = setUp({ageMs: HOUR});
    watch();
    await clock.advance(10 * MINUTE);
    state.onPoll = () => watch({question: 'other'});
    const {polls} = counts;
    while (counts.polls === polls) await clock.advance(SECOND);
    delete state.onPoll;
    const before = {...counts};
    await clock.advance(SECOND);
    expect(counts).toEqual(before);
  });
});

describe('what hostile servers gain', () => {
  // attack: hostile-dns
  test.each(['changed', 'silent'] as const)('by polls that are %s: no more checks than without polls', async found => {
    const [left, polled] = [setUp({polled: false}), setUp()];
    for (const each of [left, polled]) each.watch();
    polled.state.found = found;
    for (let hour = 0; hour < 24; hour++) {
      const [plain, hostile] = [await left.rates(), await polled.rates()];
      expect(hostile.checks).toBeLessThanOrEqual(plain.checks + 1);
      expect(hostile.polls).toBeLessThanOrEqual(hour === 0 ? 8 : 0);
    }
  });

  // attack: hostile-dns
  test('by requests all the time: polls do not answer them early', async () => {
    const [left, polled] = [setUp({polled: false}), setUp()];
    for (const {watch, clock, scheduler} of [left, polled]) {
      watch();
      for (let n = 0; n < 3600; n++) {
        scheduler.request('k', `token ${n}`);
        await clock.advance(SECOND);
      }
    }
    expect(polled.counts.checks).toBeLessThanOrEqual(left.counts.checks + 1);
  });
});

test.each<{host: string; more: Partial<Watched<string>>; said: Said}>([
  {host: 'that is verified', more: {}, said: VERIFIED},
  {host: 'whose verdict has no signs', more: {}, said: {verified: false, agreed: true}},
  {host: 'that is live', more: {urgency: 'steady'}, said: MISSING},
])('a host $host is not polled', async ({more, said}) => {
  const {clock, counts, state, watch} = setUp();
  state.said = said;
  watch(more);
  await clock.advance(3 * HOUR);
  expect(counts.checks).toBeGreaterThan(0);
  expect(counts.polls).toBe(0);
});
