import {expect, test} from 'vitest';
import {backoffMs, retryDelayMs} from './backoff.ts';

const policy = {initialMs: 100, maxMs: 1_000, factor: 2, jitter: 0.5};

test.each([
  {failures: 0, random: 0, want: 0},
  {failures: 1, random: 0, want: 100},
  {failures: 2, random: 0, want: 200},
  {failures: 4, random: 0, want: 800},
  {failures: 5, random: 0, want: 1_000},
  {failures: 5_000, random: 0, want: 1_000},
  {failures: 1, random: 0.5, want: 75},
  {failures: 5, random: 0.999, want: 500.5},
])('after $failures failures, with random $random: $want ms', ({failures, random, want}) => {
  expect(backoffMs(policy, failures, () => random)).toBeCloseTo(want);
});

test.each([
  {askedMs: undefined, random: 0, want: 100},
  {askedMs: 30, random: 0, want: 100},
  {askedMs: 2_000, random: 0, want: 2_000},
  {askedMs: 2_000, random: 0.5, want: 2_500},
])('a server that asked for $askedMs ms, with random $random: $want ms', ({askedMs, random, want}) => {
  expect(retryDelayMs(policy, 1, askedMs, () => random)).toBe(want);
});
