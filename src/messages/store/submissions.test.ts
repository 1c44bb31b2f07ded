import {setImmediate as turn} from 'node:timers/promises';
import {expect, test} from 'vitest';
import {type Operation, type OperationResult, StoreError} from './store.ts';
import {type SubmissionLimits, Submissions} from './submissions.ts';

const ENGINE = {engineRows: 1024, engineBytes: 8 << 20};

/** An engine that answers when the test lets it. */
function slowEngine(limits: Partial<SubmissionLimits> = {}) {
  const posted: number[] = [];
  let now = 0;
  const submissions = new Submissions({
    maxWaiting: 1000,
    maxWaitingBytes: 1e9,
    ...ENGINE,
    ...limits,
    wake: () => {
      const taken = submissions.take(1000).length;
      if (taken > 0) posted.push(taken);
    },
    monotonic: () => now,
  });
  const answer = (results: readonly OperationResult[]) => submissions.answer(results);
  return {
    submissions,
    posted,
    get: (id: string) => submissions.submit('get', {account: 'a', id}),
    append: (message: string) => submissions.submit('append', {account: 'a', message}),
    answer,
    /** Answers the oldest operations with undefined. */
    succeed: (count: number) => answer(Array.from({length: count}, () => ({ok: true, value: undefined}))),
    advance: (ms: number) => {
      now += ms;
    },
  };
}

test('the operations of a turn are sent at its end, whatever the engine is doing', async () => {
  const engine = slowEngine();
  const first = engine.get('1');
  expect(engine.posted).toEqual([]);
  await turn();
  const others = [engine.get('2'), engine.get('3')];
  await turn();
  expect(engine.posted).toEqual([1, 2]);
  engine.succeed(3);
  await Promise.all([first, ...others]);
});

test('a turn with many operations sends them without waiting for the last', async () => {
  const engine = slowEngine();
  const all = Array.from({length: 40}, (_, n) => engine.get(String(n)));
  expect(engine.posted).toEqual([16, 16]);
  await turn();
  expect(engine.posted).toEqual([16, 16, 8]);
  engine.succeed(40);
  await Promise.all(all);
});

test('results settle the oldest operations in order, however they were posted', async () => {
  const engine = slowEngine();
  const results = [engine.append('1'), engine.append('2')];
  await turn();
  results.push(engine.append('3'));
  await turn();
  const appended = (id: string): OperationResult => ({ok: true, value: {kind: 'appended', id, createdAt: 0}});
  engine.answer([appended('1')]);
  engine.answer([appended('2'), {ok: false, refusal: 'full', problem: 'no room'}]);
  await expect(Promise.all(results.slice(0, 2))).resolves.toMatchObject([{id: '1'}, {id: '2'}]);
  await expect(results[2]).rejects.toMatchObject({refusal: 'full', message: 'no room'});
});

test.each([
  ['number', {maxWaiting: 3}, 'x'],
  ['bytes', {maxWaitingBytes: 4000}, 'x'.repeat(1000)],
])('what waits is bounded in %s: one more is refused as busy, at once', async (_, limits, message) => {
  const engine = slowEngine(limits);
  const waiting = [engine.append(message)];
  await turn();
  waiting.push(engine.append(message), engine.append(message));
  await expect(engine.append(message)).rejects.toMatchObject({refusal: 'busy'});
  await turn();
  engine.succeed(1);
  waiting.push(engine.append(message));
  await expect(engine.append(message)).rejects.toMatchObject({refusal: 'busy'});
  await turn();
  engine.succeed(3);
  await Promise.all(waiting);
});

test.each([
  {flood: 'claims of 100 rows', kind: 'claim', given: {account: 'mine', limit: 100, leaseMs: 1000}, most: 11},
  {flood: 'messages of 1 MB', kind: 'append', given: {account: 'mine', message: 'x'.repeat(1e6)}, most: 9},
] as const)(
  // attack: message-work
  'one account floods the engine with $flood: an operation of another is at most one engine load behind',
  async row => {
    const {kind, given, most} = row;
    const chunks: (readonly Operation[])[] = [];
    const submissions = new Submissions({
      maxWaiting: 10_000,
      maxWaitingBytes: 1e10,
      ...ENGINE,
      wake: () => {
        for (let taken = submissions.take(16); taken.length > 0; taken = submissions.take(16)) chunks.push(taken);
      },
      monotonic: () => 0,
    });
    const flood = Array.from({length: 2000}, () => submissions.submit(kind, given));
    await turn();
    const theirs = submissions.submit('append', {account: 'theirs', message: 'x'});
    await turn();
    const sent = () => chunks.flat();
    const atEngine = sent().length;
    expect(atEngine).toBeLessThanOrEqual(most);
    submissions.answer(Array.from({length: atEngine}, () => ({ok: true, value: []})));
    const next = sent().slice(atEngine, atEngine + 2);
    expect(next.some(({given}) => 'account' in given && given.account === 'theirs')).toBe(true);
    submissions.fail(new Error('the end of the test'));
    await Promise.allSettled([...flood, theirs]);
  },
);

test('reports how long the engine has owed an answer', async () => {
  const engine = slowEngine();
  expect(engine.submissions.silentMs).toBe(0);
  const answers = [engine.get('1'), engine.get('2')];
  await turn();
  engine.advance(700);
  expect(engine.submissions.silentMs).toBe(700);
  engine.succeed(1);
  expect(engine.submissions.silentMs).toBe(0);
  engine.advance(300);
  expect(engine.submissions.silentMs).toBe(300);
  engine.succeed(1);
  expect(engine.submissions.silentMs).toBe(0);
  await Promise.all(answers);
});

test('idle: when everything has been answered', async () => {
  const engine = slowEngine();
  await engine.submissions.idle();
  const answer = engine.get('1');
  let idle = false;
  const waited = engine.submissions.idle().then(() => {
    idle = true;
  });
  await turn();
  expect(idle).toBe(false);
  engine.succeed(1);
  await waited;
  await answer;
});

test('after the engine is gone, everything is rejected; what a write at the engine has done is unknown', async () => {
  const engine = slowEngine();
  const outcomes: Promise<unknown>[] = [engine.append('1'), engine.get('1')];
  await turn();
  outcomes.push(engine.append('2'), engine.get('2'));
  engine.submissions.fail(new Error('the thread ended'));
  outcomes.push(engine.append('3'));
  const refusals = (await Promise.allSettled(outcomes)).map(outcome => {
    const {reason} = outcome as PromiseRejectedResult;
    expect(reason).toBeInstanceOf(StoreError);
    expect(reason.message).toBe('the thread ended');
    return reason.refusal;
  });
  expect(refusals).toEqual(['unknown', 'down', 'down', 'down', 'down']);
  await turn();
  expect(engine.posted).toEqual([2]);
  await engine.submissions.idle();
});
