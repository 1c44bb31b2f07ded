import {expect, test} from 'vitest';
import {ApiError, isAlreadyExists, isConflict, isExpired, isInvalid, isNotFound, isTooManyRequests} from './errors.ts';

const predicates = {isAlreadyExists, isConflict, isExpired, isInvalid, isNotFound, isTooManyRequests};

test.each([
  {status: 404, reason: 'NotFound', want: ['isNotFound']},
  {status: 409, reason: 'Conflict', want: ['isConflict']},
  {status: 409, reason: 'AlreadyExists', want: ['isAlreadyExists']},
  {status: 410, reason: 'Expired', want: ['isExpired']},
  {status: 410, reason: 'Gone', want: ['isExpired']},
  {status: 422, reason: 'Invalid', want: ['isInvalid']},
  {status: 429, reason: 'TooManyRequests', want: ['isTooManyRequests']},
  {status: 500, reason: 'InternalError', want: []},
])('$status $reason is $want', ({status, reason, want}) => {
  const error = new ApiError('GET /x', status, {reason});
  const names = Object.entries(predicates).filter(([, holds]) => holds(error));
  expect(names.map(([name]) => name)).toEqual(want);
});

test.each([
  {header: undefined, body: undefined, want: undefined},
  {header: undefined, body: 3, want: 3_000},
  {header: 1_000, body: 3, want: 1_000},
  {header: 0, body: undefined, want: 0},
  {header: 86_400_000, body: undefined, want: 300_000},
])('Retry-After: header $header ms and body $body s give $want ms', ({header, body, want}) => {
  const details = body === undefined ? {} : {details: {retryAfterSeconds: body}};
  expect(new ApiError('GET /x', 429, details, header).retryAfterMs).toBe(want);
});

test('other errors are none of these', () => {
  expect(isNotFound(new Error('404'))).toBe(false);
  expect(isConflict(undefined)).toBe(false);
});
