import {setImmediate as turn} from 'node:timers/promises';
import {expect, test} from 'vitest';
import {runInLanes} from './lanes.ts';

/** Runs items such as "a1" of lane "a". `total` and `inLane`: the most that ran at the same time. */
async function runAll(items: readonly string[], workers: number, most = Number.POSITIVE_INFINITY) {
  const running: string[] = [];
  const order: string[] = [];
  let [total, inLane] = [0, 0];
  const laneOf = (item: string) => item.slice(0, 1);
  const left = await runInLanes(items, {laneOf, workers, mayStart: () => order.length < most}, async item => {
    order.push(item);
    running.push(item);
    total = Math.max(total, running.length);
    inLane = Math.max(inLane, running.filter(other => laneOf(other) === laneOf(item)).length);
    await turn();
    running.splice(running.indexOf(item), 1);
  });
  return {total, inLane, order, left};
}

test('several lanes run at once, and no lane runs twice', async () => {
  const items = ['a1', 'a2', 'a3', 'b1', 'c1', 'c2', 'd1', 'e1'];
  const {total, inLane, order, left} = await runAll(items, 3);
  expect({total, inLane, left}).toEqual({total: 3, inLane: 1, left: []});
  expect(order.toSorted()).toEqual(items.toSorted());
  expect(order.filter(item => item.startsWith('a'))).toEqual(['a1', 'a2', 'a3']);
});

test('one lane runs in order, one after another', async () => {
  expect(await runAll(['a1', 'a2', 'a3'], 4)).toMatchObject({total: 1, order: ['a1', 'a2', 'a3'], left: []});
});

test('once it may start no more, the rest is returned', async () => {
  expect((await runAll(['a1', 'b1', 'c1', 'd1'], 1, 2)).left).toEqual(['c1', 'd1']);
  expect((await runAll(['a1', 'b1'], 1, 0)).order, 'the first one always starts').toEqual(['a1']);
});
