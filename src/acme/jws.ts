/** JSON Web Signatures in the flattened serialization (RFC 7515), as ACME uses them (RFC 8555, section 6.2). */
import {createHmac, type KeyObject, sign} from 'node:crypto';
import {type Jwk, jwkOf} from './identifiers.ts';

export interface Jws {
  readonly protected: string;
  readonly payload: string;
  readonly signature: string;
}

/** Identifies the key: the account's URI, or the key itself where the CA does not know it yet. */
export type KeyHeader = {readonly kid: string} | {readonly jwk: Jwk};

/** `payload`: an object, or `''` for POST-as-GET. `key`: EC P-256, private. */
export function signEs256(key: KeyObject, header: object, payload: object | ''): Jws {
  return jwsOf({alg: 'ES256', ...header}, payload, input => sign('sha256', input, {key, dsaEncoding: 'ieee-p1363'}));
}

export function signHs256(key: Uint8Array, header: object, payload: object): Jws {
  return jwsOf({alg: 'HS256', ...header}, payload, input => createHmac('sha256', key).update(input).digest());
}

/** The request to replace the key of an account, signed with the new key (RFC 8555, section 7.3.5). */
export function keyChangeOf(account: string, oldKey: KeyObject, newKey: KeyObject, url: string): Jws {
  return signEs256(newKey, {jwk: jwkOf(newKey), url}, {account, oldKey: jwkOf(oldKey)});
}

function jwsOf(header: object, payload: object | '', signer: (input: Buffer) => Buffer): Jws {
  const encodedHeader = base64url(JSON.stringify(header));
  const encodedPayload = payload === '' ? '' : base64url(JSON.stringify(payload));
  const signature = signer(Buffer.from(`${encodedHeader}.${encodedPayload}`)).toString('base64url');
  return {protected: encodedHeader, payload: encodedPayload, signature};
}

function base64url(text: string): string {
  return Buffer.from(text).toString('base64url');
}
