/** Whether what a CA sent is the certificate that was requested: cert-manager does not compare the names. */
import {X509Certificate} from 'node:crypto';
import {CertificationRequest} from '@peculiar/asn1-csr';
import {AsnConvert} from '@peculiar/asn1-schema';
import {Certificate} from '@peculiar/asn1-x509';

const COMMON_NAME = '2.5.4.3';
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** DER of the PKCS #10 request in `spec.request` of a CertificateRequest, which is base64 of PEM. */
export function csrOf(request: string): Buffer {
  const pem = Buffer.from(request, 'base64').toString('latin1');
  return Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ''), 'base64');
}

/** DER of its public key. */
export function publicKeyOf(csr: Buffer): Buffer {
  const {certificationRequestInfo} = AsnConvert.parse(csr, CertificationRequest);
  return Buffer.from(AsnConvert.serialize(certificationRequestInfo.subjectPKInfo));
}

/** The fault of the certificate, as the end of a sentence that begins with "The CA"; undefined: none. */
export function problemOfChain(pem: string, csr: Buffer, host: string, nowMs: number): ChainProblem | undefined {
  let leaf: X509Certificate;
  let issuer: X509Certificate | undefined;
  let key: Buffer;
  let commonNames: readonly string[];
  try {
    const [first = '', second] = pem.match(CERTIFICATE) ?? [];
    leaf = new X509Certificate(first);
    issuer = second === undefined ? undefined : new X509Certificate(second);
    key = leaf.publicKey.export({type: 'spki', format: 'der'});
    commonNames = commonNamesIn(leaf);
  } catch {
    return {kind: 'other', text: 'sent something that is not a certificate'};
  }
  if (!key.equals(publicKeyOf(csr))) return {kind: 'other-key', text: 'certified another key'};
  const names = (leaf.subjectAltName ?? '').split(', ');
  if (names.length !== 1 || names[0]?.toLowerCase() !== `dns:${host}`) {
    return {
      kind: 'other',
      text: `issued a certificate for ${names.join(', ').slice(0, 200) || 'no name'}, not for ${host} only`,
    };
  }
  if (commonNames.some(name => name.toLowerCase() !== host)) {
    return {kind: 'other', text: `issued a certificate with another common name than ${host}`};
  }
  // No browser would accept it, and the certificate that the host has is better.
  if (issuer && !(leaf.checkIssued(issuer) && leaf.verify(issuer.publicKey))) {
    return {kind: 'other', text: 'sent a chain whose second certificate is not of the issuer of the first'};
  }
  if (leaf.validToDate.getTime() <= nowMs) return {kind: 'other', text: 'issued a certificate that has expired'};
  return undefined;
}

/** All of them: a program that expects one may read the last. */
function commonNamesIn({raw}: X509Certificate): string[] {
  const {subject} = AsnConvert.parse(raw, Certificate).tbsCertificate;
  return Array.from(subject.flat()).flatMap(({type, value}) => (type === COMMON_NAME ? `${value}` : []));
}

interface ChainProblem {
  /** Another key: the order belongs to an earlier request. */
  readonly kind: 'other-key' | 'other';
  readonly text: string;
}
