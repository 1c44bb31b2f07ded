/** The API's server, on node:http without a framework; docs/decisions/http-layer.md says why. */
import {randomUUID} from 'node:crypto';
import {once} from 'node:events';
import {createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES} from 'node:http';
import type {AddressInfo, Socket} from 'node:net';
import {Connections} from '../../operations/connections.ts';
import type {Strangers} from '../../operations/strangers.ts';
import type {MessagesConfig} from '../generated/config.ts';
import {type ProblemCode, problem} from './answer.ts';
import type {App} from './app.ts';
import {Connection} from './connection.ts';
import {MAX_HEADERS} from './target.ts';

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
export async function startApiServer(
  config: ServerConfig,
  app: App,
  strangers: Strangers,
  host?: string,
): Promise<ApiServer> {
  const server = createHttpServer(config);
  const {maxConnections, maxConnectionsPerAddress} = config;
  const perAddress = maxConnectionsPerAddress || maxConnections;
  const connections = new Connections({total: maxConnections, perAddress, dropsBusy: false});
  connections.watch(server);
  const lanes = new Map<Socket, Connection>();
  const isOver = ({remoteAddress = ''}: Socket) => strangers.take(remoteAddress, performance.now()) > 0;
  server.on('connection', (socket: Socket) => {
    const {remoteAddress = ''} = socket;
    const payStranger = (bytes: number) => strangers.takeBytes(remoteAddress, bytes, performance.now()) === 0;
    lanes.set(socket, new Connection(socket, connections, payStranger));
    // Node removes its own listener in some cases, and an error without any ends the process.
    socket.on('error', nothing);
    socket.once('close', () => lanes.delete(socket));
  });
  let closing = false;
  const serve = (request: IncomingMessage, response: ServerResponse) => {
    const connection = lanes.get(request.socket);
    if (connection === undefined) return; // It has closed.
    if (closing) response.shouldKeepAlive = false;
    connection.begin(response);
    const left = app(request, response, connection);
    response.on('close', () => {
      connection.end();
      left();
    });
  };
  // The app sends 100 Continue. Node's own 417 for an unknown expectation would bypass all limits.
  for (const event of ['request', 'checkContinue', 'checkExpectation']) server.on(event, serve);
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && socket.bytesRead === 0) {
      // A proxy may have opened it in advance, for a request that it sends at this moment.
      socket.setTimeout(config.keepAliveSeconds * 1000);
    } else {
      connections.spend(socket);
      refuse(error, socket, lanes.get(socket), isOver);
    }
  });
  // Without a listener, Node closes the connection.
  server.on('connect', ({socket}, stream) => {
    stream.on('error', nothing); // It is not the socket itself if a body was announced.
    if (isOver(socket)) socket.destroy();
    else refuseWith(socket, NO_PROXY, 'allow: GET, HEAD, POST\r\n');
  });
  const unread = setInterval(() => {
    const now = performance.now();
    for (const connection of lanes.values()) connection.cutUnread(now, config.answerTimeoutSeconds * 1000);
  }, CHECK_INTERVAL_MS);
  server.once('close', () => clearInterval(unread));
  server.listen(config.port, host);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: graceMs => {
      closing = true;
      for (const {response} of lanes.values()) if (response) response.shouldKeepAlive = false;
      return close(server, graceMs);
    },
  };
}

function createHttpServer(config: ServerConfig): Server {
  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: config.headersTimeoutSeconds * 1000,
    requestTimeout: config.requestTimeoutSeconds * 1000,
    keepAliveTimeout: config.keepAliveSeconds * 1000,
    connectionsCheckingInterval: CHECK_INTERVAL_MS,
    // A header that is given twice although it must be unique is then malformed.
    joinDuplicateHeaders: true,
    // Node's own response has no body; see target.ts.
    requireHostHeader: false,
    noDelay: true,
  });
  server.maxHeadersCount = MAX_HEADERS + 1;
  return server;
}

type ClientError = readonly [status: number, code: ProblemCode, detail: string];

const CLIENT_ERRORS: Readonly<Record<string, ClientError>> = {
  HPE_HEADER_OVERFLOW: [431, 'headers_too_large', `The headers are too large. Send at most ${MAX_HEADER_BYTES} bytes.`],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'body_too_large', 'The chunk extensions are too long. Omit them.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'request_timeout', 'The request took too long to arrive.'],
};
const NO_PROXY: ClientError = [405, 'method_not_allowed', 'This is not a proxy. See /openapi.json.'];
const MALFORMED: ClientError = [400, 'malformed_request', 'This is not a valid HTTP/1.1 request.'];

/** Invalid or incomplete requests have no response object. Those without a key that was checked count as strangers'. */
function refuse(
  {code = ''}: NodeJS.ErrnoException,
  socket: Socket,
  connection: Connection | undefined,
  isOver: (socket: Socket) => boolean,
): void {
  if (connection?.isCut) return; // The last request is being answered.
  const response = connection?.response;
  if (response?.req.complete) {
    connection?.cut(); // The fault is in what follows.
    return;
  }
  if (code === 'ECONNRESET' || !socket.writable || response?.headersSent || (!response && isOver(socket))) {
    socket.destroy();
    return;
  }
  connection?.cut();
  refuseWith(socket, CLIENT_ERRORS[code] ?? MALFORMED);
}

/** Writes directly to the socket. */
function refuseWith(socket: Socket, [status, code, detail]: ClientError, headers = ''): void {
  const requestId = randomUUID();
  const {body, contentType} = problem(status, code, detail);
  const text = JSON.stringify({...body, requestId});
  socket.write(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: ${contentType}\r\n` +
      `content-length: ${Buffer.byteLength(text)}\r\ncache-control: no-store\r\nx-request-id: ${requestId}\r\n` +
      `date: ${new Date().toUTCString()}\r\n${headers}connection: close\r\n\r\n${text}`,
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
