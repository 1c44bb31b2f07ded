import {expect, test} from 'vitest';
import {OPERATIONS} from './operations.ts';
import {decodeQuery, validatorOf} from './validate.ts';

const lease = 'the lease that came with the claimed message';

test.each([
  {operation: 'list', query: 'statsu=done', detail: 'The parameters are limit, cursor, status.', parameter: 'statsu'},
  {
    operation: 'list',
    query: '__proto__=1',
    detail: 'The parameters are limit, cursor, status.',
    parameter: '__proto__',
  },
  {operation: 'list', query: 'limit=1e1', detail: 'limit must be a whole number from 1 to 100.', parameter: 'limit'},
  {operation: 'list', query: 'limit=0100', detail: 'limit must be a whole number from 1 to 100.', parameter: 'limit'},
  {operation: 'list', query: 'limit=1&limit=1', detail: 'limit must be given only once.', parameter: 'limit'},
  {
    operation: 'list',
    query: 'cursor=1',
    detail: 'cursor must be the nextCursor of an earlier page.',
    parameter: 'cursor',
  },
  {
    operation: 'list',
    query: 'status=',
    detail: 'status must be one of queued, leased, done, dead.',
    parameter: 'status',
  },
  {operation: 'submit', body: [], code: 'invalid_json', detail: 'The body must be a JSON object.', pointer: '#'},
  {operation: 'ack', body: {}, detail: `lease must be ${lease}.`, pointer: '#/lease'},
  {operation: 'ack', body: {lease: ''}, detail: `lease must be ${lease}.`, pointer: '#/lease'},
  {
    operation: 'nack',
    body: {lease: 'a', reason: 'x'.repeat(1001)},
    detail: 'reason must be a string of at most 1000 characters.',
    pointer: '#/reason',
  },
])('$operation: $detail', ({operation, query = '', body, code = 'invalid_parameter', ...fault}) => {
  const found = OPERATIONS.find(({name}) => name === operation);
  if (!found) throw new Error(`${operation} is not an operation`);
  const answer = validatorOf(found)({query: decodeQuery(query), body, headers: {}});
  expect(answer?.body).toMatchObject({status: 400, code, detail: fault.detail, errors: [fault]});
});

test('defaults are filled in', () => {
  const claim = OPERATIONS.find(({name}) => name === 'claim');
  const body = {limit: 3};
  expect(claim && validatorOf(claim)({query: undefined, body, headers: {}})).toBeUndefined();
  expect(body).toEqual({limit: 3, leaseSeconds: 30});
});
