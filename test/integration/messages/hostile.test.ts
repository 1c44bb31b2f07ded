/**
 * Clients that mean harm, or behave as if they did, are bounded in time and memory, and others are served meanwhile.
 */
import {readFile} from 'node:fs/promises';
import {connect, type Socket} from 'node:net';
import {afterAll, afterEach, beforeAll, expect, test} from 'vitest';
import {until} from '../../cluster/wait.ts';
import {type Client, createClient, exchange} from './client.ts';
import {expectGrowth} from './growth.ts';
import {MIB, RawClient, residentBytes} from './raw.ts';
import {removeFolders, type Service, startService} from './service.ts';

let service: Service;
let client: Client;
const sockets: Socket[] = [];

beforeAll(async () => {
  service = await startService({config: {server: {headersTimeoutSeconds: 2, requestTimeoutSeconds: 10}}});
  client = await createClient(service.url);
});
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});
afterAll(async () => {
  client.close();
  await service.stop();
  await removeFolders();
});

/** A connection that has sent `bytes`. `received` grows; `ended` resolves with everything received. */
async function open(bytes: string | Buffer, {port} = service): Promise<{socket: Socket; ended: Promise<string>}> {
  const socket = connect(port, '127.0.0.1');
  sockets.push(socket);
  let received = '';
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString('latin1');
  });
  socket.on('error', () => undefined); // a reset is one way of being cut off
  const ended = new Promise<string>(resolve => socket.once('close', () => resolve(received)));
  socket.write(bytes);
  return {socket, ended};
}

async function expectOthersServed(): Promise<void> {
  await expect(client.submit(service.account().key, 'from somebody else')).resolves.toMatchObject({status: 202});
}

const head = (key: string) =>
  `POST /messages HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\n`;

test('500 connections that never finish their headers are cut off; others are served', async () => {
  const slow = await Promise.all(Array.from({length: 500}, () => open('POST /messages HTTP/1.1\r\nhost: x\r\n')));
  await expectOthersServed();
  for (const {ended} of slow) expect(await ended).toMatch(/^HTTP\/1\.1 408 [\s\S]*"code":"request_timeout"/);
});

test('bodies that drip are cut off, stored is nothing', async () => {
  const {key} = service.account();
  const slow = await Promise.all(
    Array.from({length: 200}, () => open(`${head(key)}content-length: 1000\r\n\r\n{"message":"`)),
  );
  const drip = setInterval(() => {
    for (const {socket} of slow) if (socket.writable) socket.write('x');
  }, 200);
  await expectOthersServed();
  for (const {ended} of slow) expect(await ended).toMatch(/^HTTP\/1\.1 408 /);
  clearInterval(drip);
  await expect(client.get(key, '/messages')).resolves.toMatchObject({body: {messages: []}});
});

test('1500 requests at once on one connection: the first is answered, and told that it is the last one', async () => {
  const {key} = service.account();
  const body = (n: number) => `{"message":"${n}"}`;
  const bytes = Array.from({length: 1500}, (_, n) => `${head(key)}content-length: ${body(n).length}\r\n\r\n${body(n)}`);
  const {ended} = await open(bytes.join(''));
  await expectOthersServed();
  const got = await ended;
  expect(got.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 202']);
  expect(got).toContain('Connection: close');
  const {body: list} = await client.get(key, '/messages');
  expect(list.messages.map(({message}: {message: string}) => message)).toEqual(['0']);
});

test('what follows a request and is no HTTP changes nothing about its answer', async () => {
  const {key} = service.account();
  const got = await exchange(service.port, `${head(key)}content-length: 15\r\n\r\n{"message":"x"}hello\r\n\r\n`);
  expect(got.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 202']);
  expect(got).toContain('Connection: close');
});

test('a client that reads no responses is not read from indefinitely', async () => {
  const {key} = service.account();
  await client.submit(key, 'x'.repeat(200_000));
  const before = await residentBytes(service);
  const wanted = `GET /messages HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n\r\n`.repeat(50_000);
  const {socket} = await open(wanted);
  socket.pause();
  await expectOthersServed();
  await expectGrowth(service, before, {below: 150 * MIB});
});

test.each([
  [
    'a header of 20 KiB',
    `GET /messages HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(20_480)}\r\n\r\n`,
    431,
    'headers_too_large',
  ],
  [
    'a thousand headers',
    `GET /messages HTTP/1.1\r\nhost: x\r\n${'x: yyyyyyyyyyyyyyyyyyyy\r\n'.repeat(1000)}\r\n`,
    431,
    'headers_too_large',
  ],
  ['a URL of 20 KiB', `GET /${'y'.repeat(20_480)} HTTP/1.1\r\nhost: x\r\n\r\n`, 431, 'headers_too_large'],
  ['no HTTP', 'hello\r\n\r\n', 400, 'malformed_request'],
  ['TLS', Buffer.from('16030100a5010000a10303', 'hex'), 400, 'malformed_request'],
  [
    'two lengths',
    'POST /messages HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n',
    400,
    'malformed_request',
  ],
  [
    'length and chunks',
    'POST /messages HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n',
    400,
    'malformed_request',
  ],
  ['no Host', 'GET /openapi.json HTTP/1.1\r\n\r\n', 400, 'malformed_request'],
  ['two Hosts', 'GET /openapi.json HTTP/1.1\r\nhost: x\r\nhost: x\r\n\r\n', 400, 'malformed_request'],
  ['two names in a Host', 'GET /openapi.json HTTP/1.1\r\nhost: x, y\r\n\r\n', 400, 'malformed_request'],
  ['a path in the Host', 'GET /openapi.json HTTP/1.1\r\nhost: x/y\r\n\r\n', 400, 'malformed_request'],
  ['no Host, and an absolute target', 'GET http://x/openapi.json HTTP/1.1\r\n\r\n', 400, 'malformed_request'],
  ['a target without a path', 'GET x HTTP/1.1\r\nhost: x\r\n\r\n', 400, 'malformed_request'],
  ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, 'malformed_request'],
  ['CONNECT', 'CONNECT x:443 HTTP/1.1\r\nhost: x:443\r\n\r\n', 405, 'method_not_allowed'],
  ['a long query', `GET /openapi.json?${'a&'.repeat(2000)} HTTP/1.1\r\nhost: x\r\n\r\n`, 414, 'uri_too_long'],
  [
    'chunks in HTTP/1.0', // RFC 9112, section 6.1
    `${head('key-of.account-0.all').replace('1.1', '1.0')}transfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
    400,
    'malformed_request',
  ],
  [
    'a length given as a list',
    `${head('key-of.account-0.all')}content-length: 2, 2\r\n\r\n{}`,
    400,
    'malformed_request',
  ],
  [
    'an unknown transfer coding',
    `${head('key-of.account-0.all')}transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
    501,
    'unsupported_transfer_coding',
  ],
  [
    'chunk extensions without end',
    `${head('key-of.account-0.all')}transfer-encoding: chunked\r\n\r\n1;${'x'.repeat(20_000)}\r\nx\r\n0\r\n\r\n`,
    413,
    'body_too_large',
  ],
  ['a bad chunk', `${head('key-of.account-0.all')}transfer-encoding: chunked\r\n\r\nzz\r\n`, 400, 'malformed_request'],
])('%s: %3$i', async (_, bytes, status, code) => {
  const connection = new RawClient(service).open(bytes);
  await until('it is answered', () => connection.received.includes('}'));
  const got = connection.received;
  connection.socket.destroy();
  expect(got).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  expect(got).toContain(`"code":"${code}"`);
  expect(got).toContain('application/problem+json');
  await expectOthersServed();
});

// attack: message-work
test.each([
  ['malformed requests', 'hello\r\n\r\n', 400],
  ['CONNECT requests', 'CONNECT x:1 HTTP/1.1\r\nhost: x:1\r\n\r\n', 405],
])('%s beyond the limit of strangers get no response', async (_, bytes, status) => {
  const strangers = {requestsPerSecond: 1, addressRequestsPerSecond: 1};
  const strict = await startService({config: {limits: {strangers}}});
  const since = performance.now();
  const got = await Promise.all(Array.from({length: 100}, () => exchange(strict.port, bytes).catch(() => '')));
  const seconds = (performance.now() - since) / 1000;
  await strict.stop();
  const answered = got.filter(text => text !== '');
  expect(answered.length).toBeGreaterThan(0);
  expect(answered.length, 'a burst, and what drips in meanwhile').toBeLessThanOrEqual(6 + seconds);
  for (const text of answered) expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
});

// attack: message-connections
test.each([
  ['CONNECT', ''],
  ['CONNECT with a body', 'content-length: 10\r\n'],
  ['CONNECT with chunks', 'transfer-encoding: chunked\r\n'],
  ['an upgrade', 'connection: upgrade\r\nupgrade: websocket\r\n'],
])('100 clients that send %s and reset the connection end nothing', async (_, headers) => {
  const raw = new RawClient(service);
  const line = headers.includes('websocket') ? 'GET /openapi.json' : 'CONNECT x:1';
  const connections = raw.many(100, `${line} HTTP/1.1\r\nhost: x:1\r\n${headers}\r\nabc`);
  for (const {socket} of connections) socket.once('connect', () => setImmediate(() => socket.resetAndDestroy()));
  await until('all are closed', () => connections.every(({closed}) => closed));
  await expectOthersServed();
});

test.each([
  ['CONNECT with a body', 'CONNECT x:1 HTTP/1.1\r\nhost: x:1\r\ncontent-length: 10\r\n\r\nabc'],
  ['CONNECT with chunks', 'CONNECT x:1 HTTP/1.1\r\nhost: x:1\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n'],
])('%s: 405', async (_, bytes) => {
  expect(await exchange(service.port, bytes)).toMatch(/^HTTP\/1\.1 405 [\s\S]*allow: [\s\S]*method_not_allowed/);
});

test.each([
  ['the absolute form', 'GET http://x/openapi.json HTTP/1.1\r\nhost: y\r\n', 200],
  ['the absolute form, in capitals and with a port', 'GET HTTPS://X:1/openapi.json HTTP/1.1\r\nhost:\r\n', 200],
  ['the absolute form without a path', 'GET http://x HTTP/1.1\r\nhost: x\r\n', 404],
  ['the absolute form with a query', 'GET http://x?a=http://y/openapi.json HTTP/1.1\r\nhost: x\r\n', 404],
  ['an IPv6 address with a port as Host', 'GET /openapi.json HTTP/1.1\r\nhost: [::1]:80\r\n', 200],
  ['HTTP/1.0 without Host', 'GET /openapi.json HTTP/1.0\r\n', 200],
  ['the method OPTIONS of the server', 'OPTIONS * HTTP/1.1\r\nhost: x\r\n', 404],
  ['an upgrade', 'GET /openapi.json HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: upgrade\r\n', 200],
  ['an expectation that nobody knows', 'GET /openapi.json HTTP/1.1\r\nhost: x\r\nexpect: 200-ok\r\n', 200],
  ['HEAD with a body', 'HEAD /openapi.json HTTP/1.1\r\nhost: x\r\ncontent-length: 20000\r\n', 200],
])('%s: %3$i', async (_, bytes, status) => {
  const connection = new RawClient(service).open(`${bytes}\r\n`);
  await until('it is answered', () => connection.received.includes('\r\n\r\n'));
  connection.socket.destroy();
  expect(connection.received).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
});

test.each([
  ['without a key', 'wrong', 401],
  ['with one', undefined, 413],
])('a body without end, sent %s: answered, and cut off', async (_, key, status) => {
  const {socket, ended} = await open(`${head(key ?? service.account().key)}transfer-encoding: chunked\r\n\r\n`);
  const before = await residentBytes(service);
  const chunk = Buffer.from(`10000\r\n${'x'.repeat(0x10000)}\r\n`);
  const pour = (): void => {
    while (socket.writable && socket.write(chunk));
  };
  socket.on('drain', pour);
  pour();
  expect(await ended).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  await expectGrowth(service, before, {below: 50 * MIB});
});

test('more connections than allowed: those that have been idle longest are closed, and a new one is served', async () => {
  const small = await startService({config: {server: {maxConnections: 3}}});
  const few = await createClient(small.url);
  const idle = Array.from({length: 10}, () => connect(small.port, '127.0.0.1').on('error', () => undefined));
  sockets.push(...idle);
  await until(
    'the surplus is closed',
    () => idle.filter(socket => socket.destroyed || socket.readableEnded).length >= 7,
  );
  await expect(few.submit(small.account().key, 'x')).resolves.toMatchObject({status: 202});
  few.close();
  await small.stop();
});

test('neither keys nor messages are in the log, failures included', async () => {
  const {key} = service.account();
  const secret = 'a message that nobody else should read';
  await client.submit(key, secret);
  await client.request('/messages', {
    method: 'POST',
    key,
    headers: {'content-type': 'application/json'},
    body: `{"message":"${secret}`,
  });
  await client.request('/messages', {key: `${key}-wrong`});
  const requestId = 'the-last-one';
  await client.request('/messages', {key, headers: {'x-request-id': requestId}});
  const log = await until('the log is complete', async () => {
    const text = await readFile(service.logFile, 'utf8');
    return text.includes(requestId) && text;
  });
  expect(log).toContain('"keyId":"account-');
  expect(log).not.toContain(key);
  expect(log).not.toContain(secret);
});
