import {expect, test} from 'vitest';
import {HeldBack} from './held-back.ts';

test('a hundred responses per second are sent immediately, later ones are spaced out, none by more than 5 s', () => {
  const heldBack = new HeldBack();
  const delays = Array.from({length: 1000}, () => heldBack.delayMs('a', 0));
  expect(delays.filter(ms => ms === 0)).toHaveLength(100);
  expect(delays.slice(100, 103)).toEqual([10, 20, 30]);
  expect(Math.max(...delays)).toBe(5000);
});

test('payers do not wait for each other, and after a pause, responses are immediate again', () => {
  const heldBack = new HeldBack();
  for (let n = 0; n < 300; n++) heldBack.delayMs('a', 0);
  expect(heldBack.delayMs('b', 0)).toBe(0);
  expect(heldBack.delayMs('a', 1000)).toBe(1010);
  expect(heldBack.delayMs('a', 4000)).toBe(0);
});
