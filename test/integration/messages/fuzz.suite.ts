/**
 * A fuzzer with a meter: connections that frame their requests in hostile ways, from a seed. What the service holds, by
 * its own count, stays within its limits, another account is answered, and nothing is left when the connections are
 * gone. For each store.
 */
import {randomInt} from 'node:crypto';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {until} from '../../cluster/wait.ts';
import {readJsonLines} from '../../support/json-lines.ts';
import {type Client, createClient} from './client.ts';
import {head, heldBytes, MIB, metric, RawClient, residentBytes, SMALL_HEAP} from './raw.ts';
import type {Service, ServiceOptions} from './service.ts';

/** Shown in the test's name. */
const SEED = Number(process.env.SEED ?? randomInt(2 ** 31));
const ROUNDS = process.env.SOAK ? 100 : 4;
const CONNECTIONS = 150;
const ACCOUNT_BYTES = 4 * MIB;
const ACCOUNTS = 3;
const BODY_BYTES = 64 * 1024;
let service: Service;
let client: Client;
let raw: RawClient;

/** Numbers from a seed: mulberry32. */
class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** 0 to `count` - 1. */
  below(count: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t ^= t + Math.imul(t ^ (t >>> 7), 61 | t);
    return ((t ^ (t >>> 14)) >>> 0) % count;
  }

  one<T>(items: readonly [T, ...T[]]): T {
    return items[this.below(items.length)] ?? items[0];
  }
}

type Move = (dice: Dice, key: string) => string;

/** Submits on a separate connection from another address, for which the service closes the attacker's idle ones. */
async function submitFromElsewhere(key: string, message: string): Promise<string> {
  const body = JSON.stringify({message});
  const request = `${head(key)}connection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  const connection = raw.open(request, {from: '127.0.0.2'});
  await until('it is answered', () => connection.closed);
  return connection.received;
}

const LINES = [
  'POST /messages',
  'POST /messages/claim',
  'GET /messages?limit=100',
  'GET /messages?status=dead&cursor=x',
  'POST /messages/msg_0/ack',
  'POST /messages/msg_0/nack',
  'GET /openapi.json',
  'HEAD /messages',
  'DELETE /messages',
  'OPTIONS *',
  'CONNECT a:1',
] as const;

const length = (dice: Dice) => dice.one([0, 1, 2, 63, 64, 65, 1000, BODY_BYTES - 1, BODY_BYTES, BODY_BYTES + 1, 1e9]);
const json = (dice: Dice) =>
  dice.one([
    '{"message":"x"}',
    `{"message":"${'\\u0000'.repeat(dice.below(8000))}"}`,
    `{"message":"x","a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`,
    `{"message":"x","a":[${'{},'.repeat(15_000)}{}]}`,
    '{"limit":100,"leaseSeconds":1}',
    '{"__proto__":{"message":"x"}}',
    '\ufeff{}',
    '{"message":"',
  ]);

const moves: readonly [Move, ...Move[]] = [
  // Whole requests, one or many in a row.
  (dice, key) => {
    const body = json(dice);
    const request = `${head(key, dice.one(LINES))}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
    return request.repeat(dice.one([1, 2, 20, 300]));
  },
  // Many reads.
  (dice, key) => `${head(key, 'GET /messages?limit=100')}\r\n`.repeat(dice.one([1, 16, 17, 500, 3000])),
  // A false length, and a body that is withheld, partly or entirely.
  (dice, key) => `${head(key)}content-length: ${length(dice)}\r\n\r\n${'x'.repeat(dice.below(BODY_BYTES))}`,
  // Chunks of all sizes, with extensions and trailers, complete or not.
  (dice, key) => {
    const chunk = () => {
      const size = dice.one([1, 1, 2, 63, 64, 65, 4096]);
      return `${size.toString(16)}${dice.one(['', ';a=b', `;${'e'.repeat(dice.below(2000))}`])}\r\n${'x'.repeat(size)}\r\n`;
    };
    const chunks = Array.from({length: dice.one([1, 10, 1000])}, chunk).join('');
    return `${head(key)}transfer-encoding: chunked\r\n\r\n${chunks}${dice.one(['', '0\r\n\r\n', '0\r\nx: y\r\n\r\n', 'zz\r\n'])}`;
  },
  (dice, key) => `${head(key)}transfer-encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(dice.below(20_000))}`,
  // Headers that do not end, are too many or too long, or request something else.
  (dice, key) => head(key).slice(0, dice.below(200)),
  (dice, key) => `${head(key)}${'x: y\r\n'.repeat(dice.below(5000))}`,
  (dice, key) =>
    `${head(key)}${dice.one(['expect: 100-continue', 'expect: 200-ok', 'upgrade: websocket\r\nconnection: upgrade', 'transfer-encoding: gzip, chunked', 'content-encoding: gzip', 'idempotency-key: "', `x: ${'y'.repeat(16_000)}`])}\r\ncontent-length: 10\r\n\r\n`,
  // Random bytes.
  dice => Array.from({length: dice.below(3000)}, () => String.fromCharCode(dice.below(256))).join(''),
];

export function fuzzSuite(start: (options: Pick<ServiceOptions, 'config' | 'wrapper'>) => Promise<Service>): void {
  beforeAll(async () => {
    const account = {heldBytes: ACCOUNT_BYTES, requestsAtOnce: 64, storedBytes: 16 * MIB};
    const limits = {bodyBytes: BODY_BYTES, heldBytes: 8 * MIB, account};
    const server = {headersTimeoutSeconds: 5, requestTimeoutSeconds: 10, answerTimeoutSeconds: 2, maxConnections: 256};
    service = await start({config: {limits, server}, wrapper: SMALL_HEAP});
    client = await createClient(service.url);
    raw = new RawClient(service);
  });
  afterAll(async () => {
    client.close();
    raw.closeAll();
    await service.stop();
  });

  test(`${ROUNDS} rounds of hostile framing from seed ${SEED}: bounded, nobody else waits, nothing is left`, async () => {
    const dice = new Dice(SEED);
    const keys = Array.from({length: ACCOUNTS}, () => service.account().key);
    const [firstKey = ''] = keys;
    for (let n = 0; n < 40; n++) await client.submit(firstKey, 'x'.repeat(60_000));
    const other = service.account().key;
    const before = await residentBytes(service);
    for (let round = 0; round < ROUNDS; round++) {
      for (let n = 0; n < CONNECTIONS; n++) {
        const key = dice.below(10) === 0 ? 'wrong' : dice.one(keys as [string, ...string[]]);
        const bytes = Buffer.from(dice.one(moves)(dice, key), 'latin1');
        const {socket} = raw.open(bytes, {unread: dice.below(3) === 0});
        const ending = dice.below(8);
        if (ending === 0) socket.once('connect', () => socket.end());
        if (ending === 1) socket.once('connect', () => setImmediate(() => socket.resetAndDestroy()));
      }
      expect(await submitFromElsewhere(other, `round ${round}`)).toMatch(/^HTTP\/1\.1 202 /);
      expect(await heldBytes(service)).toBeLessThanOrEqual(8 * MIB + MIB);
      expect(await metric(service, 'nameplate_messages_store_waiting')).toBeLessThanOrEqual(64 * (ACCOUNTS + 1));
      if (dice.below(3) === 0) raw.closeAll();
    }
    expect((await residentBytes(service)) - before).toBeLessThan(200 * MIB);
    raw.closeAll();
    await until('nothing is held', async () => (await heldBytes(service)) === 0);
    await until('nothing waits', async () => (await metric(service, 'nameplate_messages_store_waiting')) === 0);
    const {body} = await client.get(other, '/messages?limit=100');
    expect(body.messages.slice(0, ROUNDS).map(({message}: {message: string}) => message)).toEqual(
      Array.from({length: Math.min(ROUNDS, 100)}, (_, round) => `round ${round}`),
    );
    const failures = (await readJsonLines(service.logFile)).filter(line => line.message === 'The request failed.');
    expect(failures).toEqual([]);
  }, 600_000);
}
