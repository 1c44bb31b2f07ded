/**
 * One client and one account, each doing whatever it can, through a proxy that takes connections to the API from a pool:
 * no request of another account fails. A meter counts and times what that account sends.
 */
import {randomInt} from 'node:crypto';
import {Agent, request as requestHttp} from 'node:http';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {quantile} from '../../../bench/statistics.ts';
import {EDGES, type Edge, startEdge} from './edge.ts';
import {Dice, moves} from './framing.ts';
import {head, RawClient} from './raw.ts';
import {removeFolders, type Service, startService} from './service.ts';

/** Shown in the test's name. */
const SEED = Number(process.env.SEED ?? randomInt(2 ** 31));
const SECONDS = process.env.SOAK ? 60 : 3;
const CONNECTIONS = 32;
/** How many of the victim's clients send one request after another. */
const CLIENTS = 4;

let service: Service;
let edges: ReadonlyMap<string, Edge>;

beforeAll(async () => {
  // With the limits that users have.
  const account = {requestsPerSecond: 1000, bytesPerSecond: 8 << 20, answerBytesPerSecond: 16 << 20};
  const strangers = {requestsPerSecond: 200, addressRequestsPerSecond: 100};
  service = await startService({config: {limits: {account, strangers}, log: {level: 'info'}}});
  edges = new Map(await Promise.all(EDGES.map(async kind => [kind, await startEdge(kind, service)] as const)));
});
afterAll(async () => {
  for (const edge of edges.values()) await edge.stop();
  await service.stop();
  await removeFolders();
});

interface Meter {
  readonly failures: readonly string[];
  readonly times: readonly number[];
}

/** Submits messages until `isOver`. */
async function meter({port}: Edge, key: string, isOver: () => boolean): Promise<Meter> {
  const agent = new Agent({keepAlive: true, maxSockets: CLIENTS});
  const failures: string[] = [];
  const times: number[] = [];
  const headers = {authorization: `Bearer ${key}`, 'content-type': 'application/json'};
  const send = () =>
    new Promise<string>(resolve => {
      const request = requestHttp({agent, port, method: 'POST', path: '/messages', headers}, response => {
        response.resume().once('end', () => resolve(`${response.statusCode}`));
      });
      request.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
      request.end('{"message":"x"}');
    });
  const client = async () => {
    while (!isOver()) {
      const start = performance.now();
      const outcome = await send();
      times.push(performance.now() - start);
      if (outcome !== '202') failures.push(outcome);
    }
  };
  await Promise.all(Array.from({length: CLIENTS}, client));
  agent.destroy();
  return {failures, times};
}

interface Attacker {
  readonly answers: readonly number[];
  stop(): void;
}

/** Sends this again and again, on connections to the edge, each time it has got an answer or was cut off. */
function attack(edge: Edge, bytes: (key: string) => string, key: string): Attacker {
  const raw = new RawClient(edge);
  const answers: number[] = [];
  let isOver = false;
  const begin = () => {
    if (isOver) return;
    const connection = raw.open(bytes(key));
    let next: NodeJS.Immediate | undefined;
    connection.socket.on('data', (chunk: Buffer) => {
      const status = /^HTTP\/1\.1 (?<status>\d+)/.exec(chunk.toString('latin1'))?.groups?.status;
      if (status === undefined || isOver) return;
      answers.push(Number(status));
      next = setImmediate(() => connection.socket.write(bytes(key)));
    });
    connection.socket.once('close', () => {
      clearImmediate(next);
      setImmediate(begin);
    });
  };
  for (let n = 0; n < CONNECTIONS; n++) begin();
  return {
    answers,
    stop: () => {
      isOver = true;
      raw.closeAll();
    },
  };
}

const LONG = 'x'.repeat(1_500_000);
const JSON_HEAD = 'content-type: application/json\r\n';
const post = (key: string, path: string, body: string, headers = JSON_HEAD) =>
  `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n${headers}content-length: ${body.length}\r\n\r\n${body}`;
const chunked = (key: string, chunks: string) =>
  `POST /messages HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n${JSON_HEAD}transfer-encoding: chunked\r\n\r\n${chunks}`;

const ATTACKS: readonly (readonly [string, (key: string) => string])[] = [
  ['401, a long body', () => post('wrong', '/messages', LONG)],
  ['404, a long body', () => post('wrong', '/nothing', LONG)],
  ['405, a long body', () => post('wrong', '/openapi.json', LONG)],
  ['413, a long body', key => post(key, '/messages', LONG)],
  ['413 for a claim', key => post(key, '/messages/claim', LONG.slice(0, 200_000))],
  ['403 or 400, a long body', key => post(key, '/messages', LONG.slice(0, 250_000), 'content-type: text/plain\r\n')],
  ['GET with a long body', () => `GET /openapi.json HTTP/1.1\r\nhost: x\r\ncontent-length: 1500000\r\n\r\n${LONG}`],
  ['GET with a long body, with a key', key => `${head(key, 'GET /messages')}content-length: 1500000\r\n\r\n${LONG}`],
  ['HEAD with a body', key => `${head(key, 'HEAD /messages')}content-length: 100000\r\n\r\n${LONG.slice(0, 100_000)}`],
  ['a body that is withheld', key => `${head(key, 'DELETE /messages')}content-length: 1500000\r\n\r\n`],
  ['text/plain', key => post(key, '/messages', 'x', 'content-type: text/plain\r\n')],
  [
    'text/plain, long headers',
    key => post(key, '/messages', 'x', `content-type: text/plain\r\nx: ${'y'.repeat(15_000)}\r\n`),
  ],
  ['many headers', key => `${head(key)}${Array.from({length: 1000}, (_, n) => `x${n}: y\r\n`).join('')}\r\n`],
  ['a long query', key => `${head(key, `GET /messages?${'a&'.repeat(7000)}`)}\r\n`],
  ['/openapi.json', () => 'GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n'],
  ['wrong keys', () => post('wrong', '/messages', '{"message":"x"}')],
  ['chunks of one byte', key => chunked(key, `${'1\r\nx\r\n'.repeat(100_000)}0\r\n\r\n`)],
  ['chunks of one byte, with a wrong key', () => chunked('wrong', `${'1\r\nx\r\n'.repeat(100_000)}0\r\n\r\n`)],
  ['chunks that do not end', key => chunked(key, `10000\r\n${'x'.repeat(65_536)}\r\n`.repeat(20))],
  ['arrays in arrays', key => post(key, '/messages/claim', '['.repeat(4096))],
  ['expect, and no body', key => `${head(key)}expect: 100-continue\r\ncontent-length: 1500000\r\n\r\n`],
  ['many submits', key => post(key, '/messages', '{"message":"x"}')],
];

/** An edge may pass on the API's answer only once it has the whole body, or after its timeout of a minute. */
const UNANSWERED: ReadonlySet<string> = new Set(['a body that is withheld', 'chunks that do not end']);

describe.each(EDGES)('through %s', kind => {
  const edge = () => edges.get(kind) as Edge;
  // Traefik is the one that most platforms have.
  const ms = (kind === 'Traefik' ? 1000 : 300) * SECONDS;

  // attack: message-connections
  test.each(ATTACKS)('%s: no request of another account fails', async (name, bytes) => {
    const [mine, theirs] = [service.account().key, service.account().key];
    const attacker = attack(edge(), bytes, mine);
    const end = performance.now() + ms;
    const isAnswered = () => UNANSWERED.has(name) || attacker.answers.length > 0;
    const {failures, times} = await meter(edge(), theirs, () => performance.now() > end && isAnswered());
    attacker.stop();
    const seen = `${attacker.answers.length} answers to the attacker: ${[...new Set(attacker.answers)].join(', ')}; ${times.length} to the other account, p50 ${quantile(times, 0.5).toFixed(1)} ms, p99 ${quantile(times, 0.99).toFixed(1)} ms`;
    if (process.env.SHOW) console.log(`${kind}, ${name}: ${seen}`);
    expect(failures, seen).toEqual([]);
  });

  test(`hostile framing from seed ${SEED}: no request of another account fails`, async () => {
    const dice = new Dice(SEED);
    const raw = new RawClient(edge());
    const [mine, theirs] = [service.account().key, service.account().key];
    const end = performance.now() + 3 * ms;
    let sent = 0;
    const attacker = setInterval(() => {
      if (dice.below(20) === 0) raw.closeAll();
      for (let n = 0; n < 10; n++) {
        const {socket} = raw.open(Buffer.from(dice.one(moves)(dice, mine), 'latin1'), {unread: dice.below(4) === 0});
        sent += 1;
        const ending = dice.below(8);
        if (ending === 0) socket.once('connect', () => socket.end());
        if (ending === 1) socket.once('connect', () => setImmediate(() => socket.resetAndDestroy()));
      }
    }, 50);
    const {failures, times} = await meter(edge(), theirs, () => performance.now() > end);
    clearInterval(attacker);
    raw.closeAll();
    expect(failures, `${sent} connections of the attacker, ${times.length} requests of the other account`).toEqual([]);
  });
});
