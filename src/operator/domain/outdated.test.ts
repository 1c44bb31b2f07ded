import {expect, test} from 'vitest';
import {ManualClock} from '../../../test/support/manual-clock.ts';
import {Outdated} from './outdated.ts';

test('a Domain that differs counts as it is after five seconds, and subscribers hear of each change', async () => {
  const clock = new ManualClock();
  const outdated = new Outdated(clock);
  const heard: string[] = [];
  outdated.subscribe(key => heard.push(`${key} ${outdated.isInForce(key)}`));
  expect(outdated.differs('a/x', false)).toBe(5000);
  await clock.advance(3000);
  expect(outdated.differs('a/x', false)).toBe(2000);
  expect(heard).toEqual([]);
  await clock.advance(2000);
  expect([outdated.differs('a/x', false), outdated.differs('a/x', false)]).toEqual([0, 0]);
  expect(outdated.lateInMs('a/x')).toBe(55_000);
  outdated.forget('a/x');
  expect(heard).toEqual(['a/x true', 'a/x false']);
  expect(outdated.differs('a/x', false)).toBe(5000);
});

test('during a pause, the spec counts immediately; the change has its time after the pause', async () => {
  const clock = new ManualClock();
  const outdated = new Outdated(clock);
  expect(outdated.differs('a/x', true)).toBe(0);
  await clock.advance(60_000);
  expect(outdated.differs('a/x', true)).toBe(0);
  expect(outdated.isInForce('a/x')).toBe(true);
  expect(outdated.differs('a/x', false)).toBe(5000);
  expect(outdated.isInForce('a/x')).toBe(false);
});
