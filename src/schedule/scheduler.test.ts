import {describe, expect, test} from 'vitest';
import {ManualClock} from '../../test/support/manual-clock.ts';
import type {ProofQuestion, Verdict} from '../dns/dns.ts';
import {createScheduler, type Watched} from './scheduler.ts';

const checks = {soonSeconds: 5, pendingMaxSeconds: 60, steadySeconds: 3600, inFlight: 8};
const SECOND = 1000;
const MINUTE = 60 * SECOND;

const verdict = (more: Partial<Verdict> = {}): Verdict => ({
  reason: 'RecordMissing',
  verified: false,
  message: 'missing',
  agreed: true,
  observed: [],
  addressesOnly: false,
  txtValues: [],
  caa: {outcome: 'unchecked', message: ''},
  ...more,
});
const VERIFIED = verdict({reason: 'Verified', verified: true, message: 'right'});

function watched(more: Partial<Watched<ProofQuestion>> = {}, host = 'shop.example.com'): Watched<ProofQuestion> {
  const question: ProofQuestion = {
    host,
    target: 'acct.edge.example.net',
    txtName: `_nameplate.${host}`,
    txtValue: 'token',
    apexProof: 'txt',
    caaIdentities: [],
  };
  return {account: 'a', uid: host, question, urgency: 'pending', ...more};
}

/** A scheduler whose verify answers with what `answer` holds, or hangs until `release`, where `hang` says so. */
function setUp(hang = false, more: Partial<typeof checks> = {}) {
  const clock = new ManualClock();
  const asked: string[] = [];
  const told: string[] = [];
  const waiting: (() => void)[] = [];
  const state = {answer: verdict(), fail: false};
  const errors: string[] = [];
  const scheduler = createScheduler<ProofQuestion, Verdict>({
    shown: ({minTtlSeconds: _, ...shown}) => shown,
    async verify({host}) {
      asked.push(host);
      if (hang) await new Promise<void>(resolve => waiting.push(resolve));
      if (state.fail) throw new Error('unexpected');
      return state.answer;
    },
    checks: {...checks, ...more},
    driftAfterSeconds: 600,
    clock,
    random: () => 0.5,
    onError: key => errors.push(key),
  });
  scheduler.subscribe(key => told.push(key));
  const stop = new AbortController();
  const done = scheduler.start(stop.signal);
  return {clock, asked, told, state, scheduler, stop, done, waiting, errors};
}

describe('a pending name', () => {
  test('is checked soon, and then with growing pauses', async () => {
    const {clock, asked, scheduler} = setUp();
    scheduler.watch('k', watched());
    await clock.advance(5 * SECOND);
    expect(asked).toHaveLength(1);
    await clock.advance(5 * SECOND);
    expect(asked).toHaveLength(2);
    await clock.advance(10 * MINUTE);
    expect(asked.length).toBeGreaterThan(10);
    expect(asked.length).toBeLessThan(25);
  });

  test('reports its first verdict and changes, but not the same verdict again', async () => {
    const {clock, told, state, scheduler} = setUp();
    scheduler.watch('k', watched());
    await clock.advance(MINUTE);
    expect(told).toEqual(['k']);
    state.answer = VERIFIED;
    await clock.advance(2 * MINUTE);
    expect(told).toEqual(['k', 'k']);
    expect(scheduler.get('k')?.verdict.verified).toBe(true);
  });

  test('is checked on with growing pauses though it is verified, until it is called steady', async () => {
    const {clock, asked, state, scheduler} = setUp();
    state.answer = VERIFIED;
    scheduler.watch('k', watched());
    await clock.advance(25 * MINUTE);
    expect(asked.length).toBeGreaterThan(20);
    scheduler.watch('k', watched({urgency: 'steady'}));
    const before = asked.length;
    await clock.advance(24 * 60 * MINUTE);
    expect(asked.length - before).toBeGreaterThanOrEqual(23);
    expect(asked.length - before).toBeLessThanOrEqual(26);
  });

  test.each(['pending', 'steady'] as const)(
    'whose check was cut short is soon checked again, three times, and then at the pace of a host that is %s',
    async urgency => {
      const {clock, asked, state, scheduler} = setUp();
      state.answer = VERIFIED;
      scheduler.watch('k', watched({urgency}));
      await clock.advance(urgency === 'steady' ? 24 * 60 * MINUTE : 60 * MINUTE);
      state.answer = verdict({agreed: false, unfinished: true});
      const before = asked.length;
      while (asked.length === before) await clock.advance(SECOND);
      await clock.advance(3 * 6 * SECOND);
      expect(asked.length - before).toBe(4);
      await clock.advance(30 * SECOND);
      expect(asked.length - before).toBe(4);
      state.answer = VERIFIED;
      while (asked.length === before + 4) await clock.advance(SECOND);
      await clock.advance(30 * SECOND);
      expect(asked.length - before).toBe(5);
    },
  );

  test('watched again with the same subject is not checked for that', async () => {
    const {clock, asked, scheduler} = setUp();
    scheduler.watch('k', watched());
    await clock.advance(5 * SECOND);
    for (let n = 0; n < 10; n++) scheduler.watch('k', watched());
    await clock.advance(1 * SECOND);
    expect(asked).toHaveLength(1);
  });

  test('with a changed question forgets its verdict and is checked immediately', async () => {
    const {clock, asked, scheduler} = setUp();
    scheduler.watch('k', watched());
    await clock.advance(5 * SECOND);
    scheduler.watch('k', watched({}, 'other.example.com'));
    expect(scheduler.get('k')).toBeUndefined();
    await clock.advance(0);
    expect(asked).toEqual(['shop.example.com', 'other.example.com']);
  });

  test('drops the verdict about a question that changed meanwhile', async () => {
    const {clock, asked, scheduler, waiting, told} = setUp(true);
    scheduler.watch('k', watched());
    await clock.advance(5 * SECOND);
    scheduler.watch('k', watched({}, 'other.example.com'));
    waiting.shift()?.();
    await clock.advance(0);
    await clock.advance(0);
    expect(scheduler.get('k')).toBeUndefined();
    expect(told).toEqual([]);
    expect(asked).toEqual(['shop.example.com', 'other.example.com']);
  });

  test('is checked again after an unexpected failure', async () => {
    const {clock, asked, errors, state, scheduler} = setUp();
    state.fail = true;
    scheduler.watch('k', watched());
    await clock.advance(5 * SECOND);
    expect(errors).toEqual(['k']);
    state.fail = false;
    await clock.advance(10 * SECOND);
    expect(asked.length).toBeGreaterThan(1);
    expect(scheduler.get('k')).toBeDefined();
  });

  test('is checked again though the check before it never ends, and a late verdict of that is dropped', async () => {
    const {clock, asked, told, errors, waiting, scheduler} = setUp(true, {inFlight: 1});
    scheduler.watch('k', watched());
    await clock.advance(5 * SECOND);
    expect(asked).toHaveLength(1);
    await clock.advance(5 * MINUTE);
    expect(errors).toContain('k');
    expect(asked.length).toBeGreaterThan(1);
    waiting.shift()?.();
    await clock.advance(0);
    expect(told).toEqual([]);
  });

  test('is no longer checked when it is not watched', async () => {
    const {clock, asked, scheduler} = setUp();
    scheduler.watch('k', watched());
    scheduler.unwatch('k');
    await clock.advance(10 * MINUTE);
    expect(asked).toEqual([]);
    expect(scheduler.get('k')).toBeUndefined();
  });
});

describe('a steady name', () => {
  test('is checked once in a period, and not before, also in one that no timer can hold', async () => {
    const days = 24 * 60 * MINUTE;
    const {clock, asked, state, scheduler} = setUp(false, {steadySeconds: (60 * days) / SECOND});
    state.answer = VERIFIED;
    scheduler.watch('k', watched({urgency: 'steady'}));
    await clock.advance(60 * days);
    expect(asked).toHaveLength(1);
  });

  test('has no burst of checks after a restart', async () => {
    const {clock, asked, state, scheduler} = setUp();
    state.answer = VERIFIED;
    for (let n = 0; n < 1000; n++) scheduler.watch(`k${n}`, watched({urgency: 'steady'}, `h${n}.example.com`));
    await clock.advance(MINUTE);
    expect(asked.length).toBeLessThan(50);
    await clock.advance(59 * MINUTE);
    expect(asked.length).toBeGreaterThanOrEqual(1000);
  });

  test('in trouble is checked soon again', async () => {
    const {clock, asked, scheduler} = setUp();
    scheduler.watch('k', watched({urgency: 'steady'}));
    await clock.advance(60 * MINUTE);
    expect(asked.length).toBeGreaterThan(5);
  });
});

describe('a request', () => {
  test('is answered soon, once for each token', async () => {
    const {clock, asked, told, state, scheduler} = setUp();
    state.answer = VERIFIED;
    scheduler.watch('k', watched({urgency: 'steady'}));
    scheduler.request('k', 'one');
    await clock.advance(0);
    expect(asked).toHaveLength(1);
    expect(scheduler.get('k')?.request).toBe('one');
    scheduler.request('k', 'one');
    await clock.advance(MINUTE);
    expect(asked).toHaveLength(1);
    scheduler.request('k', 'two');
    await clock.advance(0);
    expect(scheduler.get('k')?.request).toBe('two');
    expect(told).toEqual(['k', 'k']);
  });

  test('during a check is answered by the next one', async () => {
    const {clock, asked, scheduler, waiting} = setUp(true);
    scheduler.watch('k', watched());
    await clock.advance(5 * SECOND);
    scheduler.request('k', 'one');
    waiting.shift()?.();
    await clock.advance(0);
    expect(scheduler.get('k')?.request).toBeUndefined();
    await clock.advance(5 * SECOND);
    waiting.shift()?.();
    await clock.advance(0);
    expect(asked).toHaveLength(2);
    expect(scheduler.get('k')?.request).toBe('one');
  });

  test('is answered soon, although the clock was set back', async () => {
    const {clock, scheduler} = setUp();
    scheduler.watch('k', watched());
    await clock.advance(MINUTE);
    clock.step(-60 * MINUTE);
    scheduler.request('k', 'one');
    await clock.advance(5 * SECOND);
    expect(scheduler.get('k')?.request).toBe('one');
  });

  test('does not let an account check without pause', async () => {
    const {clock, asked, scheduler} = setUp();
    scheduler.watch('k', watched());
    for (let n = 0; n < 600; n++) {
      scheduler.request('k', `token ${n}`);
      await clock.advance(100);
    }
    expect(asked.length).toBeLessThan(15);
  });
});

describe('the run of agreed negative verdicts', () => {
  test('starts with the first one, and ends with a missing or a correct answer', async () => {
    const {clock, state, scheduler} = setUp();
    scheduler.watch('k', watched());
    await clock.advance(5 * SECOND);
    const start = scheduler.get('k')?.checkedAt;
    await clock.advance(5 * MINUTE);
    expect(scheduler.get('k')?.agreedSince).toBe(start);
    state.answer = verdict({agreed: false});
    await clock.advance(5 * MINUTE);
    expect(scheduler.get('k')?.agreedSince).toBeUndefined();
    state.answer = verdict();
    await clock.advance(5 * MINUTE);
    expect(scheduler.get('k')?.agreedSince).toBeGreaterThan(start ?? 0);
    state.answer = VERIFIED;
    await clock.advance(5 * MINUTE);
    expect(scheduler.get('k')?.agreedSince).toBeUndefined();
  });

  test('is no drift because the clock was set forward', async () => {
    const {clock, told, scheduler} = setUp();
    scheduler.watch('k', watched());
    await clock.advance(MINUTE);
    clock.step(60 * MINUTE);
    await clock.advance(5 * MINUTE);
    expect(told).toHaveLength(1);
  });

  test('reports once when it has lasted long enough to be drift', async () => {
    const {clock, told, scheduler} = setUp();
    scheduler.watch('k', watched());
    await clock.advance(8 * MINUTE);
    expect(told).toHaveLength(1);
    await clock.advance(10 * MINUTE);
    expect(told).toHaveLength(2);
    await clock.advance(60 * MINUTE);
    expect(told).toHaveLength(2);
  });
});

test('checks that take long, in all places of an account, are not queued again when others are due', async () => {
  const {clock, asked, scheduler, waiting} = setUp(true);
  const slow = Array.from({length: checks.inFlight / 4}, (_, n) => `slow${n}.example.com`);
  for (const host of slow) scheduler.watch(host, watched({}, host));
  await clock.advance(5 * SECOND);
  scheduler.watch('other', watched({account: 'b'}, 'other.example.org'));
  await clock.advance(5 * SECOND);
  expect(asked).toHaveLength(slow.length + 1);
  for (const end of waiting) end();
  await clock.advance(SECOND);
  expect(asked).toHaveLength(slow.length + 1);
});

test('a check that is due begins when a slow one of its account ends', async () => {
  const {clock, asked, scheduler, waiting} = setUp(true);
  const hosts = Array.from({length: checks.inFlight / 4 + 1}, (_, n) => `h${n}.example.com`);
  for (const host of hosts) scheduler.watch(host, watched({}, host));
  await clock.advance(6 * SECOND);
  expect(asked).toHaveLength(hosts.length - 1);
  waiting.shift()?.();
  await clock.advance(0);
  expect(asked.toSorted()).toEqual(hosts);
});

describe('fairness', () => {
  // attack: hostile-dns
  test("the requests of an account with a thousand names do not delay another's", async () => {
    const {clock, asked, scheduler} = setUp();
    const greedy = Array.from({length: 1000}, (_, n) => `a${n}`);
    for (const key of greedy) scheduler.watch(key, watched({account: 'a', urgency: 'steady'}, `${key}.example.com`));
    scheduler.watch('b', watched({account: 'b', urgency: 'steady'}, 'b.example.org'));
    for (const key of greedy) scheduler.request(key, 'now');
    scheduler.request('b', 'now');
    await clock.advance(SECOND);
    expect(asked).toContain('b.example.org');
    expect(scheduler.get('b')?.request).toBe('now');
    expect(asked.length).toBeLessThan(20);
  });

  // attack: hostile-dns
  test('an account with a thousand names on hanging servers does not delay another', async () => {
    const {clock, asked, scheduler} = setUp(true);
    for (let n = 0; n < 1000; n++) scheduler.watch(`a${n}`, watched({account: 'a'}, `h${n}.example.com`));
    await clock.advance(5 * SECOND);
    expect(asked).toHaveLength(checks.inFlight / 4);
    scheduler.watch('b', watched({account: 'b'}, 'b.example.org'));
    await clock.advance(5 * SECOND);
    expect(asked).toContain('b.example.org');
  });
});

test('stops on request, after the checks in flight', async () => {
  const {clock, asked, scheduler, waiting, stop, done} = setUp(true);
  scheduler.watch('k', watched());
  await clock.advance(5 * SECOND);
  stop.abort();
  waiting.shift()?.();
  await done;
  await clock.advance(10 * MINUTE);
  expect(asked).toHaveLength(1);
});
