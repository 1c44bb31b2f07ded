import {createSocket, type RemoteInfo} from 'node:dgram';
import {createServer, type Socket} from 'node:net';
import dnsPacket from 'dns-packet';
import {afterEach, beforeEach, describe, expect, test, vi} from 'vitest';
import {honestLargest, staircase} from '../../../test/integration/dns/hostile.ts';
import {systemClock} from '../../time/clock.ts';
import {createTransport, type Query} from './transport.ts';

/** A server's reaction to a query: the datagrams that it sends back, one after another. */
type Behaviour = (query: Buffer, tries: number) => Uint8Array[];

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** A separate address, so that no other connection on this machine has taken the TCP port. */
const HOST = '127.0.0.53';

/** Only for behavior that no real server can be made to show. */
async function serve(behaviour: Behaviour, overTcp?: (query: Buffer) => Uint8Array): Promise<Query> {
  const socket = createSocket('udp4');
  let tries = 0;
  socket.on('message', (message, from: RemoteInfo) => {
    tries++;
    for (const datagram of behaviour(message, tries)) socket.send(datagram, from.port, from.address);
  });
  await new Promise<void>(resolve => socket.bind(0, HOST, resolve));
  closers.push(() => socket.close());
  const {port} = socket.address();
  if (overTcp !== undefined) await serveTcp(port, overTcp);
  return {endpoint: {address: HOST, port}, name: 'shop.example.com', type: 'A', recursionDesired: false};
}

/** `pieces`: the number of bytes per segment. */
async function serveTcp(port: number, answer: (query: Buffer) => Uint8Array, pieces?: number): Promise<void> {
  const server = createServer(socket => {
    socket.on('error', () => {});
    socket.once('data', chunk => {
      const reply = Buffer.from(answer(Buffer.from(chunk).subarray(2)));
      const framed = Buffer.concat([Buffer.from([reply.length >> 8, reply.length & 0xff]), reply]);
      // In two parts, because TCP does not preserve message boundaries.
      if (pieces === undefined) socket.write(framed.subarray(0, 1), () => socket.end(framed.subarray(1)));
      else void writePieces(socket, framed, pieces);
    });
  });
  await new Promise<void>(resolve => server.listen(port, HOST, resolve));
  closers.push(() => server.close());
}

async function writePieces(socket: Socket, bytes: Uint8Array, length: number): Promise<void> {
  socket.setNoDelay(true);
  for (let at = 0; at < bytes.length && !socket.destroyed; at += length) {
    await new Promise<void>(resolve => socket.write(bytes.subarray(at, at + length), () => resolve()));
    await new Promise(setImmediate);
  }
  socket.end();
}

function questionOf(query: Buffer) {
  const {id = 0, questions} = dnsPacket.decode(query);
  return {id, name: questions?.[0]?.name ?? '', type: 1};
}

function answer(query: Buffer, address: string, change: {id?: number; name?: string; flags?: number} = {}): Buffer {
  const {id, questions} = dnsPacket.decode(query);
  const name = change.name ?? questions?.[0]?.name ?? '';
  return dnsPacket.encode({
    type: 'response',
    id: change.id ?? id ?? 0,
    flags: change.flags ?? dnsPacket.AUTHORITATIVE_ANSWER,
    questions: [{name, type: 'A'}],
    answers: [{name, type: 'A', ttl: 60, data: address}],
  });
}

function hasEdns(query: Buffer): boolean {
  return query.readUInt16BE(10) > 0;
}

/** A header without the question, as servers send that do not even read a query that they do not like. */
function bareError(query: Buffer, rcode: number): Buffer {
  const header = Buffer.alloc(12);
  header.writeUInt16BE(query.readUInt16BE(0), 0);
  header.writeUInt8(0x80, 2);
  header.writeUInt8(rcode, 3);
  return header;
}

/** Timers stand still, so that no answer is late. `inVain` lets the time of unanswered questions run out. */
beforeEach(() => {
  vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout']});
});
afterEach(() => {
  vi.useRealTimers();
});

const TRUNCATED = dnsPacket.AUTHORITATIVE_ANSWER | dnsPacket.TRUNCATED_RESPONSE;
const TIMEOUT_MS = 400;
/** After this long without an answer, the question is sent again. */
const REPEAT_MS = TIMEOUT_MS / 2;

const transport = createTransport({
  mayQuery: ({address}) => address === HOST,
  timeoutMs: TIMEOUT_MS,
  clock: systemClock,
});

/** Lets the time of a question run out. */
async function inVain<T>(asking: Promise<T>): Promise<T> {
  let open = true;
  void asking.finally(() => {
    open = false;
  });
  while (open) await vi.advanceTimersByTimeAsync(REPEAT_MS);
  return asking;
}

/** Both ends are in this process, so within a few turns, each has read what the other has sent. */
async function someTurns(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
}

const never = new AbortController().signal;
const RIGHT = {ok: true, message: {answers: [{address: '192.0.2.1'}]}};

describe('the answer is taken', () => {
  test('when it comes', async () => {
    const query = await serve(message => [answer(message, '192.0.2.1')]);
    expect(await transport.query(query, never)).toMatchObject(RIGHT);
  });
  test('at the second try', async () => {
    const query = await serve((message, tries) => {
      if (tries > 1) return [answer(message, '192.0.2.1')];
      vi.advanceTimersByTime(REPEAT_MS);
      return [];
    });
    expect(await transport.query(query, never)).toMatchObject(RIGHT);
  });
  test('after garbage, a wrong id and a wrong question', async () => {
    const query = await serve(message => {
      const id = message.readUInt16BE(0);
      return [
        Buffer.from('garbage'),
        answer(message, '192.0.2.66', {id: (id + 1) & 0xffff}),
        answer(message, '192.0.2.66', {name: 'other.example.com'}),
        message,
        answer(message, '192.0.2.1'),
      ];
    });
    expect(await transport.query(query, never)).toMatchObject(RIGHT);
  });
  test('over TCP when it is truncated', async () => {
    const query = await serve(
      message => [answer(message, '192.0.2.66', {flags: TRUNCATED})],
      message => answer(message, '192.0.2.1'),
    );
    expect(await transport.query(query, never)).toMatchObject(RIGHT);
  });
  test('without EDNS, from a server that does not know it', async () => {
    const query = await serve(message => {
      return [hasEdns(message) ? answer(message, '192.0.2.66', {flags: 1}) : answer(message, '192.0.2.1')];
    });
    expect(await transport.query(query, never)).toMatchObject(RIGHT);
  });
  test.each([
    ['FORMERR', 1],
    ['SERVFAIL', 2],
    ['NOTIMP', 4],
    ['REFUSED', 5],
  ])('without EDNS, from a server that answers it with only the 12 bytes of a header: %s', async (_, rcode) => {
    const query = await serve(message => [hasEdns(message) ? bareError(message, rcode) : answer(message, '192.0.2.1')]);
    expect(await transport.query(query, never)).toMatchObject(RIGHT);
  });
  test.each([
    ['FORMERR', 1],
    ['NOTIMP', 4],
  ])('without EDNS, from a server that sends it back with %s', async (_, rcode) => {
    const refusal = (query: Buffer) => {
      const echo = Buffer.from(query);
      echo.writeUInt8(0x80, 2);
      echo.writeUInt8(rcode, 3);
      return echo;
    };
    const query = await serve(message => [hasEdns(message) ? refusal(message) : answer(message, '192.0.2.1')]);
    expect(await transport.query(query, never)).toMatchObject(RIGHT);
  });
  test.each([
    ['the header', 12],
    ['the header and the question', 34],
  ])('without EDNS, from a server that sends back only %s, and the counts of all', async (_, length) => {
    const refusal = (query: Buffer) => {
      const echo = Buffer.from(query.subarray(0, length));
      echo.writeUInt8(0x80, 2);
      echo.writeUInt8(1, 3);
      return echo;
    };
    const query = await serve(message => [hasEdns(message) ? refusal(message) : answer(message, '192.0.2.1')]);
    expect(await transport.query(query, never)).toMatchObject(RIGHT);
  });
  test('without EDNS, from a server that says that it does not know its version', async () => {
    const refusal = (query: Buffer) => {
      const echo = Buffer.from(query);
      echo.writeUInt8(0x80, 2);
      echo.writeUInt8(1, echo.length - 6); // the upper bits of the response code
      return echo;
    };
    const query = await serve(message => [hasEdns(message) ? refusal(message) : answer(message, '192.0.2.1')]);
    expect(await transport.query(query, never)).toMatchObject(RIGHT);
  });
  test('without EDNS, from a server that fails at it', async () => {
    const query = await serve(message => [
      hasEdns(message) ? answer(message, '192.0.2.66', {flags: 2}) : answer(message, '192.0.2.1'),
    ]);
    expect(await transport.query(query, never)).toMatchObject(RIGHT);
  });
  test('over TCP when the datagram is longer than requested', async () => {
    const query = await serve(
      message => [Buffer.concat([answer(message, '192.0.2.66'), Buffer.alloc(1232)])],
      message => answer(message, '192.0.2.1'),
    );
    expect(await transport.query(query, never)).toMatchObject(RIGHT);
  });
  test('over TCP when it comes byte by byte', async () => {
    const query = await serve(message => [answer(message, '192.0.2.66', {flags: TRUNCATED})]);
    await serveTcp(query.endpoint.port, message => answer(message, '192.0.2.1'), 1);
    expect(await transport.query(query, never)).toMatchObject(RIGHT);
  });
  test('whatever its case', async () => {
    const query = await serve(message => [answer(message, '192.0.2.1', {name: 'SHOP.Example.com'})]);
    expect(await transport.query(query, never)).toMatchObject(RIGHT);
  });
});

describe('there is no answer', () => {
  test('in silence, after two datagrams', async () => {
    let datagrams = 0;
    const query = await serve((message, tries) => {
      datagrams = tries;
      return tries > 2 ? [answer(message, '192.0.2.1')] : [];
    });
    expect(await inVain(transport.query(query, never))).toMatchObject({ok: false, failure: 'timeout'});
    // Once the next query is answered, all earlier datagrams have arrived.
    expect(await transport.query(query, never)).toMatchObject(RIGHT);
    expect(datagrams).toBe(3);
  });
  test('in garbage', async () => {
    const asked = Promise.withResolvers<void>();
    const query = await serve(message => {
      asked.resolve();
      return [Buffer.concat([message.subarray(0, 2), Buffer.from([0x84, 0, 0, 1])])];
    });
    const asking = transport.query(query, never);
    await asked.promise;
    await someTurns();
    expect(await inVain(asking)).toMatchObject({ok: false, failure: 'malformed'});
  });
  // attack: hostile-dns
  test('in a flood of datagrams that answer something else', async () => {
    const query = await serve(message => Array(64).fill(answer(message, '192.0.2.66', {name: 'other.example.com'})));
    expect(await transport.query(query, never)).toMatchObject({
      failure: 'malformed',
      detail: 'a malformed answer: none of 64 datagrams was the answer',
    });
  });
  test('in a header without the question that says that all is well, or that there is no such name', async () => {
    for (const rcode of [0, 3]) {
      const asked = Promise.withResolvers<void>();
      const query = await serve(message => {
        asked.resolve();
        return [bareError(message, rcode)];
      });
      const asking = transport.query(query, never);
      await asked.promise;
      await someTurns();
      expect(await inVain(asking)).toMatchObject({failure: 'malformed', detail: expect.stringContaining('question')});
    }
  });
  test('in a header with another id, which is not an error of this query', async () => {
    const query = await serve(message => {
      const other = bareError(message, 1);
      other.writeUInt16BE((message.readUInt16BE(0) + 1) & 0xffff, 0);
      return [other, answer(message, '192.0.2.1')];
    });
    expect(await transport.query(query, never)).toMatchObject(RIGHT);
  });
  test('in an error, with EDNS or without', async () => {
    const query = await serve(message => [bareError(message, 4)]);
    expect(await transport.query(query, never)).toMatchObject({ok: true, message: {rcode: 4, answers: []}});
  });
  test('in garbage with a wrong id, which is not even read', async () => {
    const asked = Promise.withResolvers<void>();
    const query = await serve(message => {
      asked.resolve();
      const question = questionOf(message);
      return [staircase({...question, id: (question.id + 1) & 0xffff}, 20, 20)];
    });
    const asking = transport.query(query, never);
    await asked.promise;
    await someTurns();
    expect(await inVain(asking)).toMatchObject({ok: false, failure: 'timeout'});
  });
  test.each([
    [
      'pointers',
      (message: Buffer) => staircase(questionOf(message), 199),
      'more than 16 compression pointers in a name',
    ],
    ['records', (message: Buffer) => honestLargest(questionOf(message)), 'more than 200 records'],
  ])('in 64 KiB of %s over TCP', async (_, hostile, detail) => {
    const query = await serve(message => [answer(message, '192.0.2.66', {flags: TRUNCATED})], hostile);
    expect(await transport.query(query, never)).toEqual({
      ok: false,
      failure: 'malformed',
      detail: `a malformed answer: ${detail}`,
    });
  });
  test('in an endless stream of single bytes', async () => {
    const query = await serve(message => [answer(message, '192.0.2.66', {flags: TRUNCATED})]);
    await serveTcp(query.endpoint.port, () => Buffer.alloc(2000), 1);
    expect(await transport.query(query, never)).toMatchObject({
      failure: 'unreachable',
      detail: 'the answer arrived in too many pieces',
    });
  });
  test('where nobody listens', async () => {
    const query = await serve(() => []);
    await closers.pop()?.();
    expect(await transport.query(query, never)).toMatchObject({ok: false, failure: 'unreachable'});
  });
  test('when truncation has no TCP behind it', async () => {
    const query = await serve(message => [answer(message, '192.0.2.66', {flags: dnsPacket.TRUNCATED_RESPONSE})]);
    expect(await transport.query(query, never)).toMatchObject({ok: false, failure: 'unreachable'});
  });
  test('from an address that may not be asked, and nothing is sent', async () => {
    let received = 0;
    const query = await serve(() => {
      received++;
      return [];
    });
    const closed = createTransport({mayQuery: () => false, timeoutMs: 50, clock: systemClock});
    expect(await closed.query(query, never)).toMatchObject({ok: false, failure: 'forbidden'});
    expect(received).toBe(0);
  });
  test('for a name that cannot exist', async () => {
    const query = await serve(() => []);
    const name = `${'a'.repeat(64)}.com`;
    expect(await transport.query({...query, name}, never)).toMatchObject({ok: false, failure: 'malformed'});
  });
  test('after an abort', async () => {
    const query = await serve(() => []);
    expect(await transport.query(query, AbortSignal.abort())).toMatchObject({ok: false, failure: 'timeout'});
  });
});

test('one server gets no more than its share of queries at a time', async () => {
  let asked = 0;
  const query = await serve(() => {
    asked++;
    return [];
  });
  const narrow = createTransport({mayQuery: () => true, timeoutMs: TIMEOUT_MS, perServer: 2, clock: systemClock});
  const stop = new AbortController();
  const all = [1, 2, 3, 4, 5].map(() => narrow.query(query, stop.signal));
  await someTurns();
  expect(asked).toBe(2);
  await inVain(Promise.all(all.slice(0, 2)));
  await someTurns();
  expect(asked).toBeGreaterThan(4);
  stop.abort();
  expect((await Promise.all(all)).every(reply => !reply.ok)).toBe(true);
});

describe('a server that has left eight questions in a row unanswered', () => {
  let now = 0;
  const clock = {...systemClock, monotonic: () => now};
  const asked = async (answers: () => boolean) => {
    let count = 0;
    const query = await serve((message, _tries) => {
      count++;
      return answers() ? [answer(message, '192.0.2.1')] : [];
    });
    const brief = createTransport({mayQuery: () => true, timeoutMs: 150, clock});
    return {ask: () => brief.query(query, never), count: () => count};
  };

  test('is skipped for ten seconds, and then queried again', async () => {
    let well = false;
    const {ask, count} = await asked(() => well);
    for (let n = 0; n < 8; n++) expect(await inVain(ask())).toMatchObject({failure: 'timeout', detail: 'no answer'});
    const before = count();
    expect(await ask()).toMatchObject({failure: 'timeout', detail: expect.stringContaining('not queried again')});
    expect(count()).toBe(before);
    now += 10_000;
    well = true;
    expect(await ask()).toMatchObject(RIGHT);
  });

  test('is another one than a server that answers now and then', async () => {
    let n = 0;
    const {ask} = await asked(() => n % 8 === 7);
    for (; n < 10; n++) {
      if (n % 8 === 7) expect(await ask()).toMatchObject(RIGHT);
      else expect(await inVain(ask())).toMatchObject({detail: 'no answer'});
    }
  });
});
