/** Who is refused, with which problem, and which check comes first. */
import {describe, expect, test} from 'vitest';
import {exchange, type MessagesRequestOptions} from '../client.ts';
import type {Account} from '../service.ts';
import type {ConformanceWorld} from './conformance.suite.ts';

type Headers = NonNullable<MessagesRequestOptions['headers']>;
const JSON_TYPE = {'content-type': 'application/json'};

interface HeaderRow {
  readonly case: string;
  readonly headers: (account: Account) => Headers;
  readonly status: number;
  readonly code?: string;
  readonly challenge?: string;
}

const bearer = (value: (key: string) => string | string[]) => (account: Account) => ({
  ...JSON_TYPE,
  authorization: value(account.key),
});
const refused = {status: 401, code: 'unauthorized', challenge: 'Bearer'};
const invalid = {...refused, challenge: 'Bearer error="invalid_token"'};

const authorizationRows: readonly HeaderRow[] = [
  {case: 'a valid key', headers: bearer(key => `Bearer ${key}`), status: 202},
  {case: 'the scheme in lower case', headers: bearer(key => `bearer ${key}`), status: 202},
  {case: 'the scheme in upper case', headers: bearer(key => `BEARER ${key}`), status: 202},
  {case: 'several spaces after the scheme', headers: bearer(key => `Bearer   ${key}`), status: 202},
  {case: 'no header', headers: () => JSON_TYPE, ...refused},
  {case: 'an empty header', headers: bearer(() => ''), ...refused},
  {case: 'only the scheme', headers: bearer(() => 'Bearer'), ...refused},
  {case: 'the key alone', headers: bearer(key => key), ...refused},
  {case: 'Basic', headers: bearer(key => `Basic ${key}`), ...refused},
  {case: 'no space after the scheme', headers: bearer(key => `Bearer${key}`), ...refused},
  {case: 'a tab after the scheme', headers: bearer(key => `Bearer\t${key}`), ...refused},
  {case: 'two keys', headers: bearer(key => `Bearer ${key} ${key}`), ...refused},
  {case: 'two headers', headers: bearer(key => [`Bearer ${key}`, `Bearer ${key}`]), ...refused},
  {case: 'a comma after the key', headers: bearer(key => `Bearer ${key},`), ...refused},
  {case: 'an unknown key', headers: bearer(key => `Bearer ${key}x`), ...invalid},
  {case: 'a key in other case', headers: bearer(key => `Bearer ${key.toUpperCase()}`), ...invalid},
];

const type = (value?: string | string[]) => (account: Account) => ({
  authorization: `Bearer ${account.key}`,
  ...(value !== undefined && {'content-type': value}),
});
const wrongType = {status: 400, code: 'unsupported_content_type'};

const contentTypeRows: readonly HeaderRow[] = [
  {case: 'application/json', headers: type('application/json'), status: 202},
  {case: 'in other case', headers: type('Application/JSON'), status: 202},
  {case: 'with charset', headers: type('application/json; charset=utf-8'), status: 202},
  {case: 'with charset in quotes and other case', headers: type('application/json;charset="UTF-8"'), status: 202},
  {case: 'with another parameter', headers: type('application/json; profile=x'), status: 202},
  {case: 'with suffix +json', headers: type('application/vnd.example.message+json'), status: 202},
  {case: 'a parameter that looks like a charset', headers: type('application/json; a="; charset=latin1"'), status: 202},
  {case: 'a charset after another parameter', headers: type('application/json; a="b;c"; charset=latin1'), ...wrongType},
  {case: 'another charset', headers: type('application/json; charset=latin1'), ...wrongType},
  {case: 'absent', headers: type(), ...wrongType},
  {case: 'empty', headers: type(''), ...wrongType},
  {case: 'text/plain', headers: type('text/plain'), ...wrongType},
  {case: 'text/json', headers: type('text/json'), ...wrongType},
  {case: 'a form', headers: type('application/x-www-form-urlencoded'), ...wrongType},
  {case: 'a longer name', headers: type('application/jsonp'), ...wrongType},
  {case: 'two headers', headers: type(['application/json', 'application/json']), ...wrongType},
  {
    case: 'compressed',
    headers: account => ({...type('application/json')(account), 'content-encoding': 'gzip'}),
    ...wrongType,
  },
];

const BODY = '{"message":"hello"}';

/** Each row breaks this rule and all later ones: the first broken rule decides. */
const orderRows = [
  {
    breaks: 'the key',
    key: 'unknown',
    type: 'text/plain',
    body: '{',
    idempotency: '"',
    status: 401,
    code: 'unauthorized',
  },
  {breaks: 'the content type', type: 'text/plain', body: '{', idempotency: '"', ...wrongType},
  {breaks: 'the JSON', body: '{', idempotency: '"', status: 400, code: 'invalid_json'},
  {breaks: 'the message', body: '{}', idempotency: '"', status: 400, code: 'message_required'},
  {breaks: 'the idempotency key', body: BODY, idempotency: '"', status: 400, code: 'invalid_idempotency_key'},
];

export function orderSuite(world: ConformanceWorld): void {
  const submit = (headers: Headers, body: string | Buffer = BODY) =>
    world.client.request('/messages', {method: 'POST', headers, body});

  describe.each([
    {header: 'Authorization', rows: authorizationRows},
    {header: 'Content-Type', rows: contentTypeRows},
  ])('$header', ({rows}) => {
    test.concurrent.each(rows)('$case: $status', async ({headers, status, code, challenge}) => {
      const answer = await submit(headers(world.service.account()));
      expect(answer.status).toBe(status);
      expect(answer.body.code).toBe(code);
      expect(answer.headers['www-authenticate']).toBe(challenge);
      expect(answer.headers['content-type']).toBe(status === 202 ? 'application/json' : 'application/problem+json');
    });
  });

  test.concurrent.each(orderRows)('of several faults, $breaks is named', async row => {
    const {key = world.service.account().key, type: contentType = 'application/json', body, idempotency} = row;
    const headers = {authorization: `Bearer ${key}`, 'content-type': contentType, 'idempotency-key': idempotency};
    const answer = await submit(headers, body);
    expect(answer).toMatchObject({status: row.status, body: {code: row.code, status: row.status}});
  });

  test('401 comes before the body is read, also for a client that expects 100 Continue', async () => {
    const head = 'POST /messages HTTP/1.1\r\nhost: x\r\nauthorization: Bearer wrong\r\ncontent-length: 100\r\n';
    const plain = exchange(world.service.port, `${head}connection: close\r\n\r\n`);
    await expect(plain).resolves.toMatch(/^HTTP\/1\.1 401 /);
    const asking = exchange(world.service.port, `${head}expect: 100-continue\r\nconnection: close\r\n\r\n`);
    await expect(asking).resolves.toMatch(/^HTTP\/1\.1 401 /);
  });

  test('a client that waits with a valid key gets 100 Continue', async () => {
    const {key} = world.service.account();
    const headers = {authorization: `Bearer ${key}`, 'content-type': 'application/json', expect: '100-continue'};
    await expect(submit(headers)).resolves.toMatchObject({status: 202});
  });

  test.concurrent.each([
    {
      scope: 'messages:write',
      allowed: 'writeKey',
      method: 'POST',
      path: '/messages',
      body: {message: 'x'},
      status: 202,
    },
    {scope: 'messages:read', allowed: 'readKey', method: 'GET', path: '/messages', status: 200},
    {scope: 'messages:process', allowed: 'processKey', method: 'POST', path: '/messages/claim', status: 200},
  ] as const)('$method $path needs the scope $scope', async ({scope, allowed, method, path, status, ...row}) => {
    const account = world.service.account();
    const options = {method, ...('body' in row && {body: row.body})};
    for (const which of ['writeKey', 'readKey', 'processKey'] as const) {
      const answer = await world.client.request(path, {...options, key: account[which]});
      expect(answer.status, which).toBe(which === allowed ? status : 403);
      if (which === allowed) continue;
      expect(answer.body.code).toBe('insufficient_scope');
      expect(answer.headers['www-authenticate']).toBe(`Bearer error="insufficient_scope", scope="${scope}"`);
    }
  });

  test.concurrent.each([
    {method: 'GET', path: '/', status: 404, code: 'not_found'},
    {method: 'POST', path: '/messages/', status: 404, code: 'not_found'},
    {method: 'GET', path: '/messages/a/b/c', status: 404, code: 'not_found'},
    {method: 'DELETE', path: '/messages', status: 405, code: 'method_not_allowed', allow: 'POST, GET, HEAD'},
    {method: 'GET', path: '/messages/claim', status: 405, code: 'method_not_allowed', allow: 'POST'},
    {method: 'PUT', path: '/messages/x', status: 405, code: 'method_not_allowed', allow: 'GET, HEAD'},
  ])('$method $path: $status', async ({method, path, status, code, allow}) => {
    const answer = await world.client.request(path, {method, key: world.service.account().key});
    expect(answer).toMatchObject({status, body: {code}});
    expect(answer.headers.allow).toBe(allow);
  });

  test('HEAD is GET without a body', async () => {
    const answer = await world.client.request('/messages', {method: 'HEAD', key: world.service.account().key});
    expect(answer).toMatchObject({status: 200, text: ''});
  });

  test('the request id is the one that was sent, if it is safe', async () => {
    const {key} = world.service.account();
    const idOf = async (id: string) => {
      const answer = await world.client.request('/messages/x', {key, headers: {'x-request-id': id}});
      expect(answer.body.requestId).toBe(answer.headers['x-request-id']);
      return answer.headers['x-request-id'];
    };
    await expect(idOf('trace-1.a:b_c')).resolves.toBe('trace-1.a:b_c');
    await expect(idOf('{"a":1}')).resolves.toMatch(/^[0-9a-f-]{36}$/);
    await expect(idOf('x'.repeat(129))).resolves.toMatch(/^[0-9a-f-]{36}$/);
  });
}
