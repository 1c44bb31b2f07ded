/** Every name in a certificate signing request, regardless of the Certificate that it was created from. */
import {CertificationRequest} from '@peculiar/asn1-csr';
import {AsnConvert} from '@peculiar/asn1-schema';
import {Extensions, id_ce_subjectAltName, SubjectAlternativeName} from '@peculiar/asn1-x509';

const EXTENSION_REQUEST = '1.2.840.113549.1.9.14';
const COMMON_NAME = '2.5.4.3';
/** The abbreviations of RFC 4514 and OpenSSL, for messages. */
const ATTRIBUTES: Readonly<Record<string, string>> = {
  '2.5.4.5': 'serialNumber',
  '2.5.4.6': 'C',
  '2.5.4.7': 'L',
  '2.5.4.8': 'ST',
  '2.5.4.9': 'street',
  '2.5.4.10': 'O',
  '2.5.4.11': 'OU',
  '2.5.4.17': 'postalCode',
  '1.2.840.113549.1.9.1': 'emailAddress',
};
/** A host that is valid in DNS and in a URL, in any case, or a wildcard for one label. */
const HOST = /^(?=.{1,253}$)(\*\.)?[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/i;
const MAX_OID = 64;
const MAX_BYTES = 16_384;
/** Base64 of base64 takes 16 characters for 9 bytes; the rest is for line breaks. */
export const MAX_CHARACTERS = 2 * MAX_BYTES;
/**
 * One block and nothing else. If there are several, or one is not strict, Go's decoder may read a different one than we
 * do.
 */
const PEM = /^-----BEGIN ((?:NEW )?CERTIFICATE REQUEST)-----\n([A-Za-z0-9+/=\n]+)\n-----END \1-----\n?$/;

export interface RequestedNames {
  /** The hosts among the subject alternative names and common names, each once. */
  readonly dnsNames: readonly string[];
  /** Another name is present: an address, an e-mail address, a URI, or text that cannot be a host. */
  readonly others: boolean;
  /** The first attribute of the subject that is not a common name. Most issuers sign the subject unchanged. */
  readonly attribute?: string;
}

/**
 * `request`: base64 of PEM, as in `spec.request` of a CertificateRequest. Throws if it is not a PKCS #10 request (RFC
 * 2986), or could be read as several.
 */
export function requestedNames(request: string, meter: ElementMeter = {elements: 0}): RequestedNames {
  if (request.length > MAX_CHARACTERS) throw new Error(`more than ${MAX_CHARACTERS} characters`);
  const body = PEM.exec(strictBase64(request).toString('latin1'))?.[2];
  if (!body) throw new Error('not one PEM block CERTIFICATE REQUEST');
  const der = strictBase64(body);
  if (der.length > MAX_BYTES) throw new Error(`more than ${MAX_BYTES} bytes`);
  boundElements(der, meter);
  const {subject, attributes} = AsnConvert.parse(der, CertificationRequest).certificationRequestInfo;
  const names: (string | undefined)[] = [];
  let attribute: string | undefined;
  for (const {type, value} of subject.flat()) {
    if (type === COMMON_NAME) names.push(`${value}`);
    else attribute ??= ATTRIBUTES[type] ?? type.slice(0, MAX_OID);
  }
  for (const {type, values} of attributes) {
    if (type !== EXTENSION_REQUEST) continue;
    for (const {extnID, extnValue} of values.flatMap(value => [...AsnConvert.parse(value, Extensions)])) {
      if (extnID !== id_ce_subjectAltName) continue;
      for (const {dNSName} of AsnConvert.parse(extnValue.buffer, SubjectAlternativeName)) names.push(dNSName);
    }
  }
  const hosts = names.filter(name => name !== undefined && HOST.test(name)) as string[];
  const others = hosts.length < names.length;
  return {dnsNames: [...new Set(hosts)], others, ...(attribute !== undefined && {attribute})};
}

/** Accepts only text that, apart from line breaks, is the canonical encoding. */
function strictBase64(text: string): Buffer {
  const joined = text.replace(/[\r\n]/g, '');
  const bytes = Buffer.from(joined, 'base64');
  if (bytes.toString('base64') !== joined) throw new Error('not the base64 of a PEM block');
  return bytes;
}

/**
 * A request for one host has about 40 elements, including the parts of its key and signature that parse as elements.
 */
export const MAX_ELEMENTS = 512;
const MAX_DEPTH = 32;
const BIT_STRING = 3;
const OCTET_STRING = 4;
const CONSTRUCTED = 0x20;
const LONG_TAG = 0x1f;
const INDEFINITE = 0x80;

/** Counts the elements that were read. */
export interface ElementMeter {
  elements: number;
}

interface Span {
  readonly start: number;
  readonly end: number;
}

/**
 * Throws if there are more elements, or deeper nesting, than any request has. Decoders try to parse the contents of
 * byte strings, so those count too. Malformed input is left to the decoder, which also stops there.
 */
export function boundElements(bytes: Uint8Array, meter: ElementMeter): void {
  walk(bytes, {start: 0, end: bytes.length}, 0, meter);
}

function walk(bytes: Uint8Array, {start, end}: Span, depth: number, meter: ElementMeter): void {
  if (depth > MAX_DEPTH) throw new Error(`more than ${MAX_DEPTH} nested elements`);
  for (let at = start; at < end; ) {
    if (++meter.elements > MAX_ELEMENTS) throw new Error(`more than ${MAX_ELEMENTS} elements`);
    const content = contentAt(bytes, {start: at, end});
    if (!content) return;
    const tag = bytes[at] ?? 0;
    if ((tag & CONSTRUCTED) !== 0 || tag === OCTET_STRING) walk(bytes, content, depth + 1, meter);
    if (tag === BIT_STRING) walk(bytes, {...content, start: content.start + 1}, depth + 1, meter);
    at = content.end;
  }
}

/**
 * The content of the element at the start; undefined if it does not fit. With an indefinite length, it is everything
 * that follows.
 */
function contentAt(bytes: Uint8Array, {start, end}: Span): Span | undefined {
  let at = start + 1;
  if (((bytes[start] ?? 0) & LONG_TAG) === LONG_TAG) while (at < end && (bytes[at++] ?? 0) >= 0x80);
  if (at >= end) return undefined;
  const first = bytes[at++] ?? 0;
  if (first === INDEFINITE) return {start: at, end};
  const size = first > INDEFINITE ? first - INDEFINITE : 0;
  const length = size === 0 ? first : bytes.subarray(at, at + size).reduce((sum, byte) => sum * 256 + byte, 0);
  const content = {start: at + size, end: at + size + length};
  return content.end <= end ? content : undefined;
}
