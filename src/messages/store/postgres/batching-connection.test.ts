import {pino} from 'pino';
import {expect, test} from 'vitest';
import {ManualClock} from '../../../../test/support/manual-clock.ts';
import {BATCH_BYTES, BATCH_ROWS} from '../rules.ts';
import {type Operation, type OperationValue, StoreError} from '../store.ts';
import {rowsOf, textLength} from '../submissions.ts';
import {BatchingConnection, type BatchingConnectionOptions} from './batching-connection.ts';
import type {Session} from './session/session.ts';

const never = new Promise<void>(() => {});
const session = {isBroken: false, ended: never, [Symbol.dispose]: () => {}} as Partial<Session> as Session;

type Perform = BatchingConnectionOptions['perform'];

async function connectionWith(perform: Perform): Promise<BatchingConnection> {
  const connection = new BatchingConnection({
    maxWaiting: Number.POSITIVE_INFINITY,
    maxWaitingBytes: Number.POSITIVE_INFINITY,
    open: async () => session,
    perform,
    clock: new ManualClock(),
    logger: pino({level: 'silent'}),
    onBatch: () => {},
  });
  while (connection.problem !== undefined) await Promise.resolve();
  return connection;
}

const nextTurn = () => new Promise(resolve => setImmediate(resolve));

/** Every batch of these operations, which all arrive at the same time, and join what they may. */
async function batchesOf(operations: readonly Operation[]): Promise<readonly (readonly Operation[])[]> {
  const batches: (readonly Operation[])[] = [];
  const connection = await connectionWith(async (_, batch, join) => {
    await nextTurn();
    join(() => true);
    batches.push(batch);
    return batch.map(() => []);
  });
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

/** Submits messages, the second and later ones while the first one is being performed. */
async function appended(texts: readonly string[], perform: Perform) {
  const connection = await connectionWith(async (...given) => {
    for (let turns = 2; turns > 0; turns--) await nextTurn(); // They are submitted in the first, and sent in the second.
    return perform(...given);
  });
  const append = (message: string) => connection.submit('append', {account: 'mine', message});
  const [first = '', ...rest] = texts;
  const answers = [append(first)];
  await nextTurn();
  answers.push(...rest.map(append));
  return Promise.allSettled(answers);
}

const textOf = ({given}: Operation) => ('message' in given ? String(given.message) : '');

test('what joins a batch is answered with it, in order, up to the first that does not fit', async () => {
  const batches: string[][] = [];
  const answers = await appended(['a', 'b', 'c', 'no', 'd'], async (_, batch, join) => {
    join(operation => textOf(operation) !== 'no');
    batches.push(batch.map(textOf));
    return batch.map((each): OperationValue => ({kind: 'appended', id: textOf(each), createdAt: 0}));
  });
  expect(batches).toEqual([
    ['a', 'b', 'c'],
    ['no', 'd'],
  ]);
  expect(answers.map(answer => answer.status === 'fulfilled' && 'id' in answer.value && answer.value.id)).toEqual([
    'a',
    'b',
    'c',
    'no',
    'd',
  ]);
});

test('if a batch fails, so does what has joined it', async () => {
  const answers = await appended(['a', 'b'], async (_, _batch, join) => {
    join(() => true);
    throw new StoreError('busy', 'locked');
  });
  expect(answers).toMatchObject(Array.from({length: 2}, () => ({status: 'rejected', reason: {refusal: 'busy'}})));
});
