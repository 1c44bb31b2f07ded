/**
 * An ACME server that a tenant runs (RFC 8555). It checks nothing, and answers each order with an authorization for a
 * configured host and token: what an attacker relays from a real CA.
 */
import {createServer, type IncomingMessage, type ServerResponse} from 'node:http';
import type {AddressInfo} from 'node:net';
import {networkInterfaces} from 'node:os';

export interface RogueAcme {
  /** What an Issuer names as its server. */
  readonly directory: string;
  readonly token: string;
  /** Orders that somebody created here. */
  orders(): number;
  stop(): Promise<void>;
}

interface Answer {
  readonly status?: number;
  readonly location?: string;
  readonly body: object;
}

/** `identifier`: of the one authorization of every order, for example {type: 'dns', value: 'victim.example'}. */
export async function startRogueAcme(identifier: {type: string; value: string}, token: string): Promise<RogueAcme> {
  let orders = 0;
  let nonces = 0;
  const server = createServer((request, response) => {
    const base = `http://${request.headers.host}`;
    if (request.url === '/order') orders += 1;
    const {status = 200, location, body} = answerTo(request, base, {identifier, token});
    nonces += 1;
    response.setHeader('Replay-Nonce', `n${nonces}`);
    if (location) response.setHeader('Location', location);
    request.resume().on('end', () => send(response, status, body));
  });
  await new Promise<void>(resolve => server.listen(0, '0.0.0.0', resolve));
  const {port} = server.address() as AddressInfo;
  return {
    directory: `http://${reachableAddress()}:${port}/directory`,
    token,
    orders: () => orders,
    stop: async () => {
      server.closeAllConnections();
      await new Promise(resolve => server.close(resolve));
    },
  };
}

function answerTo(
  {url}: IncomingMessage,
  base: string,
  {identifier, token}: {identifier: object; token: string},
): Answer {
  const expires = new Date(Date.now() + 86_400_000).toISOString();
  const order = {
    status: 'pending',
    expires,
    identifiers: [identifier],
    authorizations: [`${base}/authorization`],
    finalize: `${base}/finalize`,
  };
  const challenge = {type: 'http-01', url: `${base}/challenge`, status: 'pending', token};
  switch (url) {
    case '/directory': {
      const names = {
        newNonce: 'nonce',
        newAccount: 'account',
        newOrder: 'order',
        revokeCert: 'revoke',
        keyChange: 'key',
      };
      return {body: Object.fromEntries(Object.entries(names).map(([name, path]) => [name, `${base}/${path}`]))};
    }
    case '/account':
      return {status: 201, location: `${base}/account/1`, body: {status: 'valid'}};
    case '/order':
      return {status: 201, location: `${base}/order/1`, body: order};
    case '/order/1':
      return {body: order};
    case '/authorization':
      return {body: {status: 'pending', expires, identifier, challenges: [challenge]}};
    case '/challenge':
      return {body: challenge};
    default:
      return {body: {status: 'valid'}};
  }
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, {'content-type': 'application/json'}).end(JSON.stringify(body));
}

/** Of this network namespace, which the cluster's pods reach. */
function reachableAddress(): string {
  const addresses = Object.values(networkInterfaces()).flat();
  const found = addresses.find(address => address?.family === 'IPv4' && !address.internal);
  if (!found) throw new Error('no interface has an IPv4 address that pods could reach');
  return found.address;
}
