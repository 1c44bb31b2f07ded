import {finished} from 'node:stream/promises';
import {Deadline} from '../../time/deadline.ts';
import type {WriteGate} from './calls.ts';
import {ApiError, type ApiStatus, FencedError, TooLargeError, TransportError} from './errors.ts';
import type {KubeMetrics} from './metrics.ts';
import type {HttpCall, HttpResponse, Transport} from './transport.ts';

export interface ApiRequest {
  readonly method: HttpCall['method'];
  /** Path and query. */
  readonly path: string;
  readonly accept?: string;
  readonly contentType?: string;
  readonly body?: string;
  /** Whether it is a write that must pass the gate. */
  readonly gated?: boolean;
  /** A longer response is not read to its end, and throws a `TooLargeError`. */
  readonly maxBytes?: number | undefined;
}

interface StreamOptions {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly idleTimeoutMs: number;
  /** Called once the server has accepted the request, before the first chunk. */
  readonly onOpen?: (() => void) | undefined;
}

interface ApiConnectionOptions {
  readonly transport: Transport;
  readonly host: string;
  readonly userAgent: string;
  readonly timeoutMs: number;
  readonly metrics: KubeMetrics;
}

/** Requests and responses: deadlines, the write gate, metrics, and a typed error for everything that can go wrong. */
export class ApiConnection {
  readonly #options: ApiConnectionOptions;
  gate: WriteGate = () => Number.POSITIVE_INFINITY;
  /** When the first call after the server's last response began. */
  #waitsSince: number | undefined;

  constructor(options: ApiConnectionOptions) {
    this.#options = options;
  }

  /** How many milliseconds calls have gone without any response; 0 if none has. */
  silentMs(): number {
    return this.#waitsSince === undefined ? 0 : performance.now() - this.#waitsSince;
  }

  /** One request and its whole response, parsed. */
  async exchange<R>(exchange: ApiRequest, options: {signal?: AbortSignal; timeoutMs?: number}): Promise<R> {
    const {metrics, host} = this.#options;
    const observe = metrics.requestSeconds.startTimer({verb: exchange.method, host});
    const timeoutMs = options.timeoutMs ?? this.#options.timeoutMs;
    // A write must end with the right to write, so it cannot take effect after another process has taken over.
    const allowedMs = exchange.gated ? this.gate() : Number.POSITIVE_INFINITY;
    if (allowedMs <= 0) throw new FencedError(describe(exchange));
    using deadline = new Deadline(Math.min(timeoutMs, allowedMs), options.signal);
    try {
      const response = await this.#send(exchange, deadline.signal, options.signal);
      return JSON.parse(await textOf(response.body, exchange.maxBytes)) as R;
    } catch (error) {
      throw failure(describe(exchange), error, options.signal);
    } finally {
      observe();
    }
  }

  /**
   * One request and its response as a stream. `onChunk` is called as soon as a chunk arrives. Resolves at the end.
   * Rejects if the connection is cut, if the stream is longer than `timeoutMs`, if nothing arrives for `idleTimeoutMs`,
   * with the signal's reason, or with what `onChunk` throws, which also closes the connection.
   */
  async stream(exchange: ApiRequest, options: StreamOptions, onChunk: (chunk: Buffer) => void): Promise<void> {
    const {signal, timeoutMs, idleTimeoutMs, onOpen} = options;
    using deadline = new Deadline(timeoutMs, signal);
    const {body} = await this.#send(exchange, deadline.signal, signal, idleTimeoutMs);
    onOpen?.();
    const {promise: thrown, reject} = Promise.withResolvers<never>();
    body.on('data', (chunk: Buffer) => {
      this.#waitsSince = undefined;
      try {
        onChunk(chunk);
      } catch (error) {
        reject(error);
        body.destroy();
      }
    });
    const ended = finished(body).catch((error: unknown) => {
      throw failure(describe(exchange), error, signal);
    });
    await Promise.race([ended, thrown]);
  }

  async close(): Promise<void> {
    await this.#options.transport.close();
  }

  /** Sends a request and waits for the head of the response. Throws an `ApiError` if the server rejects it. */
  async #send(exchange: ApiRequest, signal: AbortSignal, caller?: AbortSignal, idleTimeoutMs?: number) {
    const call = describe(exchange);
    const {metrics, host, transport, userAgent} = this.#options;
    const {accept = 'application/json', contentType, gated, method, path, body} = exchange;
    const headers = {accept, 'user-agent': userAgent, ...(contentType && {'content-type': contentType})};
    const mayStart = (): Error | undefined => (!gated || this.gate() > 0 ? undefined : new FencedError(call));
    this.#waitsSince ??= performance.now();
    try {
      const response = await transport.send({method, path, headers, body, signal, mayStart, idleTimeoutMs});
      this.#waitsSince = undefined;
      metrics.requests.inc({code: String(response.statusCode), method, host});
      if (response.statusCode < 300) return response;
      throw await refusal(call, response);
    } catch (error) {
      if (!(error instanceof ApiError)) metrics.requests.inc({code: '<error>', method, host});
      throw failure(call, error, caller);
    }
  }
}

/** For people and errors: method and path, without the query. */
export function describe(exchange: ApiRequest): string {
  return `${exchange.method} ${exchange.path.split('?', 1)[0]}`;
}

const TYPED = [ApiError, FencedError, TransportError, TooLargeError];

/** The error to throw: a typed one as it is, the caller's reason if the caller aborted, otherwise a `TransportError`. */
export function failure(call: string, error: unknown, caller?: AbortSignal): unknown {
  if (TYPED.some(type => error instanceof type)) return error;
  return caller?.aborted ? caller.reason : new TransportError(call, error);
}

async function textOf(body: HttpResponse['body'], maxBytes: number | undefined): Promise<string> {
  if (maxBytes === undefined) return body.text();
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new TooLargeError(maxBytes); // ends the loop, which closes the connection
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

async function refusal(call: string, response: HttpResponse): Promise<ApiError> {
  const text = await response.body.text();
  const seconds = Number(response.headers['retry-after']);
  const retryAfterMs = Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
  return new ApiError(call, response.statusCode, parseStatus(text), retryAfterMs);
}

/** Proxies respond with plain text, and so does the API server for a kind that it does not know. */
function parseStatus(text: string): ApiStatus {
  try {
    const body = JSON.parse(text) as ApiStatus | null;
    if (body?.kind === 'Status') return body;
  } catch {
    // Not JSON: the text itself is the message.
  }
  return {message: text.trim().slice(0, 500)};
}
