import {readFile, writeFile} from 'node:fs/promises';
import {createServer, type IncomingMessage, type ServerResponse} from 'node:http';
import {Agent, request} from 'node:https';
import type {AddressInfo, Socket} from 'node:net';
import {setTimeout as delay} from 'node:timers/promises';
import type {ApiServer} from '../../cluster/apiserver.ts';

/** A request that reached the proxy; `at` on the monotonic clock. */
export interface Seen {
  readonly at: number;
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly userAgent: string;
}

export const isWatch = (seen: Seen): boolean => seen.query.get('watch') === 'true';

/** Whether a watch begins with all existing objects. */
export const isInitial = (seen: Seen): boolean => seen.query.get('sendInitialEvents') === 'true';

/**
 * What happens to a request instead of being forwarded.
 * - `answer`: this status, headers, and body.
 * - `reset`: the connection is closed without an answer.
 * - `cut`: the real answer, cut off after this many bytes.
 * - `lost`: the server acts on the request, but the connection is closed without its answer; `onLost` is called first.
 * - `delay`: the real answer, each chunk delayed this long.
 * - `hold`: the real answer, whose head comes immediately, but whose chunks come once the promise has resolved.
 * - `late`: the server gets the request only once the promise has resolved; then `onAnswer` is called with its status.
 * - `silence`: no answer, ever.
 */
export type Fault =
  | {readonly kind: 'answer'; readonly status: number; readonly headers?: Record<string, string>; readonly body: string}
  | {readonly kind: 'reset'}
  | {readonly kind: 'cut'; readonly afterBytes: number}
  | {readonly kind: 'lost'; readonly onLost?: () => void}
  | {readonly kind: 'delay'; readonly ms: number}
  | {readonly kind: 'hold'; readonly until: Promise<void>}
  | {readonly kind: 'late'; readonly until: Promise<void>; readonly onAnswer: (status: number) => void}
  | {readonly kind: 'silence'};

/**
 * A misbehaving connection: an HTTP proxy in front of a real API server, for faults that the server itself cannot
 * produce.
 */
export interface FaultProxy {
  /** Path of a kubeconfig for connections through the proxy. */
  readonly kubeconfig: string;
  readonly seen: Seen[];
  /** Decides on each request. By default, everything passes. */
  intercept: (request: Seen) => Fault | undefined;
  /** Closes all connections to clients, as a restarting load balancer would. */
  disconnect(): void;
  /** No connection that is open now gets another byte, as behind a load balancer that forgot it. */
  freeze(): void;
  /** How many connections clients hold open now. */
  connections(): number;
  stop(): Promise<void>;
}

export interface FaultProxyOptions {
  /** The identity of its clients. Default: the administrator. */
  readonly kubeconfig?: string;
  /** Changes the URL that the API server gets. */
  readonly rewrite?: (method: string, url: URL) => void;
}

export async function startFaultProxy(
  api: Pick<ApiServer, 'url' | 'ca' | 'kubeconfig'>,
  options: FaultProxyOptions = {},
): Promise<FaultProxy> {
  const {kubeconfig: base = api.kubeconfig, rewrite} = options;
  const agent = new Agent({keepAlive: true, ca: api.ca});
  const frozen = new WeakSet<Socket>();
  const server = createServer((incoming, answer) => {
    const url = new URL(incoming.url ?? '/', api.url);
    const userAgent = incoming.headers['user-agent'] ?? '';
    const at = performance.now();
    const seen = {at, method: incoming.method ?? '', path: url.pathname, query: url.searchParams, userAgent};
    proxy.seen.push(seen);
    rewrite?.(seen.method, url);
    const fault = frozen.has(incoming.socket) ? ({kind: 'silence'} as const) : proxy.intercept(seen);
    handle(fault, incoming, answer, url, agent);
  });
  const sockets = new Set<Socket>();
  server.on('connection', socket => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const {port} = server.address() as AddressInfo;
  const kubeconfig = `${base}-through-${port}`;
  await writeKubeconfig(base, kubeconfig, `http://127.0.0.1:${port}`);
  const proxy: FaultProxy = {
    kubeconfig,
    seen: [],
    intercept: () => undefined,
    disconnect: () => server.closeAllConnections(),
    freeze: () => {
      for (const socket of sockets) {
        frozen.add(socket);
        socket.write = () => true;
      }
    },
    connections: () => sockets.size,
    stop: async () => {
      server.closeAllConnections();
      agent.destroy();
      await new Promise<void>(resolve => server.close(() => resolve()));
    },
  };
  return proxy;
}

function handle(
  fault: Fault | undefined,
  incoming: IncomingMessage,
  answer: ServerResponse,
  url: URL,
  agent: Agent,
): void {
  if (fault?.kind === 'reset') incoming.socket.destroy();
  else if (fault?.kind === 'answer') answer.writeHead(fault.status, fault.headers).end(fault.body);
  else if (fault?.kind === 'late') void fault.until.then(() => passOn(fault, incoming, answer, url, agent));
  else if (fault?.kind !== 'silence') passOn(fault, incoming, answer, url, agent);
}

function passOn(
  fault: Fault | undefined,
  incoming: IncomingMessage,
  answer: ServerResponse,
  url: URL,
  agent: Agent,
): void {
  const upstream = request(url, {method: incoming.method ?? 'GET', headers: incoming.headers, agent}, response => {
    if (fault?.kind === 'lost') {
      fault.onLost?.();
      incoming.socket.destroy();
      return;
    }
    if (fault?.kind === 'late') fault.onAnswer(response.statusCode ?? 502);
    answer.writeHead(response.statusCode ?? 502, response.headers);
    answer.flushHeaders();
    relay(fault, response, answer).catch(() => answer.destroy());
  });
  upstream.on('error', () => answer.destroy());
  answer.on('close', () => upstream.destroy());
  incoming.pipe(upstream);
}

async function relay(fault: Fault | undefined, response: IncomingMessage, answer: ServerResponse): Promise<void> {
  let left = fault?.kind === 'cut' ? fault.afterBytes : Number.POSITIVE_INFINITY;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    if (fault?.kind === 'hold') await fault.until;
    if (fault?.kind === 'delay') await delay(fault.ms);
    if (answer.destroyed) return;
    answer.write(chunk.subarray(0, left));
    left -= chunk.length;
    if (left <= 0) {
      // Lets written data reach the client before the connection is closed.
      setImmediate(() => answer.socket?.destroySoon());
      return;
    }
  }
  answer.end();
}

async function writeKubeconfig(from: string, to: string, server: string): Promise<void> {
  const config = JSON.parse(await readFile(from, 'utf8')) as {clusters: {cluster: Record<string, unknown>}[]};
  for (const entry of config.clusters) entry.cluster = {server, 'insecure-skip-tls-verify': true};
  await writeFile(to, JSON.stringify(config));
}
