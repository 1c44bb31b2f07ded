/** Requests that are framed in hostile ways, from a seed. */
import {head} from './raw.ts';

/** The maximum size of a body, for which they are made. */
export const BODY_BYTES = 64 * 1024;

/** Numbers from a seed: mulberry32. */
export class Dice {
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

export const moves: readonly [Move, ...Move[]] = [
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
  // Bodies that are answered before they were read, of all sizes, complete or not.
  (dice, key) => {
    const line = dice.one(LINES);
    const size = dice.one([1, 1000, 16_384, 16_385, BODY_BYTES + 1, 1_500_000]);
    const type = dice.one(['application/json', 'text/plain', 'application/json; charset=latin1']);
    const sent = dice.one([0, 1, size - 1, size, size]);
    return `${line} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${dice.one([key, 'wrong', ''])}\r\ncontent-type: ${type}\r\ncontent-length: ${size}\r\n\r\n${'x'.repeat(sent)}`;
  },
  // Targets, hosts, and versions.
  (dice, key) => {
    const target = dice.one([
      'http://x/messages',
      'http://x',
      '*',
      '//messages',
      `/messages?${'a=1&'.repeat(dice.below(4000))}`,
      '/messages?limit=1&limit=2',
    ]);
    const host = dice.one(['host: x\r\n', '', 'host: x\r\nhost: y\r\n', 'host: x y\r\n', 'host:\r\n']);
    const version = dice.one(['1.1', '1.0', '2.0', '1.9']);
    return `${dice.one(['GET', 'HEAD', 'POST', 'PATCH'])} ${target} HTTP/${version}\r\n${host}authorization: Bearer ${key}\r\n\r\n`;
  },
  // Structures that take more memory than bytes.
  (dice, key) => {
    const unit = dice.one(['[', '{"a":', '{},', '1,', '"\\u0061":0,', '"[",']);
    const body = `${dice.one(['', '{"message":"x","a":[', '{"limit":1,"a":{'])}${unit.repeat(dice.below(Math.floor(BODY_BYTES / unit.length)))}`;
    return `${head(key, dice.one(['POST /messages', 'POST /messages/claim']))}content-length: ${body.length}\r\n\r\n${body}`;
  },
  // Random bytes.
  dice => Array.from({length: dice.below(3000)}, () => String.fromCharCode(dice.below(256))).join(''),
];
