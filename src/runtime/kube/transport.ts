/** The lowest layer of the Kubernetes client: HTTP calls over connections that survive rotating certificates. */
import {isDeepStrictEqual} from 'node:util';
import {type Dispatcher, errors, Pool, ProxyAgent} from 'undici';
import {abortable, DeadlineError} from '../../time/deadline.ts';
import type {ClusterAccess, Credentials, TlsMaterial} from './kubeconfig.ts';

export interface HttpCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The path and query below the server's base URL. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly signal: AbortSignal;
  /** Called right before the request is written to its connection. If it returns an error, the request is not sent. */
  readonly mayStart?: () => Error | undefined;
  /** For streams: the longest time without data, in milliseconds. */
  readonly idleTimeoutMs?: number | undefined;
}

export type HttpResponse = Dispatcher.ResponseData;
export type RequestGate = Dispatcher.DispatcherComposeInterceptor;

interface Connections {
  readonly tls: TlsMaterial;
  readonly dispatcher: Dispatcher;
  /** When a response last began on one of its connections. */
  answeredAt: number;
}

type Purpose = 'requests' | 'streams';

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
 * request. HTTP/1.1, so a connection that dies ends one exchange, not all. When certificates rotate, or when a deadline
 * passes without a response on any connection, new connections are opened, and each old one ends with the exchange on
 * it.
 */
export class Transport {
  readonly #access: ClusterAccess;
  readonly #basePath: string;
  readonly #origin: string;
  readonly #pools = new Map<Purpose, Connections>();
  /** Replaced dispatchers on which exchanges are still running. */
  readonly #retired = new Set<Dispatcher>();

  constructor(access: ClusterAccess) {
    const url = new URL(access.server);
    this.#access = access;
    this.#origin = url.origin;
    this.#basePath = url.pathname.replace(/\/$/, '');
  }

  /** Rejects with the signal's reason as soon as the signal aborts, even while the call waits for a connection. */
  async send(call: HttpCall): Promise<HttpResponse> {
    call.signal.throwIfAborted();
    const startedAt = performance.now();
    const credentials = await abortable(this.#access.credentials(), call.signal);
    const purpose = call.idleTimeoutMs === undefined ? 'requests' : 'streams';
    const pool = this.#poolFor(purpose, credentials.tls);
    try {
      const response = await abortable(this.#request(pool.dispatcher, call, credentials.headers), call.signal);
      pool.answeredAt = performance.now();
      if (response.statusCode === 401) this.#access.refuse(credentials);
      return response;
    } catch (error) {
      if (isTimeout(error) && pool.answeredAt < startedAt) this.#replace(purpose, pool);
      throw error;
    }
  }

  async close(): Promise<void> {
    const dispatchers = [...this.#retired, ...[...this.#pools.values()].map(({dispatcher}) => dispatcher)];
    this.#pools.clear();
    await Promise.all(dispatchers.map(dispatcher => dispatcher.destroy()));
  }

  #request(dispatcher: Dispatcher, call: HttpCall, headers: Credentials['headers']): Promise<HttpResponse> {
    const {mayStart, idleTimeoutMs} = call;
    return (mayStart ? dispatcher.compose(startGate(mayStart)) : dispatcher).request({
      origin: this.#origin,
      path: this.#basePath + call.path,
      method: call.method,
      headers: {...call.headers, ...headers},
      body: call.body ?? null,
      signal: call.signal,
      headersTimeout: idleTimeoutMs === undefined ? 0 : Math.min(idleTimeoutMs, STREAM_HEAD_TIMEOUT_MS),
      bodyTimeout: idleTimeoutMs ?? 0,
    });
  }

  #poolFor(purpose: Purpose, tls: TlsMaterial): Connections {
    const current = this.#pools.get(purpose);
    if (current && isDeepStrictEqual(current.tls, tls)) return current;
    if (current) this.#replace(purpose, current);
    const dispatcher = this.#agent(tls, purpose === 'requests' ? REQUEST_CONNECTIONS : null);
    const pool = {tls, dispatcher, answeredAt: Number.NEGATIVE_INFINITY};
    this.#pools.set(purpose, pool);
    return pool;
  }

  /** The next call opens new connections. Idle ones are closed now, and the others after the exchange on them. */
  #replace(purpose: Purpose, {dispatcher}: Connections): void {
    if (this.#pools.get(purpose)?.dispatcher === dispatcher) this.#pools.delete(purpose);
    if (this.#retired.has(dispatcher)) return;
    this.#retired.add(dispatcher);
    const forget = () => void this.#retired.delete(dispatcher);
    dispatcher.close().then(forget, forget); // the callers of the running exchanges get any error
  }

  #agent(tls: TlsMaterial, connections: number | null): Dispatcher {
    const connect = {...tls, timeout: CONNECT_TIMEOUT_MS, keepAlive: true, keepAliveInitialDelay: TCP_KEEP_ALIVE_MS};
    const common = {allowH2: false, pipelining: 1, connections, keepAliveTimeout: KEEP_ALIVE_MS};
    const {proxyUrl} = this.#access;
    // Not an Agent: after its close(), its destroy() destroys nothing.
    return proxyUrl
      ? new ProxyAgent({...common, uri: proxyUrl, requestTls: connect})
      : new Pool(this.#origin, {...common, connect});
  }
}

/** A deadline, or undici's own limit for the head of a stream. */
function isTimeout(error: unknown): boolean {
  return error instanceof DeadlineError || error instanceof errors.HeadersTimeoutError;
}

/** undici calls `onRequestStart` synchronously before it writes the request, after any wait for a free connection. */
export function startGate(mayStart: () => Error | undefined): RequestGate {
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
