import {describe, expect, test} from 'vitest';
import {ManualClock} from '../../test/support/manual-clock.ts';
import {createScheduler, type Watched} from './scheduler.ts';

const checks = {soonSeconds: 5, pendingMaxSeconds: 300, steadySeconds: 3600, inFlight: 32};
const BURST = 10;
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** The longest pause of a host that is not live, with its jitter. */
const PENDING_MAX = 330 * SECOND;

type Urgency = Watched<string>['urgency'];

/** One account's hosts. Each check takes `takesMs` and is counted when it begins. */
function setUp({verified = true, takesMs = 0, onCheck = (_: string): void => undefined} = {}) {
  const clock = new ManualClock(Math.PI); // with fractions, as real clocks have
  const counts = new Map<string, number>();
  const scheduler = createScheduler<string, {verified: boolean; agreed: boolean}>({
    async verify(host) {
      counts.set(host, countOf(host) + 1);
      onCheck(host);
      if (takesMs > 0) await clock.sleep(takesMs);
      return {verified, agreed: true};
    },
    shown: verdict => verdict,
    checks,
    driftAfterSeconds: 3600,
    clock,
    random: () => 0.5,
    onError: key => expect.fail(`The check of ${key} failed.`),
  });
  void scheduler.start(new AbortController().signal);
  const countOf = (host: string): number => counts.get(host) ?? 0;
  return {
    clock,
    scheduler,
    countOf,
    total: () => [...counts.values()].reduce((sum, count) => sum + count, 0),
    watch: (urgency: Urgency, ...hosts: readonly string[]) => {
      for (const host of hosts) scheduler.watch(host, {account: 'a', uid: host, question: host, urgency});
    },
    request: (token: string, ...hosts: readonly string[]) => {
      for (const host of hosts) scheduler.request(host, token);
    },
    unanswered: (token: string, hosts: readonly string[]) =>
      hosts.filter(host => scheduler.get(host)?.request !== token),
  };
}

const names = (count: number): string[] => Array.from({length: count}, (_, n) => `h${n}.example.com`);

describe.each<{hosts: string; verified: boolean; urgency: Urgency}>([
  {hosts: 'live hosts', verified: true, urgency: 'steady'},
  {hosts: 'hosts without a record', verified: false, urgency: 'pending'},
])('requests for 200 $hosts every 15 minutes', ({verified, urgency}) => {
  const hosts = names(200);

  test('are all answered, and no host is checked less often than without them', async () => {
    const [left, asked] = [setUp({verified}), setUp({verified})];
    for (const each of [left, asked]) each.watch(urgency, ...hosts);
    for (let run = 0; run < 3 * 4; run++) {
      asked.request(`run ${run}`, ...hosts);
      await asked.clock.advance(PENDING_MAX);
      expect(asked.unanswered(`run ${run}`, hosts)).toEqual([]);
      await asked.clock.advance(15 * MINUTE - PENDING_MAX);
      await left.clock.advance(15 * MINUTE);
      expect(hosts.filter(host => asked.countOf(host) < left.countOf(host))).toEqual([]);
    }
  });
});

test('a request for every host of an account leaves a new host and its next checks where they were', async () => {
  const {clock, watch, request, countOf} = setUp({verified: false});
  const hosts = names(1000);
  watch('pending', ...hosts);
  await clock.advance(MINUTE);
  request('all', ...hosts);
  watch('pending', 'new');
  request('all', 'new');
  await clock.advance(5 * SECOND);
  expect(countOf('new')).toBe(1);
  await clock.advance(5 * SECOND);
  expect(countOf('new')).toBe(2);
});

test('a host for which a script requests checks all the time uses up no more than one check each time', async () => {
  const {clock, watch, request, countOf, unanswered} = setUp();
  watch('steady', 'hot', 'other');
  for (let n = 0; n < 600; n++) {
    request(`token ${n}`, 'hot');
    await clock.advance(99.7);
  }
  expect(countOf('hot')).toBeLessThan(15);
  request('one', 'other');
  await clock.advance(1);
  expect(unanswered('one', ['other'])).toEqual([]);
});

test('requests that bring no check forward use up nothing', async () => {
  const {clock, watch, request, unanswered} = setUp({verified: false});
  const hosts = names(20);
  watch('pending', ...hosts);
  watch('steady', 'other');
  await clock.advance(5 * SECOND);
  request('all', ...hosts);
  request('one', 'other');
  await clock.advance(1);
  expect(unanswered('one', ['other'])).toEqual([]);
  await clock.advance(5 * SECOND);
  expect(unanswered('all', hosts)).toEqual([]);
});

describe('the limit of an account', () => {
  test('allows a burst, then one per soonSeconds, and has the rest wait as long as a host that is not live', async () => {
    const {clock, watch, request, total, unanswered} = setUp();
    const hosts = names(200);
    watch('steady', ...hosts);
    request('all', ...hosts);
    await clock.advance(1);
    expect(total()).toBe(BURST);
    await clock.advance(4 * MINUTE);
    const ordinary = 200 / 15;
    expect(total()).toBeGreaterThanOrEqual(BURST + 4 * 12);
    expect(total()).toBeLessThan(BURST + 4 * 12 + 2 * ordinary);
    await clock.advance(90 * SECOND);
    expect(unanswered('all', hosts)).toEqual([]);
  });

  test.each([
    {hosts: 'live hosts', verified: true, urgency: 'steady', checksPerRequest: 1},
    // Until the pauses have grown to the longest.
    {hosts: 'hosts without a record', verified: false, urgency: 'pending', checksPerRequest: 12},
  ] as const)('also holds for $hosts with requests during each check', async row => {
    let tokens = 0;
    const onCheck = (host: string): void => scheduler.request(host, `token ${tokens++}`);
    const {clock, scheduler, watch, total} = setUp({verified: row.verified, takesMs: SECOND, onCheck});
    const hosts = names(200);
    watch(row.urgency, ...hosts);
    await clock.advance(HOUR);
    const limit = BURST + HOUR / (checks.soonSeconds * SECOND);
    const rest = hosts.length * (HOUR / (checks.pendingMaxSeconds * SECOND) + 12);
    expect(total()).toBeLessThan(limit * row.checksPerRequest + rest);
  });

  test('makes no request late whose urgency changes meanwhile', async () => {
    const {clock, watch, request, unanswered} = setUp();
    watch('pending', 'k');
    await clock.advance(5 * SECOND);
    const hosts = names(20);
    watch('steady', ...hosts, 'k');
    request('all', ...hosts, 'k');
    await clock.advance(SECOND);
    watch('pending', 'k');
    watch('steady', 'k');
    await clock.advance(55 * SECOND);
    expect(unanswered('all', ['k'])).toEqual([]);
  });

  test('lets a check that is due begin, although the urgency changes while it is in the queue', async () => {
    const {clock, watch, request, unanswered} = setUp({takesMs: 10 * SECOND});
    watch('pending', 'k');
    await clock.advance(15 * SECOND);
    const inFlight = names(checks.inFlight / 4);
    watch('steady', ...inFlight, 'k');
    await clock.advance(SECOND);
    request('all', ...inFlight, 'k');
    await clock.advance(5 * SECOND);
    watch('pending', 'k');
    await clock.advance(20 * SECOND);
    expect(unanswered('all', ['k'])).toEqual([]);
  });
});
