import {pino} from 'pino';
import {expect, test} from 'vitest';
import {ManualClock} from '../../../../test/support/manual-clock.ts';
import type {Operation} from '../queue/operations.ts';
import {rowsOf, textLength} from '../queue/submissions.ts';
import {BATCH_BYTES, BATCH_ROWS, BatchingConnection} from './batching-connection.ts';
import type {Session} from './session/session.ts';

const never = new Promise<void>(() => {});
const session = {isBroken: false, ended: never, [Symbol.dispose]: () => {}} as Partial<Session> as Session;

/** Every batch of these operations, which all arrive at the same time. */
async function batchesOf(operations: readonly Operation[]): Promise<readonly (readonly Operation[])[]> {
  const batches: (readonly Operation[])[] = [];
  const connection = new BatchingConnection({
    maxWaiting: operations.length,
    maxWaitingBytes: Number.POSITIVE_INFINITY,
    open: async () => session,
    perform: async (_, batch) => {
      batches.push(batch);
      return batch.map(() => []);
    },
    clock: new ManualClock(),
    logger: pino({level: 'silent'}),
    onBatch: () => {},
  });
  while (connection.problem !== undefined) await Promise.resolve();
  await Promise.all(operations.map(({kind, given}) => connection.submit(kind, given)));
  await connection.close();
  return batches;
}

const times = (count: number, operation: Operation) => Array.from({length: count}, () => operation);
const append = (message: string): Operation => ({kind: 'append', given: {account: 'mine', message}});
const claim: Operation = {kind: 'claim', given: {account: 'mine', limit: 100, leaseMs: 1000}};
const sum = (batch: readonly Operation[], of: (given: object) => number) =>
  batch.reduce((total, {given}) => total + of(given), 0);

test.each([
  {what: 'messages', operations: times(2000, append('x'))},
  {what: 'claims of 100', operations: times(100, claim)},
])('$what: a transaction has a limited number of rows', async ({operations}) => {
  const batches = await batchesOf(operations);
  expect(batches.flat()).toHaveLength(operations.length);
  expect(Math.max(...batches.map(batch => sum(batch, rowsOf)))).toBeLessThan(BATCH_ROWS + 100);
});

test('long messages: a transaction has a limited number of bytes', async () => {
  const longest = 256 * 1024;
  const batches = await batchesOf(times(64, append('x'.repeat(longest))));
  expect(batches.flat()).toHaveLength(64);
  expect(Math.max(...batches.map(batch => sum(batch, textLength)))).toBeLessThan(BATCH_BYTES + longest);
});
