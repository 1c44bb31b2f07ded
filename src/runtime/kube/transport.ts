import {isDeepStrictEqual} from 'node:util';
import {Agent, type Dispatcher, ProxyAgent} from 'undici';
import type {ClusterAccess, TlsMaterial} from './kubeconfig.ts';

export interface HttpCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The path and query below the server's base URL. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
  /** Called right before the request is written to its connection. If it returns an error, the request is not sent. */
  readonly mayStart?: () => Error | undefined;
  /** For streams: the longest time without data, in milliseconds. */
  readonly idleTimeoutMs?: number;
}

export type HttpResponse = Dispatcher.ResponseData;

interface Connections {
  readonly tls: TlsMaterial;
  readonly requests: Dispatcher;
  readonly streams: Dispatcher;
}

/** Ordinary requests share this many connections. Further requests wait. */
const REQUEST_CONNECTIONS = 8;
const CONNECT_TIMEOUT_MS = 10_000;
/** The API server sends the head of a watch immediately. A request has its own deadline. */
const STREAM_HEAD_TIMEOUT_MS = 30_000;
/** Less than the 90 s after which the API server closes an idle connection, so we never write to a closed one. */
const KEEP_ALIVE_MS = 60_000;
/** Probes a silent peer as client-go does. The kernel gives up about ten seconds later. */
const TCP_KEEP_ALIVE_MS = 30_000;

/**
 * HTTP to one API server over pinned connections: 8 for requests and one for each watch, so a watch never blocks a
 * request. HTTP/1.1, so a connection that dies ends one exchange, not all. When certificates rotate, new connections
 * are opened, and each old one ends with the exchange on it.
 */
export class Transport {
  readonly #access: ClusterAccess;
  readonly #basePath: string;
  readonly #origin: string;
  #connections: Connections | undefined;

  constructor(access: ClusterAccess) {
    const url = new URL(access.server);
    this.#access = access;
    this.#origin = url.origin;
    this.#basePath = url.pathname.replace(/\/$/, '');
  }

  async send(call: HttpCall): Promise<HttpResponse> {
    call.signal.throwIfAborted();
    const credentials = await abortable(this.#access.credentials(), call.signal);
    const connections = this.#connectionsFor(credentials.tls);
    const dispatcher = call.idleTimeoutMs === undefined ? connections.requests : connections.streams;
    const {mayStart} = call;
    return await (mayStart ? dispatcher.compose(gate(mayStart)) : dispatcher).request({
      origin: this.#origin,
      path: this.#basePath + call.path,
      method: call.method,
      headers: {...call.headers, ...credentials.headers},
      body: call.body ?? null,
      signal: call.signal,
      headersTimeout: call.idleTimeoutMs === undefined ? 0 : Math.min(call.idleTimeoutMs, STREAM_HEAD_TIMEOUT_MS),
      bodyTimeout: call.idleTimeoutMs ?? 0,
    });
  }

  async close(): Promise<void> {
    const connections = this.#connections;
    this.#connections = undefined;
    await Promise.all([connections?.requests.destroy(), connections?.streams.destroy()]);
  }

  #connectionsFor(tls: TlsMaterial): Connections {
    const current = this.#connections;
    if (current && isDeepStrictEqual(current.tls, tls)) return current;
    const next = {tls, requests: this.#agent(tls, REQUEST_CONNECTIONS), streams: this.#agent(tls, null)};
    this.#connections = next;
    // close() lets running exchanges finish. Their callers get any error that it could reject with.
    for (const old of current ? [current.requests, current.streams] : []) old.close().catch(() => undefined);
    return next;
  }

  #agent(tls: TlsMaterial, connections: number | null): Dispatcher {
    const connect = {...tls, timeout: CONNECT_TIMEOUT_MS, keepAlive: true, keepAliveInitialDelay: TCP_KEEP_ALIVE_MS};
    const common = {allowH2: false, pipelining: 1, connections, keepAliveTimeout: KEEP_ALIVE_MS};
    const {proxyUrl} = this.#access;
    return proxyUrl ? new ProxyAgent({...common, uri: proxyUrl, requestTls: connect}) : new Agent({...common, connect});
  }
}

/** Stops waiting for the work, which may continue (an exec plugin that hangs). */
async function abortable<R>(work: Promise<R>, signal: AbortSignal): Promise<R> {
  const {promise: aborted, reject} = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  signal.addEventListener('abort', abort, {once: true});
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** undici calls `onRequestStart` synchronously before it writes the request, after any wait for a free connection. */
function gate(mayStart: () => Error | undefined): Dispatcher.DispatcherComposeInterceptor {
  return dispatch => (options, handler) =>
    dispatch(options, {
      onRequestStart: (controller, context) => {
        handler.onRequestStart?.(controller, context);
        const refusal = mayStart();
        if (refusal) controller.abort(refusal);
      },
      onResponseStart: (...args) => handler.onResponseStart?.(...args),
      onResponseData: (...args) => handler.onResponseData?.(...args),
      onResponseEnd: (...args) => handler.onResponseEnd?.(...args),
      onResponseError: (...args) => handler.onResponseError?.(...args),
    });
}
