import {createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, verify, webcrypto} from 'node:crypto';
import {expect, test} from 'vitest';
import {jwkOf} from './identifiers.ts';
import {type Jws, keyChangeOf, signEs256, signHs256} from './jws.ts';

/** RFC 7515, appendix A.3.1. */
const KEY = createPrivateKey({
  format: 'jwk',
  key: {
    kty: 'EC',
    crv: 'P-256',
    x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
    y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
    d: 'jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI',
  },
});
/** RFC 7515, appendix A.1.1. */
const SECRET = Buffer.from(
  'AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow',
  'base64url',
);

const decoded = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString());
const inputOf = (jws: Jws) => Buffer.from(`${jws.protected}.${jws.payload}`);

function isSigned(jws: Jws, key: KeyObject): boolean {
  const signature = Buffer.from(jws.signature, 'base64url');
  return verify('sha256', inputOf(jws), {key, dsaEncoding: 'ieee-p1363'}, signature);
}

/** The example of RFC 7515, appendix A.3, so that `isSigned` is known to be right. */
test('the check of signatures that these tests use accepts the example of the standard, and no other payload', () => {
  const jws = {
    protected: 'eyJhbGciOiJFUzI1NiJ9',
    payload: 'eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ',
    signature: 'DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q',
  };
  expect(isSigned(jws, createPublicKey(KEY))).toBe(true);
  expect(isSigned({...jws, payload: `${jws.payload}A`}, createPublicKey(KEY))).toBe(false);
});

test('a request is signed with ES256, whose signature is r and s instead of DER', () => {
  const header = {kid: 'https://ca.example/acct/1', nonce: 'n', url: 'https://ca.example/order'};
  const jws = signEs256(KEY, header, {status: 'deactivated'});
  expect(decoded(jws.protected)).toEqual({alg: 'ES256', ...header});
  expect(decoded(jws.payload)).toEqual({status: 'deactivated'});
  expect(Buffer.from(jws.signature, 'base64url')).toHaveLength(64);
  expect(isSigned(jws, createPublicKey(KEY))).toBe(true);
});

test('POST-as-GET has an empty payload, not an empty object', () => {
  const jws = signEs256(KEY, {}, '');
  expect(jws.payload).toBe('');
  expect(isSigned(jws, createPublicKey(KEY))).toBe(true);
  expect(signEs256(KEY, {}, {}).payload).toBe('e30');
});

test('an external account is bound with HS256', async () => {
  const jws = signHs256(SECRET, {kid: 'customer', url: 'https://ca.example/new-account'}, jwkOf(KEY));
  expect(decoded(jws.protected)).toEqual({alg: 'HS256', kid: 'customer', url: 'https://ca.example/new-account'});
  expect(decoded(jws.payload)).toEqual(jwkOf(KEY));
  const key = await webcrypto.subtle.importKey('raw', SECRET, {name: 'HMAC', hash: 'SHA-256'}, false, ['verify']);
  const signature = Buffer.from(jws.signature, 'base64url');
  expect(await webcrypto.subtle.verify('HMAC', key, signature, inputOf(jws))).toBe(true);
});

test('the new key signs its own introduction, which names the account and the old key', () => {
  const {privateKey: newKey, publicKey} = generateKeyPairSync('ec', {namedCurve: 'P-256'});
  const jws = keyChangeOf('https://ca.example/acct/1', KEY, newKey, 'https://ca.example/key-change');
  expect(decoded(jws.protected)).toEqual({alg: 'ES256', jwk: jwkOf(newKey), url: 'https://ca.example/key-change'});
  expect(decoded(jws.payload)).toEqual({account: 'https://ca.example/acct/1', oldKey: jwkOf(KEY)});
  expect(isSigned(jws, publicKey)).toBe(true);
});

test('no part of a private key is in what is sent', () => {
  const {d} = KEY.export({format: 'jwk'});
  expect(d).toHaveLength(43);
  const sent = [signEs256(KEY, {jwk: jwkOf(KEY)}, ''), keyChangeOf('a', KEY, KEY, 'u')];
  for (const {protected: header, payload} of sent) {
    expect(Buffer.from(`${header}.${payload}`, 'base64url').toString()).not.toContain(d);
    expect(Object.keys(decoded(header).jwk).sort()).toEqual(['crv', 'kty', 'x', 'y']);
  }
});
