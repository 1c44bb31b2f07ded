import {randomInt} from 'node:crypto';
import type {Clock} from '../../time/clock.ts';
import {DeadlineError, withDeadline} from '../../time/deadline.ts';
import {canonicalName} from '../names/wire-names.ts';
import {type Endpoint, formatEndpoint} from './addresses.ts';
import {
  decodeHead,
  decodeMessage,
  encodeQuery,
  type Message,
  type MessageHead,
  type QueryType,
  typeCode,
  UDP_PAYLOAD,
} from './codec.ts';
import {DeadServerCache} from './dead-servers.ts';
import {Semaphore} from './semaphore.ts';
import {exchangeOverTcp} from './tcp.ts';
import {exchangeOverUdp} from './udp.ts';
import {DecodeError} from './wire-reader.ts';

export interface Query {
  readonly endpoint: Endpoint;
  readonly name: string;
  readonly type: QueryType;
  readonly recursionDesired: boolean;
  readonly checkingDisabled?: boolean;
}

/** Why there is no message. `forbidden`: we may not query the address, and sent no packet. */
export type QueryFailure = 'timeout' | 'unreachable' | 'malformed' | 'forbidden' | 'budget';

export type Reply =
  | {readonly ok: true; readonly message: Message}
  | {readonly ok: false; readonly failure: QueryFailure; readonly detail: string};

export interface DnsTransport {
  /** Never rejects. An abort counts as a timeout. */
  query(query: Query, signal: AbortSignal): Promise<Reply>;
}

interface TransportOptions {
  /** Called before any packet is sent. */
  readonly mayQuery: (endpoint: Endpoint) => boolean;
  /**
   * Milliseconds within which a datagram must be answered. It is sent again after half of that, so a query without an
   * answer takes one and a half times as long. An exchange over TCP gets the same time again.
   */
  readonly timeoutMs: number;
  /** Queries in flight to one address; others wait. Default 16. */
  readonly perServer?: number;
  /** The servers are our own resolvers, not a stranger's. */
  readonly ours?: boolean;
  readonly clock: Clock;
}

const FORMERR = 1;
const SERVFAIL = 2;
const NOTIMP = 4;
/** The version of EDNS is unknown, although 0 is the first one. */
const BADVERS = 16;
/** Wrong datagrams that one query tolerates. Only its server can send many, because they must match a random port. */
const MAX_DATAGRAMS = 64;

export function createTransport(options: TransportOptions): DnsTransport {
  const limits = new Map<string, Semaphore>();
  const dead = new DeadServerCache(options.clock, options.ours);

  async function queryUnlessDead(server: string, query: Query, signal: AbortSignal): Promise<Reply> {
    if (dead.isDead(server, query.name)) {
      return failed('timeout', 'did not answer other queries recently, so not queried again');
    }
    try {
      const reply = await exchange(query, options.timeoutMs, signal);
      dead.answered(server, query.name);
      return reply;
    } catch (error) {
      if (isTimeout(error) && !signal.aborted) dead.unanswered(server, query.name);
      throw error;
    }
  }

  async function query(query: Query, signal: AbortSignal): Promise<Reply> {
    const server = formatEndpoint(query.endpoint);
    if (!options.mayQuery(query.endpoint)) {
      return failed('forbidden', `${server} is not a public address; nothing was sent to it`);
    }
    if (canonicalName(query.name) === undefined) return failed('malformed', 'such a name cannot exist in the DNS');
    const limit = limits.get(server) ?? new Semaphore(options.perServer ?? 16);
    limits.set(server, limit);
    try {
      return await limit.run(() => queryUnlessDead(server, query, signal), signal);
    } catch (error) {
      return failureOf(error, signal);
    } finally {
      if (limit.idle) limits.delete(server);
    }
  }

  return {query};
}

async function exchange(query: Query, timeoutMs: number, signal: AbortSignal): Promise<Reply> {
  const withEdns = await exchangeUdpThenTcp(query, true, timeoutMs, signal);
  if (!isRefusalOfEdns(withEdns)) return {ok: true, message: withEdns};
  return {ok: true, message: await exchangeUdpThenTcp(query, false, timeoutMs, signal)};
}

/**
 * Servers that do not know EDNS fail at such a query, some before they have read it (RFC 6891 section 7). Some send the
 * EDNS of the query back with the error.
 */
function isRefusalOfEdns({rcode, edns, question}: Message): boolean {
  if (question === undefined || [FORMERR, NOTIMP, BADVERS].includes(rcode)) return true;
  return rcode === SERVFAIL && !edns;
}

/** A truncated message allows no conclusion. */
type Answer = Message | 'truncated';

async function exchangeUdpThenTcp(query: Query, edns: boolean, ms: number, signal: AbortSignal): Promise<Message> {
  const answer = await withDeadline(ms * 1.5, signal, deadline => overUdp(query, edns, ms / 2, deadline));
  return answer === 'truncated' ? withDeadline(ms, signal, deadline => overTcp(query, edns, deadline)) : answer;
}

/** The second datagram does not replace the first: the answer to the first may be on its way, and is just as good. */
async function overUdp(query: Query, edns: boolean, repeatMs: number, signal: AbortSignal): Promise<Answer> {
  const id = randomInt(0x10000);
  let garbage: DecodeError | undefined;
  let datagrams = 0;
  // Skips a datagram that is not the answer: anybody can send one, and the answer may still come.
  const accept = (datagram: Uint8Array) => {
    try {
      const answer = answerIn(datagram, id, query);
      if (answer !== undefined) return answer;
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      garbage = error;
    }
    if (++datagrams < MAX_DATAGRAMS) return undefined;
    throw garbage ?? new DecodeError(`none of ${datagrams} datagrams was the answer`);
  };
  try {
    return await exchangeOverUdp(query.endpoint, encode(query, id, edns), accept, signal, repeatMs);
  } catch (error) {
    throw garbage !== undefined && signal.aborted ? garbage : error;
  }
}

/** Undefined for the answer to another question. It reads only the head of such a datagram. */
function answerIn(datagram: Uint8Array, id: number, query: Query): Answer | undefined {
  const head = decodeHead(datagram);
  if (!answers(head, id, query)) return undefined;
  // Longer than we requested: we ignore it and send the same query over TCP.
  if (datagram.length > UDP_PAYLOAD) return 'truncated';
  const message = decodeMessage(datagram);
  return message.truncated ? 'truncated' : message;
}

async function overTcp(query: Query, edns: boolean, signal: AbortSignal): Promise<Message> {
  const id = randomInt(0x10000);
  const bytes = await exchangeOverTcp(query.endpoint, encode(query, id, edns), signal);
  if (!answers(decodeHead(bytes), id, query)) throw new DecodeError('the answer to another question');
  const message = decodeMessage(bytes);
  if (message.truncated) throw new DecodeError('truncated over TCP');
  return message;
}

function encode(query: Query, id: number, edns: boolean): Uint8Array {
  const {name, type, recursionDesired, checkingDisabled = false} = query;
  return encodeQuery({id, name, type, recursionDesired, checkingDisabled, edns});
}

/** An error without a question answers the query with its id: only its server knows the port. */
function answers({id, question}: MessageHead, ours: number, query: Query): boolean {
  if (id !== ours) return false;
  return question === undefined || (question.name === query.name && question.type === typeCode(query.type));
}

function isTimeout(error: unknown): boolean {
  return error instanceof DeadlineError || error instanceof DecodeError;
}

function failureOf(error: unknown, signal: AbortSignal): Reply {
  if (signal.aborted || error instanceof DeadlineError) return failed('timeout', 'no answer');
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

function failed(failure: QueryFailure, detail: string): Reply {
  return {ok: false, failure, detail};
}
