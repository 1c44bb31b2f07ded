import {describe, expect, test} from 'vitest';
import {ManualClock} from '../../../test/support/manual-clock.ts';
import {hedged} from './hedge.ts';

describe('hedged', () => {
  async function run(answers: readonly (string | 'fails' | 'hangs')[], advanceMs = 0) {
    const clock = new ManualClock();
    const asked: string[] = [];
    const attempt = async (answer: string) => {
      asked.push(answer);
      if (answer === 'hangs') return new Promise<undefined>(() => {});
      return answer === 'fails' ? undefined : answer;
    };
    const result = hedged(answers, attempt, signal => clock.sleep(300, signal));
    await clock.advance(advanceMs);
    return {result: await result, asked};
  }

  test('tries no second one if the first answers', async () => {
    expect(await run(['one', 'two'])).toEqual({result: 'one', asked: ['one']});
  });
  test('continues immediately after a failure', async () => {
    expect(await run(['fails', 'two'])).toEqual({result: 'two', asked: ['fails', 'two']});
  });
  test('continues after the pause while one hangs', async () => {
    expect(await run(['hangs', 'two'], 300)).toEqual({result: 'two', asked: ['hangs', 'two']});
  });
  test('has no result when all fail', async () => {
    expect(await run(['fails', 'fails'])).toEqual({result: undefined, asked: ['fails', 'fails']});
  });
  test('has no result without candidates', async () => {
    expect(await run([])).toEqual({result: undefined, asked: []});
  });
});
