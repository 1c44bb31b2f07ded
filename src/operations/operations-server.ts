/** The operations endpoint: /healthz, /readyz, and /metrics. */
import {once} from 'node:events';
import {createServer, type IncomingMessage, type Server, type ServerResponse} from 'node:http';
import type {AddressInfo} from 'node:net';
import type {Logger} from 'pino';
import {sharedCall} from '../time/shared-call.ts';
import {Connections} from './connections.ts';

/** A named reason to be unhealthy. */
export interface HealthCheck {
  readonly name: string;
  /** Undefined if healthy, otherwise what is wrong. Must return immediately: it reads state and does no I/O. */
  readonly problem: () => string | undefined;
  /** A warning for people. It fails no check. */
  readonly warning?: () => string | undefined;
  /** The meaning for people if this is healthy. */
  readonly note?: string;
}

/** The parts of a prom-client Registry that /metrics needs. */
interface MetricsSource {
  readonly contentType: string;
  metrics(): Promise<string>;
}

export interface OperationsServerOptions {
  /** 0 means any free port. */
  readonly port: number;
  /** Default: all addresses. */
  readonly host?: string;
  /** /healthz: a failing one gets the process restarted. */
  readonly liveness: readonly HealthCheck[];
  /** /readyz: a failing one takes the pod out of rotation. */
  readonly readiness: readonly HealthCheck[];
  readonly metrics: MetricsSource;
  readonly logger: Logger;
}

export interface OperationsServer {
  readonly port: number;
  /** Stops listening and closes open connections. */
  close(): Promise<void>;
}

/** The kubelet and Prometheus send few, quick requests without bodies. */
const limits = {
  headersTimeout: 2000,
  requestTimeout: 5000,
  maxHeaderSize: 8192,
  keepAliveTimeout: 5000,
  connectionsCheckingInterval: 500,
};
/** A probe must succeed despite any number of connections. Otherwise, an attacker could cause a restart. */
const connectionLimits = {total: 256, perAddress: 32, dropsBusy: true};
/** How long a client may take to read an answer. */
const ANSWER_TIMEOUT_MS = 5000;

interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** Resolves once it listens; rejects if it cannot. */
export async function startOperationsServer(options: OperationsServerOptions): Promise<OperationsServer> {
  const connections = new Connections(connectionLimits);
  const metrics = sharedCall(() => options.metrics.metrics());
  const server = createServer(limits, (request, response) => {
    const {socket} = request;
    response.once('close', () => connections.end(socket));
    // Neither the kubelet nor Prometheus pipelines; each additional request would hold one more answer.
    if (connections.begin(socket) > 1) socket.destroy();
    else void respond(request, response, options, metrics);
  });
  connections.watch(server);
  server.listen(options.port, options.host);
  await once(server, 'listening');
  const {port} = server.address() as AddressInfo;
  return {port, close: () => close(server)};
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  options: OperationsServerOptions,
  metrics: () => Promise<string>,
): Promise<void> {
  const {status, contentType, body} = await answer(request, options, metrics).catch((err: unknown) => {
    options.logger.error({err, url: request.url}, 'A request to the operations endpoint failed.');
    return text(500, 'internal error; see the log\n');
  });
  response.writeHead(status, {
    'content-type': contentType,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
  });
  const cut = setTimeout(() => request.socket.destroy(), ANSWER_TIMEOUT_MS);
  response.once('close', () => clearTimeout(cut));
  response.end(request.method === 'HEAD' ? undefined : body);
}

async function answer(
  {method, url = '/'}: IncomingMessage,
  options: OperationsServerOptions,
  metrics: () => Promise<string>,
): Promise<Answer> {
  if (method !== 'GET' && method !== 'HEAD') return text(405, 'only GET and HEAD are supported\n');
  switch (url.split('?', 1)[0]) {
    case '/healthz':
      return health(options.liveness);
    case '/readyz':
      return health(options.readiness);
    case '/metrics':
      return {status: 200, contentType: options.metrics.contentType, body: await metrics()};
    default:
      return text(404, 'not found; try /healthz, /readyz, or /metrics\n');
  }
}

/** In the form of kube-apiserver's /readyz?verbose, with the reason behind each failing check. */
function health(checks: readonly HealthCheck[]): Answer {
  const results = checks.map(({name, problem, warning, note}) => ({
    name,
    ok: note === undefined ? 'ok' : `ok: ${note}`,
    problem: outcome(problem),
    warning: warning && outcome(warning),
  }));
  const lines = results.map(({name, ok, problem, warning}) => {
    if (problem !== undefined) return `[-]${name} ${problem}`;
    return warning === undefined ? `[+]${name} ${ok}` : `[!]${name} ok, but ${warning}`;
  });
  const healthy = results.every(({problem}) => problem === undefined);
  return text(healthy ? 200 : 503, [...lines, healthy ? 'ok' : 'not ok', ''].join('\n'));
}

/** A check that throws has failed, but the other checks are still reported. */
function outcome(problem: HealthCheck['problem']): string | undefined {
  try {
    return problem();
  } catch (error) {
    return `cannot be checked: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function text(status: number, body: string): Answer {
  return {status, contentType: 'text/plain; charset=utf-8', body};
}

async function close(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}
