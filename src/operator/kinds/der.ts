/** Counts the elements that a decoder of ASN.1 (X.690) must go through, without building anything. */

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
