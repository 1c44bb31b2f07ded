/**
 * The platform's CA as seen from outside: a proxy in front of Pebble that records each order, its account and names,
 * and its outcome.
 */
import {createHash} from 'node:crypto';
import {readFile} from 'node:fs/promises';
import type {IncomingMessage, ServerResponse} from 'node:http';
import {request as requestHttps} from 'node:https';
import {ADDRESSES} from '../../cluster/state.ts';
import {bodyOf, listen, newIdentity, readJws} from './listen.ts';

export interface CaOrder {
  /** The URL of the account. */
  readonly account: string;
  readonly hosts: readonly string[];
  readonly at: number;
}

export interface WatchedCa {
  readonly directory: string;
  /** Verifies the directory's server; PEM. */
  readonly trust: string;
  readonly orders: readonly CaOrder[];
  stop(): Promise<void>;
}

/** `csr`: SHA-256 of the signing request that the CA accepted and certifies. */
export type OnIssue = (order: CaOrder, csr: string) => void;

interface Upstream {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** `roots`: a PEM file that verifies Pebble. */
export async function watchCa(roots: string, onIssue: OnIssue): Promise<WatchedCa> {
  const ca = await readFile(roots, 'utf8');
  const orders: CaOrder[] = [];
  const byFinalize = new Map<string, CaOrder>();

  const note = (path: string, sent: string, {status, body}: Upstream) => {
    const {header, payload} = readJws(sent);
    const answer = parse(body);
    if (status === 201 && answer.finalize && answer.identifiers) {
      const hosts = answer.identifiers.map(({value}) => value);
      const order = {account: header.kid ?? '', hosts, at: Date.now()};
      orders.push(order);
      byFinalize.set(new URL(answer.finalize).pathname, order);
    }
    const order = byFinalize.get(path);
    if (status !== 200 || !order || typeof payload?.csr !== 'string') return;
    onIssue(order, createHash('sha256').update(Buffer.from(payload.csr, 'base64url')).digest('hex'));
  };

  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const sent = await bodyOf(request);
    const answer = await forward(request, sent, ca);
    note(request.url ?? '', sent, answer);
    const {'content-length': _, 'transfer-encoding': _t, connection: _c, ...headers} = answer.headers;
    response.writeHead(answer.status, headers).end(request.method === 'HEAD' ? undefined : answer.body);
  };
  const identity = await newIdentity();
  const server = await listen((request, response) => {
    handle(request, response).catch(() => response.destroy());
  }, identity);
  return {directory: `${server.base}/dir`, trust: identity.cert, orders, stop: server.stop};
}

/** Pebble derives its URLs from the Host header. */
async function forward({method, url, headers}: IncomingMessage, body: string, ca: string): Promise<Upstream> {
  const {promise, resolve, reject} = Promise.withResolvers<IncomingMessage>();
  const {connection: _, ...passed} = headers;
  const outgoing = requestHttps(
    {
      host: ADDRESSES.pebble,
      port: 14_000,
      path: url,
      method,
      ca,
      agent: false,
      headers: passed,
    },
    resolve,
  );
  outgoing.on('error', reject).end(body);
  const answer = await promise;
  return {status: answer.statusCode ?? 502, headers: answer.headers, body: await bodyOf(answer)};
}

interface Answer {
  readonly finalize?: string;
  readonly identifiers?: readonly {value: string}[];
}

function parse(body: string): Answer {
  try {
    return JSON.parse(body) as Answer;
  } catch {
    return {}; // a certificate or nothing
  }
}
