/** Reads request bodies: JSON of limited size. */
import {isUtf8} from 'node:buffer';
import {hash} from 'node:crypto';
import type {IncomingMessage} from 'node:http';
import {MIMEType} from 'node:util';
import {type Answer, problem} from './answer.ts';

/** A body as it is kept: only the members that the operation knows. */
export interface JsonBody {
  readonly value: unknown;
  /** How much memory `value` takes at most. */
  readonly heldBytes: number;
  /** The SHA-256 of the bytes, if it is needed. */
  readonly fingerprint: string | undefined;
}

/**
 * Limits on a body's structure. Once parsed, each value takes 100 bytes or more, even if it has one to three bytes in
 * JSON, so without limits, a body could take thirty times its length. They are far beyond what the operations need; the
 * members that an operation ignores may have some structure, too.
 */
const MAX_DEPTH = 32;
/** Opening brackets and commas. */
const MAX_PARTS = 256;

/** `application/json` or a type with the suffix +json (RFC 6839). */
const JSON_TYPE = /^application\/(?:.+\+)?json$/;
/** Several times what any client sends. To trim white space, Node takes time in the square of its length. */
const MAX_CONTENT_TYPE = 256;

/** The minimum that a chunk counts as, in bytes: a shorter one costs the parser about as much. */
const CHUNK_BYTES = 64;
/** How much chunks may count as, in addition to the limit of the body: enough for 1,024 chunks of one byte. */
const FINE_BYTES = 1024 * CHUNK_BYTES;
/** The longest rejected body whose connection stays open, if it arrives together with its headers. */
const DROPPED_BYTES = 16_384;

/** The length of a body, by its headers, or `limitBytes` if it is chunked; or the response that rejects it. */
export function announcedBytes(request: IncomingMessage, limitBytes: number): number | Answer {
  if (!isJson(request)) return wrongType();
  if (isChunked(request)) return limitBytes;
  const length = lengthOf(request);
  return length > limitBytes ? tooLarge(limitBytes) : length;
}

export function hasBody(request: IncomingMessage): boolean {
  return lengthOf(request) > 0;
}

export function isChunked({headers}: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined;
}

/**
 * For a request whose body is not needed: drops a short one. False: the body is too long to wait for, so the connection
 * must be closed.
 */
export function dropBody(request: IncomingMessage): boolean {
  const length = lengthOf(request);
  if (length > 0 && length <= DROPPED_BYTES) request.resume();
  return length <= DROPPED_BYTES;
}

function lengthOf(request: IncomingMessage): number {
  return isChunked(request) ? Number.POSITIVE_INFINITY : Number(request.headers['content-length'] ?? 0);
}

/** A charset, if named, is UTF-8. */
function isJson({headers}: IncomingMessage): boolean {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') return false;
  const value = headers['content-type'] ?? '';
  if (value === 'application/json') return true;
  if (value.length > MAX_CONTENT_TYPE) return false;
  try {
    const {essence, params} = new MIMEType(value);
    return JSON_TYPE.test(essence) && (params.get('charset') ?? 'utf-8').toLowerCase() === 'utf-8';
  } catch {
    return false;
  }
}

/**
 * Reads a body of at most `bytes`, as announced. Undefined: the client is gone. `worked` is told how many bytes would
 * have taken as much work as a chunked body did: once, even if the body never ends.
 */
export function readJsonBody(
  request: IncomingMessage,
  bytes: number,
  members: readonly string[],
  worked: (bytes: number) => void,
): Promise<JsonBody | Answer | undefined> {
  const needsFingerprint = request.headers['idempotency-key'] !== undefined;
  const chunked = isChunked(request);
  const {socket} = request;
  const readBefore = socket.bytesRead;
  let body: Buffer | undefined;
  let [filled, work] = [0, 0];
  // The parser also reads the extensions of chunks, of which each may have 16 KiB.
  const spent = () => Math.max(work, socket.bytesRead - readBefore);
  return new Promise(resolve => {
    let isOver = false;
    request.read(0); // Node then passes chunks on as it parses them.
    request.on('data', (chunk: Buffer) => {
      work += Math.max(chunk.length, CHUNK_BYTES);
      if (isOver) return;
      const isFine = chunked && spent() > bytes + FINE_BYTES;
      if (filled + chunk.length <= bytes && !isFine) {
        if (body === undefined)
          body = chunk; // Most bodies have only one.
        else {
          if (body.length < bytes) body = withRoom(body, bytes);
          chunk.copy(body, filled);
        }
        filled += chunk.length;
        return;
      }
      isOver = true;
      body = undefined;
      setImmediate(() => worked(spent())); // Until then, the parser passes on what was read at the same time.
      resolve(isFine ? tooFine() : tooLarge(bytes));
    });
    request.on('end', () => {
      if (isOver) return;
      isOver = true;
      if (chunked) worked(spent());
      const whole = body?.subarray(0, filled) ?? Buffer.alloc(0);
      body = undefined; // The request lives longer than its body may.
      resolve(parse(whole, members, needsFingerprint));
    });
    // Also after an error, which Node does not emit without a listener.
    request.on('close', () => {
      if (!isOver && chunked) worked(spent());
      resolve(undefined);
    });
  });
}

/** One buffer for all chunks: one Buffer per chunk could cost many times its content. */
function withRoom(chunk: Buffer, bytes: number): Buffer {
  const larger = Buffer.allocUnsafeSlow(bytes);
  chunk.copy(larger);
  return larger;
}

function parse(raw: Buffer, members: readonly string[], needsFingerprint: boolean): JsonBody | Answer {
  const excess = excessOf(raw);
  if (excess !== undefined) return invalidJson(excess);
  const text = raw.toString('utf8');
  // Decoding replaces what is not UTF-8, and hardly any text contains the replacement itself.
  if (text.includes('\ufffd') && !isUtf8(raw)) return invalidJson('The body is not valid UTF-8.');
  const fingerprint = needsFingerprint ? hash('sha256', raw, 'base64url') : undefined;
  try {
    return {...known(JSON.parse(text), members), fingerprint};
  } catch {
    return invalidJson('The body is not valid JSON.');
  }
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const OPENING: ReadonlySet<number> = new Set([0x5b, 0x7b]);
const CLOSING: ReadonlySet<number> = new Set([0x5d, 0x7d]);

/** Why a body has too much structure to be parsed, as a sentence. Whether it is JSON is decided later. */
function excessOf(raw: Buffer): string | undefined {
  let [depth, parts, isString] = [0, 0, false];
  for (let at = 0; at < raw.length; at++) {
    const byte = raw[at] as number;
    if (isString) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) isString = false;
    } else if (byte === QUOTE) {
      isString = true;
    } else if (OPENING.has(byte)) {
      parts += 1;
      depth += 1;
      if (depth > MAX_DEPTH) return `The body is nested too deeply. Nest at most ${MAX_DEPTH} objects and arrays.`;
    } else if (CLOSING.has(byte)) {
      depth -= 1;
    } else if (byte === COMMA) {
      parts += 1;
    }
    if (parts > MAX_PARTS) return `The body has too many parts. Opening brackets and commas may number ${MAX_PARTS}.`;
  }
  return undefined;
}

/** The members with these names, of an object. Other values are returned as they are, for the schema to reject. */
function known(value: unknown, members: readonly string[]): Omit<JsonBody, 'fingerprint'> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return {value, heldBytes: 0};
  const kept: Record<string, unknown> = {};
  let heldBytes = 0;
  for (const name of members) {
    if (!Object.hasOwn(value, name)) continue;
    const member = (value as Record<string, unknown>)[name];
    kept[name] = member;
    if (typeof member === 'string') heldBytes += stringBytes(member);
  }
  return {value: kept, heldBytes};
}

/** V8 stores a string with two bytes per character as soon as one of them is not in Latin-1. */
function stringBytes(text: string): number {
  return BEYOND_LATIN1.test(text) ? 2 * text.length : text.length;
}

const BEYOND_LATIN1 = /[^\0-\xff]/;

function wrongType(): Answer {
  return problem(400, 'unsupported_content_type', 'Send JSON in UTF-8 with Content-Type: application/json.', {
    errors: [{detail: 'must be application/json, without Content-Encoding', header: 'Content-Type'}],
  });
}

function invalidJson(detail: string): Answer {
  return problem(400, 'invalid_json', detail, {errors: [{detail, pointer: '#'}]});
}

function tooLarge(limitBytes: number): Answer {
  return problem(413, 'body_too_large', `The body is too large. Send at most ${limitBytes} bytes.`);
}

function tooFine(): Answer {
  return problem(
    413,
    'body_too_large',
    `The body has too many short chunks, or extensions of chunks. Send chunks of at least ${CHUNK_BYTES} bytes, without extensions.`,
  );
}
