/**
 * What one key or one address may hold: bytes, requests, connections, time. Others are served meanwhile. For each
 * store.
 */
import {afterAll, afterEach, beforeAll, expect, test} from 'vitest';
import {until} from '../../cluster/wait.ts';
import {type Client, createClient} from './client.ts';
import {expectGrowth} from './growth.ts';
import {head, heldBytes, MIB, type Raw, RawClient, residentBytes, SMALL_HEAP} from './raw.ts';
import type {Service, ServiceOptions} from './service.ts';

const ACCOUNT_BYTES = 8 * MIB;
const REQUESTS_AT_ONCE = 300;
const MAX_CONNECTIONS = 2048;
/** Includes the objects and buffers that Node and the kernel need for held bytes: see limits.heldBytes. */
const RESIDENT_BYTES = 200 * MIB;
const BODY_BYTES = 262_144;
/** What fills a body with a structure that takes far more memory once it is parsed. */
const filled = (before: string, unit: string, after: string) => {
  const length = BODY_BYTES - before.length - after.length;
  return `${before}${unit.repeat(Math.floor(length / unit.length))}${after}`;
};
const SHAPES: readonly (readonly [string, string])[] = [
  ['arrays in arrays', filled('', '[', '')],
  ['arrays in arrays, complete', `${'['.repeat(BODY_BYTES / 2)}${']'.repeat(BODY_BYTES / 2)}`],
  ['objects in objects', filled('', '{"a":', '')],
  ['an array of empty objects in an ignored member', filled('{"limit":100,"message":"x","a":[', '{},', '{}]}')],
  ['numbers', filled('{"message":"x","a":[', '1,', '1]}')],
  ['escaped members', filled('{"message":"x","a":{', '"\\u0061":0,', '"b":0}}')],
  ['many members', `{"message":"x",${Array.from({length: 20_000}, (_, n) => `"${n.toString(36)}":0`).join(',')}}`],
  ['quotes and brackets in strings, and an array behind them', filled('{"message":"\\"[{[","a":[', '"[",', '0]}')],
];
const refusedWith = (status: number, code: string) => new RegExp(`^HTTP/1\\.1 ${status} [\\s\\S]*"code":"${code}"`);

export function heldSuite(start: (options: Pick<ServiceOptions, 'config' | 'wrapper'>) => Promise<Service>): void {
  let service: Service;
  let client: Client;
  let raw: RawClient;

  beforeAll(async () => {
    const limits = {account: {heldBytes: ACCOUNT_BYTES, requestsAtOnce: REQUESTS_AT_ONCE}};
    const server = {maxConnections: MAX_CONNECTIONS, requestTimeoutSeconds: 60, answerTimeoutSeconds: 3};
    service = await start({config: {limits, server}, wrapper: SMALL_HEAP});
    client = await createClient(service.url);
    raw = new RawClient(service);
  });
  afterEach(async () => {
    raw.closeAll();
    await until('nothing is held', async () => (await heldBytes(service)) === 0);
  });
  afterAll(async () => {
    client.close();
    await service.stop();
  });

  /** Expects that what `attack` holds stays within its account's limit, and that others are served. */
  async function expectBounded(attack: () => readonly Raw[]): Promise<readonly Raw[]> {
    const before = await residentBytes(service);
    const opened = attack();
    for (let n = 0; n < 5; n++) {
      await expect(client.submit(service.account().key, 'from somebody else')).resolves.toMatchObject({status: 202});
      expect(await heldBytes(service)).toBeLessThanOrEqual(ACCOUNT_BYTES + MIB);
    }
    await expectGrowth(service, before, {below: RESIDENT_BYTES});
    return opened;
  }

  test('1,500 bodies of 256 KiB without their last byte: beyond the bound of the account they are refused unread', async () => {
    const {key} = service.account();
    const body = `${head(key)}content-length: 262144\r\n\r\n${'x'.repeat(262_143)}`;
    const attack = await expectBounded(() => raw.many(1500, body));
    const refused = await until('most are refused', () => {
      const some = attack.filter(({received}) => received !== '');
      return some.length > 1400 ? some : undefined;
    });
    for (const {received} of refused) expect(received).toMatch(refusedWith(429, 'concurrency_limited'));
  });

  // attack: message-memory
  test.each(SHAPES)('300 claims and submits with %s: none is parsed, and others are served', async (_, body) => {
    const {key} = service.account();
    for (let n = 0; n < 5; n++) await client.submit(key, 'x'.repeat(250_000));
    // Claims wait while these hold the account's memory.
    raw.many(40, `${head(key, 'GET /messages?limit=100')}\r\n`, {unread: true});
    const bytes = `content-length: ${body.length}\r\n\r\n${body}`;
    const attack = await expectBounded(() => [
      ...raw.many(150, `${head(key, 'POST /messages/claim')}${bytes}`),
      ...raw.many(150, `${head(key)}${bytes}`),
    ]);
    await until('all are refused', () => attack.every(({received}) => received !== ''));
    for (const {received} of attack) expect(received).toMatch(/^HTTP\/1\.1 (?:400|413|429) /);
  });

  test('30 connections that send one-byte chunks: they are refused as too fine, and cut off', async () => {
    const {key} = service.account();
    const chunks = `${head(key)}transfer-encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(250_000)}`;
    const attack = await expectBounded(() => raw.many(30, chunks));
    await until('all are cut off', () => attack.every(({closed}) => closed));
    const answered = attack.filter(({received}) => received !== '');
    expect(answered.length).toBeGreaterThan(0);
    for (const {received} of answered) {
      expect(received).toMatch(/^HTTP\/1\.1 413 [\s\S]*too many short chunks/);
    }
  });

  // attack: message-memory
  test('500 lists that nobody reads: they wait for each other and are cut off in time', async () => {
    const {key} = service.account();
    for (let n = 0; n < 5; n++) await client.submit(key, 'x'.repeat(250_000));
    const attack = await expectBounded(() => raw.many(500, `${head(key, 'GET /messages')}\r\n`, {unread: true}));
    await until('answers wait for their readers', async () => (await heldBytes(service)) > MIB);
    for (const {socket} of attack) socket.resume();
    await until('they are over', async () => (await heldBytes(service)) === 0);
    await expect(client.get(key, '/messages?limit=1')).resolves.toMatchObject({status: 200});
  });

  test('200 connections with 8 pipelined reads that nobody reads: no read begins before the answers have left', async () => {
    const {key} = service.account();
    for (let n = 0; n < 5; n++) await client.submit(key, 'x'.repeat(250_000));
    await expectBounded(() => raw.many(200, `${head(key, 'GET /messages')}\r\n`.repeat(8), {unread: true}));
  });

  test('a connection whose responses are not read is closed in time, and then holds nothing', async () => {
    const {key} = service.account();
    for (let n = 0; n < 5; n++) await client.submit(key, 'x'.repeat(250_000));
    raw.many(64, `${head(key, 'GET /messages')}\r\n`, {unread: true});
    await until('answers wait for their readers', async () => (await heldBytes(service)) > MIB);
    await until('nothing is held', async () => (await heldBytes(service)) === 0);
  });

  test('pipelined requests without a key whose responses nobody reads: limited, too', async () => {
    const request = 'GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n';
    const before = await residentBytes(service);
    raw.many(100, request.repeat(1500), {unread: true});
    await expect(client.submit(service.account().key, 'from somebody else')).resolves.toMatchObject({status: 202});
    await expectGrowth(service, before, {below: RESIDENT_BYTES});
  });

  test('more concurrent requests than an account may have: rejected, and later ones pass when earlier ones end', async () => {
    const {key} = service.account();
    const request = `${head(key)}content-length: 20\r\n\r\n{`;
    const attack = await expectBounded(() => raw.many(REQUESTS_AT_ONCE + 20, request));
    const answered = () => attack.filter(({received}) => received !== '');
    await until('the surplus is refused', () => answered().length === 20);
    for (const {received} of answered()) expect(received).toMatch(refusedWith(429, 'concurrency_limited'));
    await expect(client.submit(key, 'x')).resolves.toMatchObject({status: 429, headers: {'retry-after': '1'}});
    raw.closeAll();
    await until('it may send again', async () => (await client.submit(key, 'x')).status === 202);
  });

  test('a rejected request that withholds its body is cut off soon, so nobody holds connections without a key', async () => {
    const attack = raw.many(100, `${head('wrong')}content-length: 1000\r\n\r\n`);
    await until('all are cut off', () => attack.every(({closed}) => closed));
    for (const {received} of attack) expect(received).toMatch(refusedWith(401, 'unauthorized'));
  });

  test('all connections taken by one address, with requests that have not come entirely: another address is served', async () => {
    const attack = raw.many(MAX_CONNECTIONS, 'POST /messages HTTP/1.1\r\nhost: x\r\n');
    await until('they are connected', () => attack.every(({socket}) => !socket.connecting));
    const {key} = service.account();
    const body = '{"message":"from another address"}';
    const request = `${head(key)}connection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    const other = raw.open(request, {from: '127.0.0.2'});
    await until('it is answered', () => other.closed);
    expect(other.received).toMatch(/^HTTP\/1\.1 202 /);
  });

  test('connections of one address may be limited', async () => {
    const small = await start({config: {server: {maxConnectionsPerAddress: 3}}});
    const few = new RawClient(small);
    const opened = few.many(10, '');
    await until('the surplus is closed', () => opened.filter(({closed}) => closed).length === 7);
    few.closeAll();
    await small.stop();
  });
}
