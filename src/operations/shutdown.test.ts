import {EventEmitter} from 'node:events';
import {pino} from 'pino';
import {afterEach, beforeEach, expect, test, vi} from 'vitest';
import {handleShutdown} from './shutdown.ts';

class FakeProcess extends EventEmitter {
  readonly exits: number[] = [];

  exit(code: number): void {
    this.exits.push(code);
  }
}

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

function start() {
  const target = new FakeProcess();
  const shutdown = handleShutdown({logger: pino({level: 'silent'}), deadlineMs: 1000, process: target});
  return {target, shutdown};
}

test.each(['SIGTERM', 'SIGINT'])('%s aborts the signal and lets the work end', name => {
  const {target, shutdown} = start();
  expect(shutdown.signal.aborted).toBe(false);
  target.emit(name, name);
  expect(shutdown.signal.reason).toMatchObject({message: `shutting down: ${name}`});
  expect(target.exits).toEqual([]);
});

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
])('a second signal, %s, ends the process at once with %i', (name, code) => {
  const {target} = start();
  target.emit('SIGTERM', 'SIGTERM');
  target.emit(name, name);
  expect(target.exits).toEqual([code]);
});

test('work that does not end is ended at the deadline', () => {
  const {target} = start();
  target.emit('SIGTERM', 'SIGTERM');
  vi.advanceTimersByTime(999);
  expect(target.exits).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(target.exits).toEqual([1]);
});

test('it can begin from inside, once; a signal after that is the second', () => {
  const {target, shutdown} = start();
  shutdown.begin('lease lost');
  shutdown.begin('something else');
  expect(shutdown.signal.reason).toMatchObject({message: 'shutting down: lease lost'});
  target.emit('SIGTERM', 'SIGTERM');
  expect(target.exits).toEqual([143]);
});

test('once the work has ended, neither deadline nor signals do anything', () => {
  const {target, shutdown} = start();
  target.emit('SIGTERM', 'SIGTERM');
  shutdown.finished();
  target.emit('SIGTERM', 'SIGTERM');
  vi.advanceTimersByTime(10_000);
  expect(target.exits).toEqual([]);
  expect(target.listenerCount('SIGTERM') + target.listenerCount('SIGINT')).toBe(0);
});
