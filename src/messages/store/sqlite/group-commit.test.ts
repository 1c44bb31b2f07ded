import {expect, test} from 'vitest';
import type {Chunk, Operation} from '../queue/operations.ts';
import {gather} from './group-commit.ts';

let made = 0;

function chunk(operations: number, bytes = operations): Chunk {
  const get = (): Operation => ({kind: 'get', given: {account: 'a', id: String(made++)}});
  return {operations: Array.from({length: operations}, get), bytes, now: made};
}

/** The chunks that share the first commit, and how many are left for the next. */
function gathered([first, ...others]: readonly Chunk[]) {
  if (first === undefined) throw new Error('there is no first chunk');
  const waiting = [...others];
  const batch = gather(first, () => waiting.shift());
  return {batch, left: waiting.length};
}

test('a single operation is a batch: it does not wait for others', () => {
  const only = chunk(1);
  expect(gathered([only])).toEqual({batch: only, left: 0});
});

test('all that is there shares a commit, in order, at the time of the last', () => {
  const chunks = [chunk(1), chunk(16), chunk(3)];
  const {batch, left} = gathered(chunks);
  expect(batch.operations).toEqual(chunks.flatMap(({operations}) => operations));
  expect(batch.now).toBe(chunks.at(-1)?.now);
  expect(left).toBe(0);
});

test.each([
  ['number', Array.from({length: 40}, () => chunk(16)), 512],
  ['bytes', Array.from({length: 6}, () => chunk(1, 1 << 20)), 4],
])('a batch is bounded in %s', (_, chunks, operations) => {
  const {batch, left} = gathered(chunks);
  expect(batch.operations).toHaveLength(operations);
  expect(left).toBeGreaterThan(0);
});
