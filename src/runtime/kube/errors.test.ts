import {expect, test} from 'vitest';
import {DeadlineError} from '../../time/deadline.ts';
import {
  ApiError,
  classifyFailure,
  FencedError,
  isAlreadyExists,
  isConflict,
  isExpired,
  isInvalid,
  isNotFound,
  StaleCacheError,
  TransportError,
} from './errors.ts';

const predicates = {isAlreadyExists, isConflict, isExpired, isInvalid, isNotFound};

test.each([
  {status: 404, reason: 'NotFound', want: ['isNotFound']},
  {status: 409, reason: 'Conflict', want: ['isConflict']},
  {status: 409, reason: 'AlreadyExists', want: ['isAlreadyExists']},
  {status: 410, reason: 'Expired', want: ['isExpired']},
  {status: 410, reason: 'Gone', want: ['isExpired']},
  {status: 422, reason: 'Invalid', want: ['isInvalid']},
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

const DENIED = 'admission webhook "quota.example.com" denied the request: not on a Sunday';
const DOWN =
  'Internal error occurred: failed calling webhook "quota.example.com": failed to call webhook: Post "https://quota.example.svc:443/?timeout=10s": dial tcp 10.0.0.1:443: connect: connection refused';
const POLICY =
  "services \"shop\" is forbidden: ValidatingAdmissionPolicy 'shop.example.com' with binding 'shop' denied request: no";

test.each([
  ...[400, 403, 404, 405, 410, 413, 415, 422].map(status => ({status, message: 'x', want: 'refusal'})),
  ...[401, 408, 429, 500, 501, 502, 503, 504, 302].map(status => ({status, message: 'x', want: 'outage'})),
  {status: 409, message: 'the object has been modified', want: 'race'},
  {status: 403, message: 'exceeded quota: small, requested: count/services=1', want: 'refusal'},
  ...[400, 401, 403, 409, 418, 429, 500, 503].map(status => ({status, message: DENIED, want: 'refusal'})),
  ...[500, 503, 504].map(status => ({status, message: DOWN, want: 'refusal'})),
  ...[403, 413, 422].map(status => ({status, message: POLICY, want: 'refusal'})),
  {status: 504, message: 'Timeout: request did not complete within requested timeout', want: 'outage'},
  {status: 500, message: 'conversion webhook for cert-manager.io/v1 failed: connection refused', want: 'outage'},
])('$status "$message" is of the kind $want', ({status, message, want}) => {
  expect(classifyFailure(new ApiError('PUT /x', status, {message}))).toBe(want);
});

test('an object that is gone was deleted meanwhile, but a missing kind is a refusal', () => {
  const details = {name: 'shop.example.com'};
  const gone = new ApiError('PATCH /x', 404, {reason: 'NotFound', details});
  expect([gone, gone.redacted(text => text)].map(classifyFailure)).toEqual(['race', 'race']);
  expect(classifyFailure(new ApiError('POST /x', 404, {message: '404 page not found'}))).toBe('refusal');
});

test.each([
  {error: new TransportError('GET /x', new Error('ECONNRESET')), want: 'outage'},
  {error: new DeadlineError(500), want: 'outage'},
  {error: new StaleCacheError(['pods/a/x #0']), want: 'outage'},
  {error: new FencedError('PUT /x'), want: 'fenced'},
  {error: new TypeError('x is undefined'), want: 'unknown'},
  {error: 'aborted', want: 'unknown'},
])('$error is of the kind $want', ({error, want}) => {
  expect(classifyFailure(error)).toBe(want);
});
