import {createPrivateKey, createPublicKey} from 'node:crypto';
import {expect, test} from 'vitest';
import {dnsAnswerOf, renewalIdOf, thumbprintOf} from './identifiers.ts';

test('a thumbprint is that of RFC 7638, with the EC key and thumbprint of RFC 9449, section 6.1', () => {
  const x = 'l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs';
  const y = '9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA';
  const key = createPublicKey({format: 'jwk', key: {kty: 'EC', x, y, crv: 'P-256'}});
  expect(thumbprintOf(key)).toBe('0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I');
});

test('the answer to a challenge over DNS is the SHA-256 of the key authorization', () => {
  // printf %s token.thumbprint | openssl dgst -sha256 -binary | basenc --base64url
  expect(dnsAnswerOf('token', 'thumbprint')).toBe('61rBZ_4knHblO0MNoxFsXZ_eTFUHum0B6IVRbhvUn5I');
});

test('a private key has the thumbprint of its public key', () => {
  // RFC 7515, appendix A.3.1
  const x = 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU';
  const y = 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0';
  const d = 'jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI';
  const key = createPrivateKey({format: 'jwk', key: {kty: 'EC', crv: 'P-256', x, y, d}});
  expect(thumbprintOf(key)).toBe(thumbprintOf(createPublicKey({format: 'jwk', key: {kty: 'EC', crv: 'P-256', x, y}})));
});

/** RFC 9773, appendix A. The first bit of its serial, 87 65 43 21, is set. */
const RENEWABLE = `-----BEGIN CERTIFICATE-----
MIIBQzCB66ADAgECAgUAh2VDITAKBggqhkjOPQQDAjAVMRMwEQYDVQQDEwpFeGFt
cGxlIENBMCIYDzAwMDEwMTAxMDAwMDAwWhgPMDAwMTAxMDEwMDAwMDBaMBYxFDAS
BgNVBAMTC2V4YW1wbGUuY29tMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEeBZu
7cbpAYNXZLbbh8rNIzuOoqOOtmxA1v7cRm//AwyMwWxyHz4zfwmBhcSrf47NUAFf
qzLQ2PPQxdTXREYEnKMjMCEwHwYDVR0jBBgwFoAUaYhba4dGQEHhs3uEe6CuLN4B
yNQwCgYIKoZIzj0EAwIDRwAwRAIge09+S5TZAlw5tgtiVvuERV6cT4mfutXIlwTb
+FYN/8oCIClDsqBklhB9KAelFiYt9+6FDj3z4KGVelYM5MdsO3pK
-----END CERTIFICATE-----
`;

test('ARI names a certificate by the key of its issuer and its serial', () => {
  expect(renewalIdOf(RENEWABLE)).toBe('aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE');
  expect(renewalIdOf(`${RENEWABLE}${ROOT}`)).toBe('aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE');
});

/** Made by `openssl req -x509` with a configuration that has no extensions. */
const ROOT = `-----BEGIN CERTIFICATE-----
MIIBGjCBwQIUCzT2E6YPV0SyZDaK7h9t4LCh2RkwCgYIKoZIzj0EAwIwDzENMAsG
A1UEAwwEcm9vdDAgFw0yNjExMjgwMjI1MjdaGA8yMTI2MTEwNDAyMjUyN1owDzEN
MAsGA1UEAwwEcm9vdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABPTFrymsPBgi
yX8nXXoX9fKrgou3d0OKlPmVejDWii6aaQE84a7jhNqbHBuF8DNe11OJAnca04g3
XdGYyUX6yKYwCgYIKoZIzj0EAwIDSAAwRQIgYpgGKm3PYTmfAUr+mojDuyup+BoW
Ue+lIPiYWAgEHXACIQD6byqXOBnSFywD8Z8OMmbSzgUimC0PTeSRbZFKNUz72A==
-----END CERTIFICATE-----
`;

test('ARI has no name for a certificate that does not name the key of its issuer', () => {
  expect(renewalIdOf(ROOT)).toBeUndefined();
});

test.each(['', 'nothing', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'])('%j is refused', text => {
  expect(() => renewalIdOf(text)).toThrow();
});
