/** What may be submitted, and that it is returned unchanged. */
import {describe, expect, test} from 'vitest';
import {until} from '../../../cluster/wait.ts';
import {exchange} from '../client.ts';
import {head, RawClient} from '../raw.ts';
import type {ConformanceWorld} from './conformance.suite.ts';

const LIMIT = 262_144;
const WRAPPING = '{"message":""}'.length;
const invalidJson = {status: 400, code: 'invalid_json'};
const required = {status: 400, code: 'message_required'};
const tooLarge = {status: 413, code: 'body_too_large'};

interface BodyRow {
  readonly case: string;
  readonly body: string | Buffer;
  readonly status: number;
  readonly code?: string;
}

const sized = (bytes: number) => `{"message":"${'x'.repeat(bytes - WRAPPING)}"}`;

const rows: readonly BodyRow[] = [
  {case: 'no bytes', body: '', ...invalidJson},
  {case: 'half of an object', body: '{"message":"x"', ...invalidJson},
  {case: 'two objects', body: '{"message":"x"}{}', ...invalidJson},
  {case: 'single quotes', body: "{'message':'x'}", ...invalidJson},
  {case: 'a trailing comma', body: '{"message":"x",}', ...invalidJson},
  {case: 'a byte order mark', body: '\uFEFF{"message":"x"}', ...invalidJson},
  {case: 'UTF-16', body: Buffer.from('{"message":"x"}', 'utf16le'), ...invalidJson},
  {case: 'not UTF-8', body: Buffer.from('{"message":"\xff"}', 'latin1'), ...invalidJson},
  {case: 'a surrogate encoded as UTF-8', body: Buffer.from('{"message":"\xed\xa0\x80"}', 'latin1'), ...invalidJson},
  {case: 'null', body: 'null', ...invalidJson},
  {case: 'an array', body: '[{"message":"x"}]', ...invalidJson},
  {case: 'a string', body: '"message"', ...invalidJson},
  {case: 'a number', body: '1', ...invalidJson},
  {case: 'brackets as deep as the limit allows', body: '['.repeat(LIMIT), ...invalidJson},
  {case: 'an empty object', body: '{}', ...required},
  {case: 'another case', body: '{"Message":"x"}', ...required},
  {case: 'an empty message', body: '{"message":""}', ...required},
  {case: 'message null', body: '{"message":null}', ...required},
  {case: 'message a number', body: '{"message":1}', ...required},
  {case: 'message an object', body: '{"message":{"text":"x"}}', ...required},
  {case: 'message an array', body: '{"message":["x"]}', ...required},
  {case: 'the last of two members counts, and is empty', body: '{"message":"x","message":""}', ...required},
  {case: 'the last of two members counts, and is a text', body: '{"message":1,"message":"x"}', status: 202},
  {case: 'message inside __proto__', body: '{"__proto__":{"message":"x"}}', ...required},
  {case: 'further members', body: '{"message":"x","to":["a"],"n":1e400}', status: 202},
  {case: '32 levels', body: `{"message":"x","a":${'['.repeat(31)}${']'.repeat(31)}}`, status: 202},
  {case: '33 levels', body: `{"message":"x","a":${'['.repeat(32)}${']'.repeat(32)}}`, ...invalidJson},
  {case: '256 parts', body: `{"message":"x","a":[${'1,'.repeat(253)}1]}`, status: 202},
  {case: '257 parts', body: `{"message":"x","a":[${'1,'.repeat(254)}1]}`, ...invalidJson},
  {case: 'brackets, commas, and quotes in a text', body: JSON.stringify({message: '[{,\\"'.repeat(1000)}), status: 202},
  {case: 'a backslash at the end of a text', body: '{"message":"x\\\\","a":[1]}', status: 202},
  {case: 'a text that does not end', body: `{"message":"${'['.repeat(1000)}`, ...invalidJson},
  {case: 'a member named with an escape', body: '{"\\u006dessage":"x"}', status: 202},
  {case: 'white space around', body: ' \r\n\t{ "message" : "x" } ', status: 202},
  {case: 'exactly at the limit', body: sized(LIMIT), status: 202},
  {case: 'one byte over', body: sized(LIMIT + 1), ...tooLarge},
  {case: 'far over', body: sized(4 * LIMIT), ...tooLarge},
];

const texts: readonly (readonly [string, string])[] = [
  ['plain', 'hello'],
  ['a space', ' '],
  ['CRLF and tab', 'a\r\nb\tc'],
  ['NUL', 'a\u0000b'],
  ['every control character', Array.from({length: 32}, (_, code) => String.fromCharCode(code)).join('')],
  ['quotes and backslashes', '"\\"\\\\/'],
  ['a high surrogate alone', 'a\ud800b'],
  ['a low surrogate alone', '\udc00'],
  ['surrogates the wrong way round', '\udc00\ud800'],
  ['4-byte UTF-8', '😀🏳️‍🌈'],
  ['composed and decomposed', '\u00e9 e\u0301'],
  ['line separators', '\u2028\u2029'],
  ['non-characters and a byte order mark', '\ufeff\ufffe\uffff'],
  ['what looks like JSON', '{"id":"msg_x","status":"done"}'],
  ['what looks like SQL', `'); DROP TABLE messages; --`],
];

const ESCAPED = JSON.stringify('😀"\u0000é').replaceAll(
  /[\u0080-\uffff]/g,
  unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
);

export function bodySuite(world: ConformanceWorld): void {
  const submit = (body: string | Buffer) =>
    world.client.request('/messages', {
      method: 'POST',
      key: world.service.account().key,
      headers: {'content-type': 'application/json'},
      body,
    });

  describe('a body', () => {
    test.concurrent.each(rows)('$case: $status', async ({body, status, code}) => {
      const answer = await submit(body);
      expect(answer).toMatchObject({status, body: status === 202 ? {status: 'queued'} : {code}});
    });

    test.each([
      ['claim', 'messages/claim', 4096],
      ['ack', 'messages/msg_0/ack', 4096],
      ['nack', 'messages/msg_0/nack', 16_384],
    ])('of a %s is limited to what it needs', async (_, path, limit) => {
      const {key} = world.service.account();
      const send = (bytes: number) => {
        const body = `{"limit":1,"lease":"x"}${' '.repeat(bytes)}`.slice(0, bytes);
        return world.client.request(`/${path}`, {
          method: 'POST',
          key,
          headers: {'content-type': 'application/json'},
          body,
        });
      };
      expect([200, 404]).toContain((await send(limit)).status);
      await expect(send(limit + 1)).resolves.toMatchObject({status: 413, body: {code: 'body_too_large'}});
    });

    test('of a nack has room for the longest reason, however it is escaped', async () => {
      const {key} = world.service.account();
      const body = `{"lease":"x","reason":"${'\\ud83d\\ude00'.repeat(1000)}"}`;
      const headers = {'content-type': 'application/json'};
      const answer = await world.client.request('/messages/msg_0/nack', {method: 'POST', key, headers, body});
      expect(answer).toMatchObject({status: 404, body: {code: 'message_not_found'}});
    });

    test('the limit applies to bodies without a declared length', async () => {
      const {key} = world.service.account();
      const send = (text: string) =>
        world.client.request('/messages', {method: 'POST', key, chunks: [text.slice(0, 1000), text.slice(1000)]});
      await expect(send(sized(LIMIT))).resolves.toMatchObject({status: 202});
      await expect(send(sized(LIMIT + 1))).resolves.toMatchObject({status: 413});
    });

    test('that is short is dropped if the answer does not need it, and the connection serves the next request', async () => {
      const {key} = world.service.account();
      const raw = new RawClient(world.service);
      const type = 'text/plain';
      const connection = raw.open(`${head(key).replace('application/json', type)}content-length: 3\r\n\r\nabc`);
      await until('the first is answered', () => connection.received.includes('unsupported_content_type'));
      expect(connection.received).toContain('Connection: keep-alive');
      connection.socket.write(`${head(key)}content-length: 15\r\nconnection: close\r\n\r\n{"message":"x"}`);
      await until('the connection is closed', () => connection.closed);
      expect(connection.received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 400', 'HTTP/1.1 202']);
    });
  });

  describe('the message comes back', () => {
    test.concurrent.each(texts)('%s', async (_, text) => {
      const {key} = world.service.account();
      const submitted = await world.client.submit(key, text);
      expect(submitted).toMatchObject({status: 202, body: {message: text}});
      const read = await world.client.get(key, `/messages/${submitted.body.id}`);
      expect(read.body.message).toBe(text);
      const claimed = await world.client.post(key, '/messages/claim');
      expect(claimed.body.messages[0].message).toBe(text);
    });

    test('however it was escaped', async () => {
      const answer = await submit(`{"message":${ESCAPED}}`);
      expect(answer).toMatchObject({status: 202, body: {message: '😀"\u0000é'}});
    });
  });

  test('202: only id, message, status, and createdAt; Location points to the message', async () => {
    const {key} = world.service.account();
    const before = Date.now();
    const {body, headers} = await world.client.submit(key, 'hello');
    expect(Object.keys(body)).toEqual(['id', 'message', 'status', 'createdAt']);
    expect(body.createdAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(Date.parse(body.createdAt)).toBeGreaterThanOrEqual(before);
    expect(Date.parse(body.createdAt)).toBeLessThanOrEqual(Date.now());
    const {pathname} = new URL(String(headers.location), `${world.service.url}/messages`);
    await expect(world.client.get(key, pathname)).resolves.toMatchObject({status: 200, body: {...body, attempts: 0}});
  });

  test('a body that ends before its length is no message', async () => {
    const {key} = world.service.account();
    const head = `POST /messages HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\n`;
    await exchange(world.service.port, `${head}content-length: 100\r\n\r\n{"message":"x"}`, {end: true});
    await expect(world.client.get(key, '/messages')).resolves.toMatchObject({body: {messages: []}});
  });
}
