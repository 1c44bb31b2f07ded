/**
 * An ACME server that a tenant runs (RFC 8555). It checks nothing, and answers each order with any authorizations that
 * it likes: those of a real CA, which an attacker relays, or a thousand of its own.
 */
import {createServer, type IncomingMessage, type ServerResponse} from 'node:http';
import type {AddressInfo} from 'node:net';
import {networkInterfaces} from 'node:os';
import {json} from 'node:stream/consumers';

export interface RogueAcme {
  /** The URL that an Issuer names as its server. */
  readonly directory: string;
  readonly token: string;
  /** The number of orders created here. */
  orders(): number;
  /** The number of requests that wait for an answer or for the end of their order. */
  waiting(): number;
  stop(): Promise<void>;
}

export interface Identifier {
  /** `dns` or `ip`. */
  readonly type: string;
  readonly value: string;
  readonly wildcard?: boolean;
}

export interface Behaviour {
  readonly token?: string;
  /** The identifiers of an order's authorizations, one each. Default: those that the order requests. */
  readonly authorizations?: (requested: readonly Identifier[]) => readonly Identifier[];
  /**
   * `order`: a request for a new order is never answered. `finalize`: an order is ready immediately but never valid.
   */
  readonly never?: 'order' | 'finalize';
}

interface Answer {
  readonly status?: number;
  readonly location?: string;
  readonly body: object;
}

const EXPIRES = new Date(Date.now() + 86_400_000).toISOString();
const DIRECTORY = {newNonce: 'nonce', newAccount: 'account', newOrder: 'order', revokeCert: 'revoke', keyChange: 'key'};

export async function startRogueAcme(behaviour: Behaviour = {}): Promise<RogueAcme> {
  const orders = new Orders(behaviour);
  let unanswered = 0;
  let nonces = 0;
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const {url = '', method, headers} = request;
    const payload = method === 'POST' ? await payloadOf(request) : {};
    if (behaviour.never === 'order' && url === '/order') {
      unanswered += 1;
      response.on('close', () => unanswered--);
      return;
    }
    const {status = 200, location, body} = orders.answer(`http://${headers.host}`, url, payload);
    nonces += 1;
    response.setHeader('Replay-Nonce', `n${nonces}`);
    if (location) response.setHeader('Location', location);
    response.writeHead(status, {'content-type': 'application/json'}).end(JSON.stringify(body));
  };
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  await new Promise<void>(resolve => server.listen(0, '0.0.0.0', resolve));
  const {port} = server.address() as AddressInfo;
  return {
    directory: `http://${reachableAddress()}:${port}/directory`,
    token: orders.token,
    orders: () => orders.count,
    waiting: () => unanswered + orders.endless,
    stop: async () => {
      server.closeAllConnections();
      await new Promise(resolve => server.close(resolve));
    },
  };
}

class Orders {
  readonly token: string;
  readonly #authorizations: (requested: readonly Identifier[]) => readonly Identifier[];
  readonly #neverEnds: boolean;
  readonly #orders: (readonly Identifier[])[] = [];
  readonly #finalized = new Set<string>();

  constructor({never, token = 'token', authorizations = requested => requested}: Behaviour) {
    this.token = token;
    this.#authorizations = authorizations;
    this.#neverEnds = never === 'finalize';
  }

  get count(): number {
    return this.#orders.length;
  }

  get endless(): number {
    return this.#finalized.size;
  }

  answer(base: string, path: string, payload: {readonly identifiers?: readonly Identifier[]}): Answer {
    const [, resource, id = '', n = ''] = path.split('/');
    switch (resource) {
      case 'directory':
        return {body: Object.fromEntries(Object.entries(DIRECTORY).map(([name, at]) => [name, `${base}/${at}`]))};
      case 'account':
        return {status: 201, location: `${base}/account/1`, body: {status: 'valid'}};
      case 'order':
        if (id !== '') return this.#order(base, id);
        return {...this.#order(base, this.#create(payload.identifiers ?? [])), status: 201};
      case 'finalize':
        this.#finalized.add(id);
        return this.#order(base, id);
      case 'authorization':
        return {body: this.#authorization(base, id, n)};
      case 'challenge':
        return {body: this.#challenge(base, id, n)};
      default:
        return {body: {status: 'valid'}};
    }
  }

  #create(requested: readonly Identifier[]): string {
    return String(this.#orders.push(this.#authorizations(requested)) - 1);
  }

  #order(base: string, id: string): Answer {
    const identifiers = this.#orders[Number(id)] ?? [];
    const authorizations = identifiers.map((_, n) => `${base}/authorization/${id}/${n}`);
    const status = this.#finalized.has(id) ? 'processing' : this.#neverEnds ? 'ready' : 'pending';
    const body = {status, expires: EXPIRES, identifiers, authorizations, finalize: `${base}/finalize/${id}`};
    return {location: `${base}/order/${id}`, body};
  }

  #authorization(base: string, id: string, n: string): object {
    const {wildcard, ...identifier} = this.#orders[Number(id)]?.[Number(n)] ?? {type: 'dns', value: ''};
    const status = this.#neverEnds ? 'valid' : 'pending';
    return {status, expires: EXPIRES, identifier, wildcard, challenges: [this.#challenge(base, id, n)]};
  }

  /** The first challenge has the token that an attacker relays. */
  #challenge(base: string, id: string, n: string): object {
    const token = n === '0' ? this.token : `${this.token}${n}`;
    return {type: 'http-01', url: `${base}/challenge/${id}/${n}`, status: 'pending', token};
  }
}

/** The payload of a JWS (RFC 8555, section 6.2). Its signature is not checked. */
async function payloadOf(request: IncomingMessage): Promise<{identifiers?: readonly Identifier[]}> {
  const {payload = ''} = (await json(request)) as {payload?: string};
  return payload === '' ? {} : JSON.parse(Buffer.from(payload, 'base64url').toString());
}

/** An address of this network namespace that the cluster's pods can reach. */
function reachableAddress(): string {
  const addresses = Object.values(networkInterfaces()).flat();
  const found = addresses.find(address => address?.family === 'IPv4' && !address.internal);
  if (!found) throw new Error('no interface has an IPv4 address that pods could reach');
  return found.address;
}
