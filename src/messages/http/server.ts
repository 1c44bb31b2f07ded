/** The API's server, on node:http without a framework; docs/decisions/http-layer.md says why. */
import {once} from 'node:events';
import {createServer, type IncomingMessage, type Server, type ServerResponse} from 'node:http';
import type {AddressInfo, Socket} from 'node:net';
import {Connections} from '../../process/connections.ts';
import type {MessagesConfig} from '../generated/config.ts';
import {type ProblemCode, problem} from './answer.ts';
import type {App} from './app.ts';
import {meterChunks} from './chunks.ts';
import {Pipelines, stopParserWhenCut} from './pipeline.ts';

type ServerConfig = MessagesConfig['server'];

export interface ApiServer {
  readonly port: number;
  /** Accepts no more connections, finishes requests in progress, and aborts what takes longer than `graceMs`. */
  close(graceMs: number): Promise<void>;
}

const nothing = () => undefined;

const MAX_HEADER_BYTES = 16_384;
/** How often connections are checked for timeouts. */
const CHECK_INTERVAL_MS = 1000;

/** Resolves once it listens; rejects if it cannot. */
export async function startApiServer(config: ServerConfig, app: App, host?: string): Promise<ApiServer> {
  const server = createHttpServer(config);
  const {maxConnections, maxConnectionsPerAddress} = config;
  const perAddress = maxConnectionsPerAddress || maxConnections;
  const connections = new Connections({total: maxConnections, perAddress, dropsBusy: false});
  connections.watch(server);
  server.on('connection', stopParserWhenCut);
  const pipelines = new Pipelines();
  let closing = false;
  const serve = (request: IncomingMessage, response: ServerResponse, sendContinue: () => void) => {
    if (closing) response.shouldKeepAlive = false;
    meterChunks(request);
    const {socket} = request;
    pipelines.of(socket).add(response, () => {
      connections.begin(socket);
      const left = app(request, response, sendContinue);
      return () => {
        connections.end(socket);
        left();
      };
    });
  };
  server.on('request', (request, response) => serve(request, response, nothing));
  server.on('checkContinue', (request, response) => serve(request, response, () => response.writeContinue()));
  // An unknown expectation may be ignored (RFC 9110, section 10.1.1); Node's own 417 would bypass all limits.
  server.on('checkExpectation', (request, response) => serve(request, response, nothing));
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => refuse(error, socket, pipelines));
  const unread = setInterval(() => {
    pipelines.cutUnread(performance.now(), config.answerTimeoutSeconds * 1000);
  }, CHECK_INTERVAL_MS);
  server.once('close', () => clearInterval(unread));
  server.listen(config.port, host);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: graceMs => {
      closing = true;
      pipelines.closeAfterAnswer();
      return close(server, graceMs);
    },
  };
}

function createHttpServer(config: ServerConfig): Server {
  return createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: config.headersTimeoutSeconds * 1000,
    requestTimeout: config.requestTimeoutSeconds * 1000,
    keepAliveTimeout: config.keepAliveSeconds * 1000,
    connectionsCheckingInterval: CHECK_INTERVAL_MS,
    // A header that is given twice although it must be unique is then malformed.
    joinDuplicateHeaders: true,
    noDelay: true,
  });
}

const CLIENT_ERRORS: Readonly<Record<string, readonly [number, ProblemCode, string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'headers_too_large', `The headers are too large. Send at most ${MAX_HEADER_BYTES} bytes.`],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'request_timeout', 'The request took too long to arrive.'],
};
const MALFORMED = [400, 'malformed_request', 'This is not a valid HTTP/1.1 request.'] as const;

/** Invalid or incomplete requests have no response object, so the response is written directly to the socket. */
function refuse({code = ''}: NodeJS.ErrnoException, socket: Socket, pipelines: Pipelines): void {
  const [response, ...others] = pipelines.of(socket).open;
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
  server.close(); // Closes idle connections immediately.
  await closed;
  clearTimeout(cut);
}
