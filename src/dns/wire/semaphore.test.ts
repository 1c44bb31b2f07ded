import {expect, test} from 'vitest';
import {Semaphore} from './semaphore.ts';

test('no more than the limit run, in order of arrival, and one that gives up waiting is skipped', async () => {
  const semaphore = new Semaphore(1);
  const log: string[] = [];
  const gates = new Map<string, () => void>();
  const task = (name: string) => () => {
    log.push(name);
    return new Promise<void>(resolve => gates.set(name, resolve));
  };
  const {signal} = new AbortController();
  const impatient = new AbortController();
  const first = semaphore.run(task('first'), signal);
  const second = semaphore.run(task('second'), impatient.signal);
  const third = semaphore.run(task('third'), signal);
  impatient.abort(new Error('gave up'));
  await expect(second).rejects.toThrow('gave up');
  expect(log).toEqual(['first']);
  gates.get('first')?.();
  await first;
  expect(log).toEqual(['first', 'third']);
  gates.get('third')?.();
  await third;
  expect(semaphore.idle).toBe(true);
});

test('a task that fails gives its place back', async () => {
  const semaphore = new Semaphore(1);
  const {signal} = new AbortController();
  await expect(semaphore.run(() => Promise.reject(new Error('failed')), signal)).rejects.toThrow('failed');
  expect(await semaphore.run(async () => 'next', signal)).toBe('next');
});
