import {randomInt} from 'node:crypto';
import {type Endpoint, formatEndpoint} from './addresses.ts';
import type {Clock} from './clock.ts';
import {DecodeError, decodeMessage, encodeQuery, type Message, type QueryType, typeCode} from './codec.ts';
import {Semaphore} from './semaphore.ts';
import {Silence} from './silence.ts';
import {exchangeOverTcp} from './tcp.ts';
import {exchangeOverUdp} from './udp.ts';
import {canonicalName} from './wire-names.ts';
import {within} from './within.ts';

export interface Query {
  readonly endpoint: Endpoint;
  readonly name: string;
  readonly type: QueryType;
  readonly recursionDesired: boolean;
  readonly checkingDisabled?: boolean;
}

/** Why there is no message. `forbidden`: the address may not be asked, and no packet has left. */
export type Failure = 'timeout' | 'unreachable' | 'malformed' | 'forbidden' | 'budget';

export type Reply =
  | {readonly ok: true; readonly message: Message}
  | {readonly ok: false; readonly failure: Failure; readonly detail: string};

export interface Transport {
  /** Never rejects. An abort is a timeout. */
  query(query: Query, signal: AbortSignal): Promise<Reply>;
}

export interface TransportOptions {
  /** Asked before any packet is sent. */
  readonly mayAsk: (endpoint: Endpoint) => boolean;
  /**
   * Milliseconds that a datagram may take to be answered. Half of that after the first, it is sent once more, so silence
   * lasts for one and a half. An exchange over TCP has as long again.
   */
  readonly timeoutMs: number;
  /** Questions in flight to one address; others wait in line. Default 16. */
  readonly perServer?: number;
  /** The servers are our own resolvers, and no stranger's. */
  readonly ours?: boolean;
  readonly clock: Clock;
}

const FORMERR = 1;
const NOTIMP = 4;

export function createTransport(options: TransportOptions): Transport {
  const lines = new Map<string, Semaphore>();
  const silence = new Silence(options.clock, options.ours);

  async function askUnlessSilent(server: string, query: Query, signal: AbortSignal): Promise<Reply> {
    if (silence.holds(server, query.name)) {
      return failed('timeout', 'no answer to others just now, so not asked again');
    }
    try {
      const reply = await exchange(query, options.timeoutMs, signal);
      silence.answered(server, query.name);
      return reply;
    } catch (error) {
      if (isTimeout(error) && !signal.aborted) silence.unanswered(server, query.name);
      throw error;
    }
  }

  async function query(query: Query, signal: AbortSignal): Promise<Reply> {
    const server = formatEndpoint(query.endpoint);
    if (!options.mayAsk(query.endpoint)) {
      return failed('forbidden', `${server} is not a public address; nothing was sent to it`);
    }
    if (canonicalName(query.name) === undefined) return failed('malformed', 'such a name cannot exist in the DNS');
    const line = lines.get(server) ?? new Semaphore(options.perServer ?? 16);
    lines.set(server, line);
    try {
      return await line.run(() => askUnlessSilent(server, query, signal), signal);
    } catch (error) {
      return failureOf(error, signal);
    } finally {
      if (line.idle) lines.delete(server);
    }
  }

  return {query};
}

async function exchange(query: Query, timeoutMs: number, signal: AbortSignal): Promise<Reply> {
  const withEdns = await exchangeUdpThenTcp(query, true, timeoutMs, signal);
  // Servers older than EDNS refuse what they do not know (RFC 6891 section 7).
  if ((withEdns.rcode !== FORMERR && withEdns.rcode !== NOTIMP) || withEdns.edns) return {ok: true, message: withEdns};
  return {ok: true, message: await exchangeUdpThenTcp(query, false, timeoutMs, signal)};
}

async function exchangeUdpThenTcp(query: Query, edns: boolean, ms: number, signal: AbortSignal): Promise<Message> {
  const message = await within(ms * 1.5, signal, deadline => overUdp(query, edns, ms / 2, deadline));
  return message.truncated ? within(ms, signal, deadline => overTcp(query, edns, deadline)) : message;
}

/** The second datagram does not wait for the end of the first: its answer may be under way, and is as good. */
async function overUdp(query: Query, edns: boolean, repeatMs: number, signal: AbortSignal): Promise<Message> {
  const id = randomInt(0x10000);
  let garbage: DecodeError | undefined;
  // A datagram that is not the answer is left alone: anybody can send one, and the answer may still come.
  const accept = (datagram: Uint8Array) => {
    try {
      const message = decodeMessage(datagram);
      return answers(message, id, query) ? message : undefined;
    } catch (error) {
      if (error instanceof DecodeError) garbage = error;
      return undefined;
    }
  };
  try {
    return await exchangeOverUdp(query.endpoint, encode(query, id, edns), accept, signal, repeatMs);
  } catch (error) {
    throw garbage !== undefined && signal.aborted ? garbage : error;
  }
}

async function overTcp(query: Query, edns: boolean, signal: AbortSignal): Promise<Message> {
  const id = randomInt(0x10000);
  const message = decodeMessage(await exchangeOverTcp(query.endpoint, encode(query, id, edns), signal));
  if (!answers(message, id, query)) throw new DecodeError('the answer to another question');
  if (message.truncated) throw new DecodeError('truncated over TCP');
  return message;
}

function encode(query: Query, id: number, edns: boolean): Uint8Array {
  const {name, type, recursionDesired, checkingDisabled = false} = query;
  return encodeQuery({id, name, type, recursionDesired, checkingDisabled, edns});
}

function answers(message: Message, id: number, query: Query): boolean {
  return message.id === id && message.question.name === query.name && message.question.type === typeCode(query.type);
}

function isTimeout(error: unknown): boolean {
  return error instanceof DOMException || error instanceof DecodeError;
}

function failureOf(error: unknown, signal: AbortSignal): Reply {
  if (signal.aborted || error instanceof DOMException) return failed('timeout', 'no answer');
  if (error instanceof DecodeError) return failed('malformed', `a malformed answer: ${error.message}`);
  if (error instanceof Error) return failed('unreachable', describeSocketError(error));
  throw error;
}

function describeSocketError(error: Error): string {
  const code = 'code' in error ? String(error.code) : error.message;
  const known: Record<string, string> = {
    ECONNREFUSED: 'connection refused',
    ECONNRESET: 'connection reset',
    ENETUNREACH: 'no route',
    EHOSTUNREACH: 'no route',
    EADDRNOTAVAIL: 'no route',
    EPERM: 'blocked by a local rule',
    EACCES: 'blocked by a local rule',
  };
  return known[code] ?? code;
}

function failed(failure: Failure, detail: string): Reply {
  return {ok: false, failure, detail};
}
