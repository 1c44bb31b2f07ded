import {setImmediate as turn} from 'node:timers/promises';
import {expect, test} from 'vitest';
import {GroupCommit, type GroupCommitLimits} from './group-commit.ts';
import type {BatchResult, Operation} from './operations.ts';

/** A disk whose every commit ends when the test says so. */
function slowDisk(limits: Partial<GroupCommitLimits> = {}) {
  const batches: {readonly batch: readonly Operation[]; readonly end: PromiseWithResolvers<BatchResult>}[] = [];
  let now = 0;
  const commits = new GroupCommit({
    maxWaiting: 1000,
    maxWaitingBytes: 1e9,
    ...limits,
    apply: batch => {
      const end = Promise.withResolvers<BatchResult>();
      batches.push({batch, end});
      return end.promise;
    },
    onBatch: () => undefined,
    monotonic: () => now,
  });
  return {
    commits,
    sizes: () => batches.map(({batch}) => batch.length),
    get: (id: string) => commits.submit('get', {account: 'a', id}),
    append: (message: string) => commits.submit('append', {account: 'a', message}),
    /** Answers each operation of the oldest batch under way with undefined. */
    async end(): Promise<void> {
      const {batch, end} = batches.find(({end}) => !ended.has(end)) ?? {};
      if (!batch || !end) throw new Error('nothing is under way');
      ended.add(end);
      end.resolve({results: batch.map(() => ({ok: true, value: undefined})), room: 0, commitMs: 1});
      await turn();
    },
    fail: (error: Error) => batches.at(-1)?.end.reject(error),
    advance: (ms: number) => {
      now += ms;
    },
  };
}
const ended = new Set<object>();

test('one alone leaves at once: nothing waits for company', async () => {
  const disk = slowDisk();
  const answer = disk.get('1');
  await turn();
  expect(disk.sizes()).toEqual([1]);
  await disk.end();
  await expect(answer).resolves.toBeUndefined();
});

test('those of one turn leave together; those that come while the disk works make up the next batch', async () => {
  const disk = slowDisk();
  const first = [disk.get('1'), disk.get('2')];
  await turn();
  const second = [disk.get('3'), disk.get('4'), disk.get('5')];
  await turn();
  expect(disk.sizes()).toEqual([2]);
  expect(disk.commits.waiting).toBe(3);
  await disk.end();
  await Promise.all(first);
  expect(disk.sizes()).toEqual([2, 3]);
  await disk.end();
  await Promise.all(second);
});

test('one batch is bounded in number and in bytes', async () => {
  const disk = slowDisk();
  const all = Array.from({length: 600}, (_, n) => disk.get(String(n)));
  await turn();
  expect(disk.sizes()).toEqual([512]);
  await disk.end();
  await disk.end();
  await Promise.all(all);
  const long = Array.from({length: 5}, () => disk.append('x'.repeat(1 << 20)));
  await turn();
  expect(disk.sizes()).toEqual([512, 88, 4]);
  await disk.end();
  await disk.end();
  await Promise.all(long);
});

test.each([
  ['number', {maxWaiting: 2}, 'x'],
  ['bytes', {maxWaitingBytes: 2000}, 'x'.repeat(1000)],
])('what waits is bounded in %s: one more is refused as busy, at once', async (_, limits, message) => {
  const disk = slowDisk(limits);
  const first = disk.append(message);
  await turn();
  const waiting = [disk.append(message), disk.append(message)];
  await expect(disk.append(message)).rejects.toMatchObject({refusal: 'busy'});
  await disk.end();
  await disk.end();
  await Promise.all([first, ...waiting]);
});

test('the time that the disk takes is told', async () => {
  const disk = slowDisk();
  expect(disk.commits.underWayMs).toBe(0);
  const answer = disk.get('1');
  await turn();
  disk.advance(700);
  expect(disk.commits.underWayMs).toBe(700);
  await disk.end();
  await answer;
  expect(disk.commits.underWayMs).toBe(0);
});

test('idle: when all has been answered', async () => {
  const disk = slowDisk();
  await disk.commits.idle();
  const answer = disk.get('1');
  let idle = false;
  const waited = disk.commits.idle().then(() => {
    idle = true;
  });
  await turn();
  expect(idle).toBe(false);
  await disk.end();
  await waited;
  await answer;
});

test('an engine that is gone refuses what was under way, what waits and what comes', async () => {
  const disk = slowDisk();
  const gone = new Error('the thread ended');
  const outcomes = [disk.get('1')];
  await turn();
  outcomes.push(disk.get('2'));
  disk.commits.fail(gone);
  disk.fail(gone);
  outcomes.push(disk.get('3'));
  for (const outcome of await Promise.allSettled(outcomes)) {
    expect(outcome).toMatchObject({status: 'rejected', reason: {refusal: 'down', message: 'the thread ended'}});
  }
});
