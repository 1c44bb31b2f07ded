/** An account at an ACME server (RFC 8555), as far as an attacker needs one. */

import {createPublicKey, type KeyObject, sign} from 'node:crypto';
import type {IncomingMessage} from 'node:http';
import {request as requestHttps} from 'node:https';
import {bodyOf} from './listen.ts';

/** The parts of orders, authorizations, and challenges that matter here. */
export interface AcmeObject {
  readonly status?: string;
  readonly authorizations?: readonly string[];
  readonly finalize?: string;
  readonly challenges?: readonly {readonly type: string; readonly url: string; readonly token: string}[];
}

export interface AcmeAnswer {
  readonly location: string;
  readonly body: AcmeObject;
}

export interface AcmeAccount {
  newOrder(identifier: object): Promise<AcmeAnswer>;
  /** POST-as-GET without a payload. Throws the problem that the server answers with. */
  post(url: string, payload?: object): Promise<AcmeAnswer>;
}

/** `trust`: PEM that verifies the server. `key`: RSA. */
export async function openAccount(directory: string, trust: string, key: KeyObject): Promise<AcmeAccount> {
  const send = (url: string, method: string, body?: string) => request(url, {method, trust, ...(body && {body})});
  const urls = JSON.parse((await send(directory, 'GET')).text) as Record<
    'newNonce' | 'newAccount' | 'newOrder',
    string
  >;
  const {kty, n, e} = createPublicKey(key).export({format: 'jwk'});
  const nonce = async () => (await send(urls.newNonce, 'HEAD')).headers['replay-nonce'];

  const call = async (url: string, who: object, payload?: object): Promise<AcmeAnswer> => {
    const header = encode({alg: 'RS256', nonce: await nonce(), url, ...who});
    const content = payload ? encode(payload) : '';
    const signature = sign('sha256', Buffer.from(`${header}.${content}`), key).toString('base64url');
    const sent = JSON.stringify({protected: header, payload: content, signature});
    const {status, headers, text} = await send(url, 'POST', sent);
    if (status >= 400) throw new Error(`${url}: ${status} ${text}`);
    const isJson = headers['content-type']?.includes('json') ?? false;
    return {location: headers.location ?? '', body: isJson ? JSON.parse(text) : {}};
  };

  const {location: url} = await call(urls.newAccount, {jwk: {kty, n, e}}, {termsOfServiceAgreed: true});
  const post = (to: string, payload?: object) => call(to, {kid: url}, payload);
  return {
    newOrder: identifier => post(urls.newOrder, {identifiers: [identifier]}),
    post,
  };
}

async function request(url: string, {method, trust, body}: {method: string; trust: string; body?: string}) {
  const {promise, resolve, reject} = Promise.withResolvers<IncomingMessage>();
  const headers = {'content-type': 'application/jose+json', 'user-agent': 'attacker'}; // RFC 8555 requires both
  requestHttps(url, {method, ca: trust, agent: false, headers}, resolve).on('error', reject).end(body);
  const answer = await promise;
  return {status: answer.statusCode ?? 0, headers: answer.headers, text: await bodyOf(answer)};
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
