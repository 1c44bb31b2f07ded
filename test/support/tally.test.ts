import {resolve} from 'node:path';
import {expect, test} from 'vitest';
import {format, tallyOf} from './tally.ts';

const file = (status: string, ...statuses: string[]) => ({
  name: resolve('test/a.test.ts'),
  status,
  message: 'Error: it cannot be imported\n    at a.ts:1',
  assertionResults: statuses.map(each => ({
    status: each,
    fullName: 'it works',
    failureMessages: ['no\n    at b.ts:1'],
  })),
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

test('names what failed, and why', () => {
  const {failures} = tallyOf({testResults: [file('failed', 'passed', 'failed'), file('failed')]});
  expect(failures).toEqual([
    'FAILED test/a.test.ts > it works\n    no',
    'FAILED test/a.test.ts\n    Error: it cannot be imported',
  ]);
});
