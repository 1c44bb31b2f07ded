/**
 * A proxy in front of an ACME server (Pebble, step-ca) that gives it the manners of Boulder, and faults. A test flips its
 * switches while it runs:
 *
 *     const proxy = await startCaProxy(pebble, {reuseOrders: true});
 *     // the client uses proxy.directory, and trusts proxy.trust
 *     proxy.switches.fault = ({resource}) =>
 *       resource === 'newOrder' ? refusal(429, 'rateLimited', 'too many', {'retry-after': '10'}) : undefined;
 *     …
 *     proxy.switches.fault = undefined;
 *
 * The server must derive the URLs in its answers from the header Host; then they lead to the proxy. The proxy learns
 * from the answers which URL is what, and knows the key of no account: what it answers itself is not authenticated.
 */
import {mkdtemp, rm} from 'node:fs/promises';
import type {IncomingHttpHeaders, IncomingMessage, ServerResponse} from 'node:http';
import {Agent, createServer, request as requestHttps} from 'node:https';
import type {AddressInfo, Socket} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {Readable} from 'node:stream';
import {text} from 'node:stream/consumers';
import {pipeline} from 'node:stream/promises';
import {setTimeout as pause} from 'node:timers/promises';
import {selfSigned} from './self-signed.ts';

export type CaResource =
  | 'directory'
  | 'newNonce'
  | 'newAccount'
  | 'newOrder'
  | 'keyChange'
  | 'renewalInfo'
  | 'account'
  | 'order'
  | 'authorization'
  | 'challenge'
  | 'finalize'
  | 'certificate'
  | 'unknown';

/** A request that reached the proxy. */
export interface CaRequestSeen {
  readonly resource: CaResource;
  readonly method: string;
  readonly path: string;
  /** The URI of the account that signed it. */
  readonly account: string | undefined;
  /** What the JWS protects; empty for POST-as-GET. */
  readonly payload: Readonly<Record<string, unknown>>;
  readonly nonce: string | undefined;
}

/**
 * What happens to a request.
 * - `answer`: it is not forwarded, but gets this status, headers, and body, with a fresh nonce.
 * - `reset`: it is not forwarded, and the connection is closed.
 * - `lost`: the CA acts on it, but the connection is closed without its answer.
 * - `held`: the CA acts on it, but its answer waits for the promise.
 * - `silence`: no answer, ever.
 * - `stalled`: the head of the real answer and half of its body.
 * - `endless headers`, `endless body`, `slow body`: an answer of that kind, until the client goes away.
 */
export type CaFault =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly headers?: Readonly<Record<string, string | string[]>>;
      readonly body?: string;
    }
  | {readonly kind: 'held'; readonly until: Promise<unknown>}
  | {
      readonly kind: 'reset' | 'lost' | 'silence' | 'stalled' | 'endless headers' | 'endless body' | 'slow body';
    };

/** An answer of the CA on its way to the client. */
export interface CaReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface CaSwitches {
  /** Every connection is closed. */
  down?: boolean | undefined;
  /**
   * As Boulder: a new order of an account for the names and the profile of one that is pending or ready is that order.
   * Its state is the last one that the proxy saw; it is no longer open once its authorization is deactivated.
   */
  reuseOrders?: boolean | undefined;
  /** How long an order that was finalized is `processing` before it becomes what the CA made of it. */
  processingMs?: number | undefined;
  /** Decides on each request. */
  fault?: ((request: CaRequestSeen) => CaFault | undefined) | undefined;
  /** Changes each answer of the CA. */
  rewrite?: ((request: CaRequestSeen, reply: CaReply) => CaReply) | undefined;
}

export interface CaProxy {
  readonly directory: string;
  /** Verifies the proxy; PEM. */
  readonly trust: string;
  /** What a test may change at any time. */
  readonly switches: CaSwitches;
  /** Every request so far, in order. */
  readonly seen: readonly CaRequestSeen[];
  /** Connections that clients hold open. */
  connections(): number;
  stop(): Promise<void>;
}

interface Target {
  readonly directory: string;
  readonly trust: string;
}

/** A refusal with a problem of ACME. */
export function refusal(
  status: number,
  type: string,
  detail: string,
  headers: Readonly<Record<string, string>> = {},
): CaFault {
  const body = JSON.stringify({type: `urn:ietf:params:acme:error:${type}`, detail, status});
  return {kind: 'answer', status, headers: {'content-type': 'application/problem+json', ...headers}, body};
}

/** Changes members of the JSON that a reply has. */
export function withMembers(reply: CaReply, members: Readonly<Record<string, unknown>>): CaReply {
  return {...reply, body: JSON.stringify({...JSON.parse(reply.body), ...members})};
}

/** `address`: to listen on, of this network namespace. */
export async function startCaProxy(target: Target, switches: CaSwitches = {}, address = '127.0.0.1'): Promise<CaProxy> {
  const folder = await mkdtemp(join(tmpdir(), 'nameplate-ca-proxy-'));
  const identity = await selfSigned(folder, 'ca-proxy', `IP:${address}`).finally(() => rm(folder, {recursive: true}));
  const seen: CaRequestSeen[] = [];
  const upstream = new Upstream(target);
  const handler = new Handler(upstream, switches, seen);
  const server = createServer(identity, (request, response) => {
    handler.handle(request, response).catch(() => response.destroy());
  });
  await new Promise<void>(resolve => server.listen(0, address, resolve));
  const {port} = server.address() as AddressInfo;
  let connections = 0;
  server.on('secureConnection', socket => {
    connections += 1;
    socket.on('close', () => connections--);
  });
  return {
    directory: `https://${address}:${port}${new URL(target.directory).pathname}`,
    trust: identity.cert.toString(),
    switches,
    seen,
    connections: () => connections,
    stop: async () => {
      upstream.close();
      server.closeAllConnections();
      await new Promise(resolve => server.close(resolve));
    },
  };
}

class Handler {
  readonly #upstream: Upstream;
  readonly #switches: CaSwitches;
  readonly #seen: CaRequestSeen[];
  readonly #resources: Resources;
  readonly #orders = new Orders();

  constructor(upstream: Upstream, switches: CaSwitches, seen: CaRequestSeen[]) {
    this.#upstream = upstream;
    this.#resources = new Resources(upstream.directory);
    this.#switches = switches;
    this.#seen = seen;
  }

  async handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(incoming);
    const request = this.#read(incoming, body);
    this.#seen.push(request);
    if (this.#switches.down) return void response.destroy();
    const fault = this.#switches.fault?.(request);
    if (fault && !isForwarded(fault)) return await this.#misbehave(fault, incoming, response);
    const reused = this.#reused(request);
    if (reused) {
      if (fault?.kind === 'held') await fault.until;
      if (fault && fault.kind !== 'held') return void response.destroy();
      return await this.#misbehave(reused, incoming, response);
    }
    const reply = await this.#upstream.forward(incoming, body);
    this.#resources.learn(request, reply);
    this.#orders.learn(request, reply);
    const delayed = this.#orders.processing(request, reply, this.#switches.processingMs ?? 0);
    const sent = this.#switches.rewrite?.(request, delayed) ?? delayed;
    if (fault?.kind === 'lost') return void response.destroy();
    if (fault?.kind === 'held') await fault.until;
    if (fault?.kind !== 'stalled') return void send(response, sent, incoming.method);
    response.writeHead(sent.status, {...endToEnd(sent.headers), 'content-length': Buffer.byteLength(sent.body)});
    response.write(sent.body.slice(0, sent.body.length / 2));
  }

  #read({method = '', url: path = ''}: IncomingMessage, body: string): CaRequestSeen {
    const {header, payload} = readJws(body);
    return {resource: this.#resources.at(path), method, path, account: header.kid, payload, nonce: header.nonce};
  }

  #reused(request: CaRequestSeen): CaFault | undefined {
    return this.#switches.reuseOrders && request.resource === 'newOrder' ? this.#orders.reused(request) : undefined;
  }

  async #misbehave(fault: CaFault, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const {socket} = incoming;
    switch (fault.kind) {
      case 'answer': {
        const nonce = await this.#upstream.newNonce(this.#resources, incoming.headers.host ?? '');
        const headers = {'content-type': 'application/json', ...(nonce && {'replay-nonce': nonce}), ...fault.headers};
        return void response.writeHead(fault.status, headers).end(fault.body);
      }
      case 'reset':
        return void response.destroy();
      case 'endless headers':
        socket.write(RAW_STATUS);
        return await flood(socket, 'x-more: more\r\n'.repeat(1000));
      case 'endless body':
        socket.write(`${RAW_STATUS}content-type: application/json\r\n\r\n`);
        return await flood(socket, ' '.repeat(65_536));
      case 'slow body':
        response.writeHead(200, {'content-type': 'application/json'});
        while (!socket.destroyed) {
          response.write(' ');
          await pause(50);
        }
        return;
      default:
        return; // silence
    }
  }
}

const RAW_STATUS = 'HTTP/1.1 200 OK\r\n';

/** As fast as the client reads, until it goes away. */
async function flood(socket: Socket, text: string): Promise<void> {
  await pipeline(Readable.from(endlessly(text)), socket);
}

function* endlessly(text: string): Generator<string> {
  for (;;) yield text;
}

function isForwarded({kind}: CaFault): boolean {
  return kind === 'lost' || kind === 'held' || kind === 'stalled';
}

function send(response: ServerResponse, {status, headers, body}: CaReply, method = ''): void {
  response.writeHead(status, endToEnd(headers)).end(method === 'HEAD' ? undefined : body);
}

function endToEnd(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const {connection: _c, 'keep-alive': _k, 'transfer-encoding': _t, 'content-length': _l, ...others} = headers;
  return others;
}

/** What each path is, from the answers of the CA. */
class Resources {
  readonly #byPath: Map<string, CaResource>;

  constructor(directory: string) {
    this.#byPath = new Map([[new URL(directory).pathname, 'directory']]);
  }

  /** Alternate chains and renewal information have paths below a known one. */
  at(path: string): CaResource {
    const exact = this.#byPath.get(path);
    if (exact) return exact;
    const above = [...this.#byPath].find(([known]) => path.startsWith(`${known}/`));
    return above && ['certificate', 'renewalInfo'].includes(above[1]) ? above[1] : 'unknown';
  }

  pathOf(resource: CaResource): string | undefined {
    return [...this.#byPath].find(([, found]) => found === resource)?.[0];
  }

  learn({resource}: CaRequestSeen, {status, headers, body}: CaReply): void {
    if (status >= 300) return;
    const json = parse(body);
    if (resource === 'directory') {
      for (const name of ['newNonce', 'newAccount', 'newOrder', 'keyChange', 'renewalInfo'] as const) {
        this.#add(json[name], name);
      }
    }
    if (resource === 'newAccount') this.#add(headers.location, 'account');
    if (resource === 'newOrder') this.#add(headers.location, 'order');
    this.#add(json.finalize, 'finalize');
    this.#add(json.certificate, 'certificate');
    for (const url of listOf(json.authorizations)) this.#add(url, 'authorization');
    for (const challenge of listOf(json.challenges)) this.#add((challenge as {url?: unknown}).url, 'challenge');
  }

  #add(url: unknown, resource: CaResource): void {
    if (typeof url === 'string' && URL.canParse(url)) {
      this.#byPath.set(new URL(url).pathname.replace(/\/$/, ''), resource);
    }
  }
}

/** The orders that went by, each in the state in which it was last seen. */
class Orders {
  /** By path. */
  readonly #orders = new Map<string, {readonly key: string; readonly url: string; body: string}>();
  /** The paths of orders, by that of their `finalize`. */
  readonly #byFinalize = new Map<string, string>();
  readonly #finalizedAt = new Map<string, number>();

  learn(request: CaRequestSeen, {status, headers, body}: CaReply): void {
    if (status >= 300) return;
    if (request.payload.status === 'deactivated') this.#close(request.path);
    const {location} = headers;
    const path = request.resource === 'newOrder' && location ? new URL(location).pathname : this.#pathOf(request);
    if (path === undefined) return;
    const key = this.#orders.get(path)?.key ?? keyOf(request);
    this.#orders.set(path, {key, url: location ?? this.#orders.get(path)?.url ?? '', body});
    const {finalize} = parse(body);
    if (typeof finalize === 'string') this.#byFinalize.set(new URL(finalize).pathname, path);
    if (request.resource === 'finalize') this.#finalizedAt.set(path, performance.now());
  }

  #close(authorization: string): void {
    for (const order of this.#orders.values()) {
      const urls = listOf(parse(order.body).authorizations);
      if (urls.some(url => new URL(String(url)).pathname === authorization)) order.body = '';
    }
  }

  reused(request: CaRequestSeen): CaFault | undefined {
    const isOpen = (body: string) => ['pending', 'ready'].includes(String(parse(body).status));
    const found = [...this.#orders.values()].find(({key, body}) => key === keyOf(request) && isOpen(body));
    return found && {kind: 'answer', status: 201, headers: {location: found.url}, body: found.body};
  }

  processing(request: CaRequestSeen, reply: CaReply, ms: number): CaReply {
    const at = this.#finalizedAt.get(this.#pathOf(request) ?? '');
    if (reply.status >= 300 || at === undefined || performance.now() - at >= ms) return reply;
    return withMembers(reply, {status: 'processing', certificate: undefined});
  }

  #pathOf({resource, path}: CaRequestSeen): string | undefined {
    return resource === 'order' ? path : resource === 'finalize' ? this.#byFinalize.get(path) : undefined;
  }
}

function keyOf({account, payload}: CaRequestSeen): string {
  const names = listOf(payload.identifiers).map(identifier => (identifier as {value?: unknown}).value);
  return JSON.stringify([account, names.sort(), payload.profile]);
}

class Upstream {
  readonly directory: string;
  readonly #target: URL;
  readonly #agent: Agent;

  constructor({directory, trust}: Target) {
    this.directory = directory;
    this.#target = new URL(directory);
    this.#agent = new Agent({keepAlive: true, ca: trust});
  }

  async forward({method, url, headers}: IncomingMessage, body: string): Promise<CaReply> {
    const {connection: _, ...passed} = headers;
    return await this.#exchange(method, url, passed, body);
  }

  async newNonce(resources: Resources, host: string): Promise<string | undefined> {
    const path = resources.pathOf('newNonce');
    if (path === undefined) return undefined;
    const {headers} = await this.#exchange('HEAD', path, {host, 'user-agent': 'ca-proxy'}, '').catch(() => ({
      headers: {},
    }));
    return (headers as IncomingHttpHeaders)['replay-nonce'] as string | undefined;
  }

  close(): void {
    this.#agent.destroy();
  }

  async #exchange(
    method: string | undefined,
    path: string | undefined,
    headers: IncomingHttpHeaders,
    body: string,
  ): Promise<CaReply> {
    const {promise, resolve, reject} = Promise.withResolvers<IncomingMessage>();
    const {hostname: host, port} = this.#target;
    const outgoing = requestHttps({host, port, path, method, headers, agent: this.#agent}, resolve);
    outgoing.on('error', reject).end(body);
    const answer = await promise;
    return {status: answer.statusCode ?? 502, headers: answer.headers, body: await text(answer)};
  }
}

/** The parts of a flattened JWS, unchecked (RFC 7515, section 7.2.2). */
function readJws(body: string) {
  const {protected: header, payload} = parse(body);
  const decoded = (part: unknown) => parse(typeof part === 'string' ? Buffer.from(part, 'base64url').toString() : '');
  const {kid, nonce} = decoded(header) as {kid?: string; nonce?: string};
  return {header: {kid, nonce}, payload: decoded(payload)};
}

/** The members of a JSON object; none for any other text. */
function parse(body: string): Readonly<Record<string, unknown>> {
  try {
    return {...JSON.parse(body)};
  } catch {
    return {};
  }
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
