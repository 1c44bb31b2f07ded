import type {KeyObject} from 'node:crypto';

/** The thumbprint of the public key (RFC 7638), base64url. `key`: EC, private or public. */
export function thumbprintOf(_key: KeyObject): string {
  throw new Error('not written yet');
}

/**
 * How ARI names a certificate (RFC 9773, section 4.1). `undefined` if it does not name the key of its issuer.
 * `certificatePem`: the certificate, or a chain that begins with it.
 */
export function renewalIdOf(_certificatePem: string): string | undefined {
  throw new Error('not written yet');
}
