/** How ACME names keys and certificates. */
import {createHash, createPublicKey, type KeyObject, X509Certificate} from 'node:crypto';
import {AsnConvert} from '@peculiar/asn1-schema';
import {AuthorityKeyIdentifier, Certificate, id_ce_authorityKeyIdentifier} from '@peculiar/asn1-x509';

/** A public EC key (RFC 7517), with its members in the order that a thumbprint needs. */
export interface Jwk {
  readonly crv: string;
  readonly kty: string;
  readonly x: string;
  readonly y: string;
}

/** `key`: EC, private or public. */
export function jwkOf(key: KeyObject): Jwk {
  const {
    crv = '',
    kty = '',
    x = '',
    y = '',
  } = (key.type === 'private' ? createPublicKey(key) : key).export({
    format: 'jwk',
  });
  return {crv, kty, x, y};
}

/** The thumbprint of the public key (RFC 7638), base64url. `key`: EC, private or public. */
export function thumbprintOf(key: KeyObject): string {
  return createHash('sha256')
    .update(JSON.stringify(jwkOf(key)))
    .digest('base64url');
}

/** What a CA must find in DNS (RFC 8555, section 8.4). `thumbprint`: of the key of the account. */
export function dnsAnswerOf(token: string, thumbprint: string): string {
  return createHash('sha256').update(`${token}.${thumbprint}`).digest('base64url');
}

/**
 * How ARI names a certificate (RFC 9773, section 4.1). `undefined` if it does not name the key of its issuer.
 * `certificatePem`: the certificate, or a chain that begins with it. Throws if it is none.
 */
export function renewalIdOf(certificatePem: string): string | undefined {
  const {tbsCertificate} = AsnConvert.parse(new X509Certificate(certificatePem).raw, Certificate);
  const extension = tbsCertificate.extensions?.find(({extnID}) => extnID === id_ce_authorityKeyIdentifier);
  if (!extension) return undefined;
  const {keyIdentifier} = AsnConvert.parse(extension.extnValue.buffer, AuthorityKeyIdentifier);
  if (!keyIdentifier) return undefined;
  // The serial as encoded in DER, so with the leading zero of a number whose first bit is set.
  return [keyIdentifier.buffer, tbsCertificate.serialNumber]
    .map(bytes => Buffer.from(bytes).toString('base64url'))
    .join('.');
}
