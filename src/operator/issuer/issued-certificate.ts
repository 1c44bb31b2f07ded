/** Whether what a CA sent is the certificate that was requested: cert-manager does not compare the names. */
import {X509Certificate} from 'node:crypto';
import {CertificationRequest} from '@peculiar/asn1-csr';
import {AsnConvert} from '@peculiar/asn1-schema';

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
  try {
    leaf = new X509Certificate(pem);
  } catch {
    return {kind: 'other', text: 'sent something that is not a certificate'};
  }
  if (!leaf.publicKey.export({type: 'spki', format: 'der'}).equals(publicKeyOf(csr))) {
    return {kind: 'other-key', text: 'certified another key'};
  }
  const names = (leaf.subjectAltName ?? '').split(', ');
  if (names.length !== 1 || names[0]?.toLowerCase() !== `dns:${host}`) {
    return {
      kind: 'other',
      text: `issued a certificate for ${names.join(', ').slice(0, 200) || 'no name'}, not for ${host} only`,
    };
  }
  const commonName = /^CN=(.*)$/m.exec(leaf.subject ?? '')?.[1];
  if (commonName !== undefined && commonName.toLowerCase() !== host) {
    return {kind: 'other', text: `issued a certificate with another common name than ${host}`};
  }
  if (leaf.validToDate.getTime() <= nowMs) return {kind: 'other', text: 'issued a certificate that has expired'};
  return undefined;
}

interface ChainProblem {
  /** Another key: the order belongs to an earlier request. */
  readonly kind: 'other-key' | 'other';
  readonly text: string;
}
