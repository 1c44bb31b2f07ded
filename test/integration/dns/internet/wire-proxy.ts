/**
 * Proxies between the verifier and a real name server that spoil what passes on the wire. This does only what no server
 * can be made to do: every answer that gets through is the server's own.
 */
import {createSocket, type Socket} from 'node:dgram';
import {connect, createServer, type Socket as TcpSocket} from 'node:net';
import {setTimeout as delay, setImmediate as turn} from 'node:timers/promises';
import type {FaultName} from './plan.ts';

/** The datagrams that go to the client, in order; the last one is the server's own if the fault lets it through. */
type OnUdp = (answer: Buffer, query: Buffer, nth: number) => Buffer[] | Promise<Buffer[]>;
/** `relay`: as it comes; `silent`: accepted and never answered; `cut`: half of the answer; `drip`: byte by byte. */
type OnTcp = 'relay' | 'refuse' | 'silent' | 'cut' | 'drip';

const TRUNCATED = 0x02;
const [A, AAAA] = [1, 28];
const [FORMERR, SERVFAIL, NOTIMP, REFUSED] = [1, 2, 4, 5];

/** The others let every answer through. */
const onUdp: Partial<Record<FaultName, OnUdp>> = {
  'drop-first': (answer, _, nth) => (nth === 1 ? [] : [answer]),
  'drop-all': () => [],
  delay: answer => delay(700).then(() => [answer]),
  truncate: answer => [truncated(answer)],
  'truncate-no-tcp': answer => [truncated(answer)],
  'truncate-tcp-silent': answer => [truncated(answer)],
  'truncate-tcp-cut': answer => [truncated(answer)],
  'truncate-tcp-drip': answer => [truncated(answer)],
  'wrong-id': answer => [withId(answer, answer.readUInt16BE(0) + 1)],
  'wrong-question': answer => [renamed(answer)],
  garbage: answer => [Buffer.from('garbage'), Buffer.concat([answer.subarray(0, 4), Buffer.alloc(40, 0xff)]), answer],
  'garbage-only': answer => [Buffer.concat([answer.subarray(0, 2), Buffer.alloc(60, 0xff)])],
  'cut-short': answer => [answer.subarray(0, answer.length - 20)],
  duplicate: answer => [answer, answer, answer],
  'flip-bits': answer => [answer.map((byte, at) => (at > 40 && at % 7 === 0 ? byte ^ 0x55 : byte)) as Buffer],
  'query-back': (answer, query) => [query, answer],
};

/** Queries that get an error in place of an answer. */
const errors: Partial<Record<FaultName, (query: Buffer) => Buffer | undefined>> = {
  'no-edns': query => (hasEdns(query) ? errorFor(query, FORMERR) : undefined),
  'bare-formerr': query => (hasEdns(query) ? bare(errorFor(query, FORMERR)) : undefined),
  'bare-notimp': query => (hasEdns(query) ? bare(errorFor(query, NOTIMP)) : undefined),
  'bare-servfail': query => (hasEdns(query) ? bare(errorFor(query, SERVFAIL)) : undefined),
  'always-notimp': query => bare(errorFor(query, NOTIMP)),
  'no-a': query => (typeOf(query) === A ? errorFor(query, REFUSED) : undefined),
  'aaaa-refused': query => (typeOf(query) === AAAA ? errorFor(query, REFUSED) : undefined),
  'aaaa-notimp': query => (typeOf(query) === AAAA ? bare(errorFor(query, NOTIMP)) : undefined),
  'aaaa-servfail': query => (typeOf(query) === AAAA ? errorFor(query, SERVFAIL) : undefined),
};

const onTcp: Partial<Record<FaultName, OnTcp>> = {
  'truncate-no-tcp': 'refuse',
  'truncate-tcp-silent': 'silent',
  'truncate-tcp-cut': 'cut',
  'truncate-tcp-drip': 'drip',
};

export interface Proxy {
  readonly fault: FaultName;
  readonly address: string;
  /** The real server, and the one that gets the questions for IPv6 addresses if the fault splits them. */
  readonly upstream: string;
  readonly other: string;
}

export async function startProxy(proxy: Proxy): Promise<void> {
  const socket = createSocket('udp4');
  const stranger = createSocket('udp4');
  const seen = new Map<string, number>();
  socket.on('message', async (query: Buffer, client) => {
    const key = questionOf(query).toString('hex');
    const nth = (seen.get(key) ?? 0) + 1;
    seen.set(key, nth);
    const forged = proxy.fault === 'forge-source';
    const sender = forged ? stranger : socket;
    for (const datagram of await answerTo(proxy, query, nth)) sender.send(datagram, client.port, client.address);
  });
  await bind(socket, proxy.address, 53);
  await bind(stranger, proxy.address, 5353);
  const mode = onTcp[proxy.fault] ?? 'relay';
  if (mode !== 'refuse') await listen(proxy, mode);
}

async function answerTo({fault, upstream, other}: Proxy, query: Buffer, nth: number): Promise<Buffer[]> {
  if (fault === 'drop-all' || (fault === 'aaaa-silent' && typeOf(query) === AAAA)) return [];
  const error = errors[fault]?.(query);
  if (error) return [error];
  const server = fault === 'split-brain' && typeOf(query) === AAAA ? other : upstream;
  const answer = await exchange(query, server);
  return onUdp[fault]?.(answer, query, nth) ?? [answer];
}

/** Sends one question to the real server, which is on the same machine, so that no packet is lost. */
function exchange(query: Buffer, server: string): Promise<Buffer> {
  const socket = createSocket('udp4');
  return new Promise<Buffer>((resolve, reject) => {
    socket.once('error', reject);
    socket.once('message', (answer: Buffer) => resolve(answer));
    socket.send(query, 53, server);
  }).finally(() => socket.close());
}

function bind(socket: Socket, address: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('error', reject);
    socket.bind(port, address, resolve);
  });
}

function listen({address, upstream}: Proxy, mode: OnTcp): Promise<void> {
  const server = createServer(client => {
    const real = connect(53, upstream);
    for (const socket of [client, real]) socket.on('error', () => client.destroy());
    client.on('close', () => real.destroy());
    client.pipe(real);
    real.on('data', (chunk: Buffer) => forward(client, chunk, mode));
  });
  return new Promise(resolve => server.listen(53, address, resolve));
}

async function forward(client: TcpSocket, chunk: Buffer, mode: OnTcp): Promise<void> {
  if (mode === 'relay') client.write(chunk);
  if (mode === 'cut') client.end(chunk.subarray(0, chunk.length >> 1));
  if (mode !== 'drip') return;
  client.setNoDelay();
  for (const byte of chunk) {
    client.write(Uint8Array.of(byte));
    await turn(); // A pause of a millisecond takes many on a busy machine.
  }
}

/** Name, type, and class. */
function questionOf(message: Buffer): Buffer {
  let at = 12;
  while (message[at]) at += 1 + (message[at] ?? 0);
  return message.subarray(12, at + 5);
}

function truncated(answer: Buffer): Buffer {
  const head = Buffer.from(answer.subarray(0, 12 + questionOf(answer).length));
  head.writeUInt8(head.readUInt8(2) | TRUNCATED, 2);
  head.fill(0, 6, 12);
  return head;
}

function withId(answer: Buffer, id: number): Buffer {
  const changed = Buffer.from(answer);
  changed.writeUInt16BE(id & 0xffff, 0);
  return changed;
}

/** Changes the first letter of the question's name, and with it that of each record that points to this name. */
function renamed(answer: Buffer): Buffer {
  const changed = Buffer.from(answer);
  changed.writeUInt8('q'.charCodeAt(0), 13);
  return changed;
}

function typeOf(query: Buffer): number {
  return questionOf(query).readUInt16BE(questionOf(query).length - 4);
}

function hasEdns(query: Buffer): boolean {
  return query.readUInt16BE(10) > 0;
}

/** Without EDNS, as servers answer that are older than it (RFC 6891 section 7). */
function errorFor(query: Buffer, rcode: number): Buffer {
  const head = Buffer.from(query.subarray(0, 12 + questionOf(query).length));
  head.writeUInt8(0x80, 2);
  head.writeUInt8(rcode, 3);
  head.fill(0, 6, 12);
  return head;
}

/** Only the header, as servers answer that do not read the question. */
function bare(error: Buffer): Buffer {
  const head = Buffer.from(error.subarray(0, 12));
  head.fill(0, 4, 6);
  return head;
}
