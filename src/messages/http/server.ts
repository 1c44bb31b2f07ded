/**
 * The API's server, on node:http alone. There are seven operations and no middleware, so a framework would bring a
 * router and a life cycle that are not needed; and what must be exact here (the order of the checks, when a body is read,
 * what becomes of a connection whose request is refused) is decided at the level of node:http in any framework. Measured:
 * `make bench-messages`, in the README.
 */
import {once} from 'node:events';
import {createServer, type IncomingMessage, type Server, type ServerResponse} from 'node:http';
import type {AddressInfo, Socket} from 'node:net';
import type {ServerConfig} from '../config.ts';
import {type ProblemCode, problem} from './answer.ts';
import type {App} from './app.ts';

export interface ApiServer {
  readonly port: number;
  /** Takes no more connections, answers what has begun, and cuts off what takes longer than `graceMs`. */
  close(graceMs: number): Promise<void>;
}

const MAX_HEADER_BYTES = 16_384;
/** How often connections are looked at for their timeouts. */
const CHECK_INTERVAL_MS = 1000;
/** Requests of one connection that may wait for their answers (pipelining); while there are more it is not read. */
const PIPELINE = 16;

/** Resolves once it listens; rejects when the port cannot be had. */
export async function startApiServer(config: ServerConfig, app: App, host?: string): Promise<ApiServer> {
  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: config.headersTimeoutSeconds * 1000,
    requestTimeout: config.requestTimeoutSeconds * 1000,
    keepAliveTimeout: config.keepAliveSeconds * 1000,
    connectionsCheckingInterval: CHECK_INTERVAL_MS,
    // A header that must stand once and stands twice is then one that has no valid form.
    joinDuplicateHeaders: true,
    noDelay: true,
  });
  const pending = new Pending();
  let closing = false;
  const serve = (request: IncomingMessage, response: ServerResponse, goOn: () => void) => {
    pending.add(request.socket, response);
    if (closing) response.shouldKeepAlive = false;
    void app(request, response, goOn);
  };
  server.on('request', (request, response) => serve(request, response, () => undefined));
  server.on('checkContinue', (request, response) => serve(request, response, () => response.writeContinue()));
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => refuse(error, socket, pending));
  server.maxConnections = config.maxConnections;
  server.listen(config.port, host);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: graceMs => {
      closing = true;
      pending.closeAfterAnswer();
      return close(server, graceMs);
    },
  };
}

/** The responses that each connection still waits for. */
class Pending {
  readonly #responses = new Map<Socket, Set<ServerResponse>>();

  add(socket: Socket, response: ServerResponse): void {
    const responses = this.of(socket);
    responses.add(response);
    if (responses.size === PIPELINE) socket.pause();
    response.once('close', () => {
      responses.delete(response);
      if (responses.size === PIPELINE - 1) socket.resume();
    });
  }

  of(socket: Socket): Set<ServerResponse> {
    let responses = this.#responses.get(socket);
    if (responses === undefined) {
      responses = new Set();
      this.#responses.set(socket, responses);
      // By the socket: those of its responses whose turn never came are not told that it has closed.
      socket.once('close', () => this.#responses.delete(socket));
    }
    return responses;
  }

  closeAfterAnswer(): void {
    for (const responses of this.#responses.values()) {
      for (const response of responses) response.shouldKeepAlive = false;
    }
  }
}

const CLIENT_ERRORS: Readonly<Record<string, readonly [number, ProblemCode, string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'headers_too_large', `The headers may have at most ${MAX_HEADER_BYTES} bytes.`],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'request_timeout', 'The request took too long to arrive.'],
};
const MALFORMED = [400, 'malformed_request', 'This is not a valid HTTP/1.1 request.'] as const;

/** What is no request, or does not become one in time, has no response object: the answer is written by hand. */
function refuse({code = ''}: NodeJS.ErrnoException, socket: Socket, pending: Pending): void {
  const [response, ...others] = pending.of(socket);
  const answerable = others.length === 0 && !response?.headersSent;
  if (code === 'ECONNRESET' || !socket.writable || !answerable) {
    socket.destroy();
    return;
  }
  const [status, problemCode, detail] = CLIENT_ERRORS[code] ?? MALFORMED;
  const {body, contentType} = problem(status, problemCode, detail);
  const text = JSON.stringify(body);
  socket.end(
    `HTTP/1.1 ${status} ${'title' in body ? body.title : ''}\r\ncontent-type: ${contentType}\r\n` +
      `content-length: ${Buffer.byteLength(text)}\r\nconnection: close\r\n\r\n${text}`,
  );
  socket.destroySoon();
}

async function close(server: Server, graceMs: number): Promise<void> {
  const closed = once(server, 'close');
  const cut = setTimeout(() => server.closeAllConnections(), graceMs);
  server.close(); // Idle connections end at once.
  await closed;
  clearTimeout(cut);
}
