/** HTTPS to one CA. Whatever the CA sends, an exchange takes bounded memory and time, and reaches no other origin. */
import {type Dispatcher, Pool} from 'undici';
import {abortable, withDeadline} from '../time/deadline.ts';
import {CaUnreachable, printableAscii} from './errors.ts';

interface ConnectionSettings {
  /** PEM; instead of the system's roots. */
  readonly caBundle?: string | undefined;
  readonly timeoutMs: number;
  readonly userAgent: string;
  /** Signed requests pass it. It may refuse to send them. */
  readonly gate?: Dispatcher.DispatcherComposeInterceptor | undefined;
}

export interface CaRequest {
  readonly method: 'GET' | 'HEAD' | 'POST';
  readonly url: URL;
  /** JSON, already signed. */
  readonly body?: string | undefined;
  readonly accept?: string | undefined;
}

export interface CaAnswer {
  readonly url: URL;
  readonly status: number;
  readonly text: string;
  /** The value of a header. `undefined` if it is missing or was sent twice. */
  header(name: string): string | undefined;
  /** All values of a header. */
  headers(name: string): readonly string[];
}

const CONNECTIONS = 16;
/** A chain of four RSA certificates has 8 KiB; an order for 100 names, 20 KiB. */
const MAX_BODY_BYTES = 256 * 1024;
/** For all headers together. */
const MAX_HEADER_BYTES = 16 * 1024;
const MAX_URL_LENGTH = 2048;

export class CaConnection {
  readonly #settings: ConnectionSettings;
  readonly #origin: string;
  readonly #host: string;
  /** Of one origin, so a request cannot leave it. */
  readonly #pool: Pool;
  readonly #gated: Dispatcher;

  constructor(directory: URL, settings: ConnectionSettings) {
    this.#settings = settings;
    this.#origin = directory.origin;
    this.#host = directory.host;
    const connect = {timeout: settings.timeoutMs, ...(settings.caBundle !== undefined && {ca: settings.caBundle})};
    this.#pool = new Pool(this.#origin, {
      connect,
      connections: CONNECTIONS,
      allowH2: false,
      pipelining: 1,
      maxHeaderSize: MAX_HEADER_BYTES,
      maxResponseSize: MAX_BODY_BYTES,
      headersTimeout: 0, // Each request has its own deadline.
      bodyTimeout: 0,
    });
    this.#gated = settings.gate ? this.#pool.compose(settings.gate) : this.#pool;
  }

  /** A URL that the CA sent, or that somebody stored. `base`: what a relative one is relative to. */
  parse(url: unknown, what: string, base?: URL): URL {
    const parsed = typeof url === 'string' ? URL.parse(url, base) : null;
    if (!parsed || parsed.href.length > MAX_URL_LENGTH) throw this.unusable(`${what} is not a URL`);
    const isPlain = parsed.username === '' && parsed.password === '' && parsed.hash === '';
    if (!isPlain || !this.has(parsed.href)) throw this.unusable(`${what} leaves ${this.#origin}: ${parsed.href}`);
    return parsed;
  }

  has(url: string): boolean {
    return URL.parse(url)?.origin === this.#origin;
  }

  /** An error about an answer. */
  unusable(why: string, retryAfterMs?: number, cause?: unknown): CaUnreachable {
    return new CaUnreachable(printableAscii(`${this.#host}: ${why}`), retryAfterMs, cause);
  }

  /** Follows no redirects. Rejects with the signal's reason, or with `CaUnreachable`. */
  async send(request: CaRequest, signal: AbortSignal): Promise<CaAnswer> {
    signal.throwIfAborted();
    try {
      const exchange = (deadline: AbortSignal) => abortable(this.#exchange(request, deadline), deadline);
      return await withDeadline(this.#settings.timeoutMs, signal, exchange);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw this.unusable(reasonOf(error), undefined, error);
    }
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }

  async #exchange({method, url, body, accept}: CaRequest, signal: AbortSignal): Promise<CaAnswer> {
    const response = await (method === 'POST' ? this.#gated : this.#pool).request({
      origin: this.#origin,
      method,
      path: `${url.pathname}${url.search}`,
      headers: {
        'user-agent': this.#settings.userAgent,
        'accept-language': 'en',
        ...(accept !== undefined && {accept}),
        ...(body !== undefined && {'content-type': 'application/jose+json'}),
      },
      body: body ?? null,
      signal,
    });
    const text = await response.body.text();
    const headers = (name: string) => valuesOf(response, name);
    const header = (name: string) => {
      const values = headers(name);
      return values.length === 1 ? values[0] : undefined;
    };
    return {url, status: response.statusCode, text, header, headers};
  }
}

function valuesOf({headers}: Dispatcher.ResponseData, name: string): readonly string[] {
  const value = headers[name];
  return value === undefined ? [] : [value].flat();
}

/** An error of a connection to several addresses has no message of its own. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const first = error instanceof AggregateError ? error.errors[0] : undefined;
  return error.message || (first instanceof Error ? first.message : error.name);
}
