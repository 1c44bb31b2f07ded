/**
 * The attacker's own ACME server. It answers each order with a name of its choice and relays the challenge for that
 * name from the platform's CA. When cert-manager has solved it, the server gets its own key certified there.
 */
import {createPrivateKey, randomBytes} from 'node:crypto';
import type {IncomingMessage} from 'node:http';
import {until} from '../../cluster/wait.ts';
import {signingRequest} from '../../integration/approval/signing-request.ts';
import {openAccount} from './acme-account.ts';
import {bodyOf, listen, readJws, sendJson} from './listen.ts';
import type {Identifier} from './plan.ts';
import type {WatchedCa} from './watched-ca.ts';

export interface Relay {
  /** The URL that an Issuer names as its server. */
  readonly directory: string;
  /** Tokens that cert-manager had to serve, in order. */
  readonly tokens: readonly string[];
  /** Sets the name in the answers to later orders. */
  nameInOrders(identifier: Identifier): void;
  stop(): Promise<void>;
}

interface RelayedOrder {
  readonly identifier: Identifier;
  readonly asked: readonly object[];
  readonly token: string;
  /** The order at the CA; absent if the CA did not accept it. */
  readonly upstream?: {readonly order: string; readonly authorization: string; readonly challenge: string};
  status: 'pending' | 'valid' | 'invalid';
}

interface Answer {
  readonly status?: number;
  readonly location?: string;
  readonly body: object;
}

/**
 * `key`: PEM of the RSA key of the attacker's account at the CA and in the cluster. `onContact`: called with the address
 * of each client.
 */
export async function startRelay(
  ca: WatchedCa,
  key: string,
  first: Identifier,
  onContact: (source: string) => void,
): Promise<Relay> {
  const account = await openAccount(ca.directory, ca.trust, createPrivateKey(key));
  const orders: RelayedOrder[] = [];
  const tokens: string[] = [];
  let identifier = first;
  let nonces = 0;

  const newOrder = async (asked: readonly object[]): Promise<RelayedOrder> => {
    const own = {identifier, asked, token: randomBytes(32).toString('base64url'), status: 'pending' as const};
    try {
      const order = await account.newOrder(identifier);
      const [authorization = ''] = order.body.authorizations ?? [];
      const {challenges} = (await account.post(authorization)).body;
      const challenge = challenges?.find(({type}) => type === 'http-01');
      if (!challenge) return own;
      return {
        ...own,
        token: challenge.token,
        upstream: {order: order.location, authorization, challenge: challenge.url},
      };
    } catch {
      return own; // the CA refuses the name, so the token is the attacker's own
    }
  };

  const certify = async (order: RelayedOrder): Promise<void> => {
    const {upstream, identifier: of} = order;
    if (!upstream) return;
    await account.post(upstream.challenge, {});
    const ended = async () => {
      const {status} = (await account.post(upstream.authorization)).body;
      return status !== 'pending' && status !== 'processing';
    };
    await until('the CA has validated', ended);
    const {finalize = ''} = (await account.post(upstream.order)).body;
    const pem = Buffer.from(
      await signingRequest({names: [`${of.type.toUpperCase()}:${of.value}`]}),
      'base64',
    ).toString();
    const csr = Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ''), 'base64').toString('base64url');
    await account.post(finalize, {csr});
    order.status = 'valid';
  };

  const answer = async (request: IncomingMessage, base: string): Promise<Answer> => {
    const {payload} = readJws(await bodyOf(request));
    const [, what = '', id = ''] = (request.url ?? '').split('/');
    if (what === 'directory') return {body: directoryAt(base)};
    if (what === 'account') return {status: 201, location: `${base}/account/1`, body: {status: 'valid'}};
    if (what === 'order' && id === '') {
      const made = await newOrder((payload?.identifiers as object[] | undefined) ?? []);
      tokens.push(made.token);
      const nth = orders.push(made) - 1;
      return {status: 201, location: `${base}/order/${nth}`, body: orderBody(made, base, nth)};
    }
    const nth = Number(id);
    const order = orders[nth];
    if (!order) return {body: {status: 'valid'}};
    if (what === 'authorization') return {body: authorizationBody(order, base, nth)};
    if (what === 'finalize') order.status = 'invalid'; // the attacker has what it wants
    if (what !== 'challenge') return {body: orderBody(order, base, nth)};
    // cert-manager requests validation once its own check has seen the answer at the edge.
    if (payload && order.status === 'pending') {
      await certify(order).catch(() => {
        order.status = 'invalid';
      });
    }
    return {body: challengeBody(order, base, nth)};
  };

  const server = await listen((request, response) => {
    onContact((request.socket.remoteAddress ?? '').replace(/^::ffff:/, ''));
    nonces += 1;
    response.setHeader('Replay-Nonce', `n${nonces}`);
    answer(request, `http://${request.headers.host}`).then(
      ({status = 200, location, body}) => {
        if (location) response.setHeader('Location', location);
        sendJson(response, status, body);
      },
      () => response.destroy(),
    );
  });
  return {
    directory: `${server.base}/directory`,
    tokens,
    nameInOrders: next => {
      identifier = next;
    },
    stop: server.stop,
  };
}

function directoryAt(base: string): object {
  const names = {newNonce: 'nonce', newAccount: 'account', newOrder: 'order', revokeCert: 'revoke', keyChange: 'key'};
  return Object.fromEntries(Object.entries(names).map(([name, path]) => [name, `${base}/${path}`]));
}

function orderBody({asked, status}: RelayedOrder, base: string, nth: number): object {
  const ends = {authorizations: [`${base}/authorization/${nth}`], finalize: `${base}/finalize/${nth}`};
  return {status: status === 'valid' ? 'ready' : status, expires: tomorrow(), identifiers: asked, ...ends};
}

function authorizationBody(order: RelayedOrder, base: string, nth: number): object {
  const {identifier, status} = order;
  const wildcard = identifier.value.startsWith('*.');
  const named = wildcard ? {...identifier, value: identifier.value.slice(2)} : identifier;
  const challenges = [challengeBody(order, base, nth)];
  return {status, expires: tomorrow(), identifier: named, ...(wildcard && {wildcard}), challenges};
}

function challengeBody({token, status}: RelayedOrder, base: string, nth: number): object {
  return {type: 'http-01', url: `${base}/challenge/${nth}`, status, token};
}

function tomorrow(): string {
  return new Date(Date.now() + 86_400_000).toISOString();
}
