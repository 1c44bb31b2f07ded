/** The most expensive certificate requests of 16 KiB to read, for the unit tests, the fuzzer, and the bench. */

const SEQUENCE = 0x30;
const SET = 0x31;
const OID = 6;
const OCTET_STRING = 4;
const BIT_STRING = 3;
const EXTENSION_REQUEST = [42, 0x86, 0x48, 0x86, 0xf7, 13, 1, 9, 14];
const SUBJECT_ALTERNATIVE_NAME = [85, 29, 17];
const COMMON_NAME = [85, 4, 3];
/** Bytes for the attack; the envelope is small. */
const ROOM = 15_700;
const NULL = [5, 0];

function tlv(tag: number, content: readonly number[]): number[] {
  const {length} = content;
  const header = length < 0x80 ? [length] : [0x82, length >> 8, length & 0xff];
  return [tag, ...header, ...content];
}

function repeated(element: readonly number[], room = ROOM): number[] {
  return Array.from({length: Math.floor(room / element.length)}, () => element).flat();
}

function nested(depth: number, element: (content: readonly number[]) => number[]): number[] {
  let content: number[] = [];
  for (let n = 0; n < depth; n++) content = element(content);
  return content;
}

/** Base64 of PEM, as in `spec.request` of a CertificateRequest. */
export function pemOf(der: Uint8Array): string {
  const body = Buffer.from(der).toString('base64');
  return Buffer.from(`-----BEGIN CERTIFICATE REQUEST-----\n${body}\n-----END CERTIFICATE REQUEST-----\n`).toString(
    'base64',
  );
}

function requestOf({subject = [], attributes = []}: {subject?: number[]; attributes?: number[]}): Uint8Array {
  const algorithm = tlv(SEQUENCE, [...tlv(OID, [42, 3, 4]), ...NULL]);
  const key = tlv(SEQUENCE, [...algorithm, ...tlv(BIT_STRING, [0, 1, 2, 3])]);
  const info = tlv(SEQUENCE, [2, 1, 0, ...tlv(SEQUENCE, subject), ...key, ...tlv(0xa0, attributes)]);
  return Uint8Array.from(tlv(SEQUENCE, [...info, ...algorithm, ...tlv(BIT_STRING, [0, 1, 2, 3])]));
}

function attribute(type: readonly number[], value: readonly number[]): number[] {
  return tlv(SEQUENCE, [...tlv(OID, type), ...tlv(SET, value)]);
}

function extension(value: readonly number[]): number[] {
  return tlv(SEQUENCE, [...tlv(OID, SUBJECT_ALTERNATIVE_NAME), ...tlv(OCTET_STRING, value)]);
}

function asking(extensions: readonly number[]): Uint8Array {
  return requestOf({attributes: attribute(EXTENSION_REQUEST, tlv(SEQUENCE, extensions))});
}

/** One DNS name, with any characters of Latin-1. */
export function requestFor(name: string): Uint8Array {
  return asking(extension(tlv(SEQUENCE, tlv(0x82, [...Buffer.from(name, 'latin1')]))));
}

/** Requests with more elements or deeper nesting than any honest one. */
export const hostileRequests: Readonly<Record<string, Uint8Array>> = {
  names: asking(extension(tlv(SEQUENCE, repeated(tlv(0x82, [97]))))),
  'names within a sequence of indefinite length': asking(
    extension([SEQUENCE, 0x80, ...repeated(tlv(0x82, [97])), 0, 0]),
  ),
  'names after a tag of two bytes': asking(extension([0x9f, 0x81, 1, 0, ...tlv(SEQUENCE, repeated(tlv(0x82, [97])))])),
  'extensions of names': asking(repeated(extension(tlv(SEQUENCE, [])))),
  'attributes of extensions': requestOf({attributes: repeated(attribute(EXTENSION_REQUEST, tlv(SEQUENCE, [])))}),
  'common names': requestOf({
    subject: repeated(tlv(SET, tlv(SEQUENCE, [...tlv(OID, COMMON_NAME), ...tlv(12, [97])]))),
  }),
  'values of an attribute': requestOf({attributes: attribute([42], repeated(NULL))}),
  'nested sequences': requestOf({
    attributes: attribute(
      [42],
      nested(3500, each => tlv(SEQUENCE, each)),
    ),
  }),
  'nested byte strings': requestOf({
    attributes: attribute(
      [42],
      nested(3500, each => tlv(OCTET_STRING, each)),
    ),
  }),
  'nested bit strings': requestOf({
    attributes: attribute(
      [42],
      nested(2800, each => tlv(BIT_STRING, [0, ...each])),
    ),
  }),
};
