import {getEventListeners} from 'node:events';
import {expect, test} from 'vitest';
import {abortable, withDeadline} from './deadline.ts';

const untilAborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason));
  });

test('what the work resolves or rejects with is passed on, and nothing is left at the parent', async () => {
  const parent = new AbortController().signal;
  await expect(withDeadline(60_000, parent, async () => 1)).resolves.toBe(1);
  await expect(withDeadline(60_000, parent, () => Promise.reject(new Error('its own')))).rejects.toThrow('its own');
  expect(getEventListeners(parent, 'abort')).toEqual([]);
});

test('the time that runs out aborts the work with a DeadlineError', async () => {
  const parent = new AbortController().signal;
  await expect(withDeadline(1, parent, untilAborted)).rejects.toMatchObject({name: 'DeadlineError'});
});

test('the parent aborts the work with its own reason, before or meanwhile', async () => {
  const parent = new AbortController();
  const work = withDeadline(60_000, parent.signal, untilAborted);
  parent.abort(new Error('the end'));
  await expect(work).rejects.toThrow('the end');
  await expect(withDeadline(60_000, parent.signal, untilAborted)).rejects.toThrow('the end');
});

test('work that ignores its signal is no longer waited for, and nothing is left at the signal', async () => {
  const controller = new AbortController();
  const waiting = abortable(new Promise<never>(() => {}), controller.signal);
  controller.abort(new Error('the end'));
  await expect(waiting).rejects.toThrow('the end');
  await expect(abortable(new Promise<never>(() => {}), controller.signal)).rejects.toThrow('the end');
  const {signal} = new AbortController();
  await expect(abortable(Promise.resolve(1), signal)).resolves.toBe(1);
  await expect(abortable(Promise.reject(new Error('its own')), signal)).rejects.toThrow('its own');
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});
