/** Every name in a certificate signing request, regardless of the Certificate that it was created from. */
import {CertificationRequest} from '@peculiar/asn1-csr';
import {AsnConvert} from '@peculiar/asn1-schema';
import {Extensions, id_ce_subjectAltName, SubjectAlternativeName} from '@peculiar/asn1-x509';
import {boundElements, type ElementMeter} from './der.ts';

const EXTENSION_REQUEST = '1.2.840.113549.1.9.14';
const COMMON_NAME = '2.5.4.3';
const MAX_BYTES = 16_384;
/** Base64 of base64 takes 16 characters for 9 bytes; the rest is for line breaks. */
export const MAX_CHARACTERS = 2 * MAX_BYTES;
/** One block and nothing else. Given several, or one that is not strict, Go's decoder may read another one than we do. */
const PEM = /^-----BEGIN ((?:NEW )?CERTIFICATE REQUEST)-----\n([A-Za-z0-9+/=\n]+)\n-----END \1-----\n?$/;

export interface RequestedNames {
  /** DNS names of the subject alternative names and the common name, each once. */
  readonly dnsNames: readonly string[];
  /** There is a name of another kind: an address, an e-mail address, a URI. */
  readonly others: boolean;
}

/**
 * `request`: base64 of PEM, as `spec.request` of a CertificateRequest has it. Throws when it is not a PKCS #10 request
 * (RFC 2986), or may be read as more than one.
 */
export function requestedNames(request: string, meter: ElementMeter = {elements: 0}): RequestedNames {
  if (request.length > MAX_CHARACTERS) throw new Error(`more than ${MAX_CHARACTERS} characters`);
  const body = PEM.exec(strictBase64(request).toString('latin1'))?.[2];
  if (!body) throw new Error('not one PEM block CERTIFICATE REQUEST');
  const der = strictBase64(body);
  if (der.length > MAX_BYTES) throw new Error(`more than ${MAX_BYTES} bytes`);
  boundElements(der, meter);
  const {subject, attributes} = AsnConvert.parse(der, CertificationRequest).certificationRequestInfo;
  const dnsNames = new Set(subject.flat().flatMap(({type, value}) => (type === COMMON_NAME ? [`${value}`] : [])));
  let others = false;
  for (const {type, values} of attributes) {
    if (type !== EXTENSION_REQUEST) continue;
    for (const {extnID, extnValue} of values.flatMap(value => [...AsnConvert.parse(value, Extensions)])) {
      if (extnID !== id_ce_subjectAltName) continue;
      for (const {dNSName} of AsnConvert.parse(extnValue.buffer, SubjectAlternativeName)) {
        if (dNSName === undefined) others = true;
        else dnsNames.add(dNSName);
      }
    }
  }
  return {dnsNames: [...dnsNames], others};
}

/** Accepts only text that, apart from line breaks, is the canonical encoding. */
function strictBase64(text: string): Buffer {
  const joined = text.replace(/[\r\n]/g, '');
  const bytes = Buffer.from(joined, 'base64');
  if (bytes.toString('base64') !== joined) throw new Error('not the base64 of a PEM block');
  return bytes;
}
