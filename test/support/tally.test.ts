import {expect, test} from 'vitest';
import {format, tallyOf} from './tally.ts';

const file = (status: string, ...statuses: string[]) => ({
  status,
  assertionResults: statuses.map(each => ({status: each})),
});

test.each([
  {files: [], says: '0 passed, 0 failed'},
  {files: [file('passed', 'passed', 'passed')], says: '2 passed, 0 failed'},
  {files: [file('failed', 'passed', 'failed'), file('passed', 'passed')], says: '2 passed, 1 failed'},
  {files: [file('passed', 'passed', 'skipped', 'todo', 'pending')], says: '1 passed, 0 failed, 3 skipped'},
  {files: [file('failed')], says: '0 passed, 1 failed'}, // it could not be imported
  {files: [file('failed', 'passed')], says: '1 passed, 1 failed'}, // its afterAll threw
])('$says', ({files, says}) => {
  expect(format(tallyOf({testResults: files}))).toBe(says);
});
