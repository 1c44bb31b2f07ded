/** Reads request bodies: JSON of limited size. */
import {isUtf8} from 'node:buffer';
import {hash} from 'node:crypto';
import type {IncomingMessage} from 'node:http';
import {type Answer, problem} from './answer.ts';
import {CHUNK_BYTES, FINE_CHUNKS, onTooFine} from './chunks.ts';

/** A body as it is kept: only the members that the operation knows. */
export interface JsonBody {
  readonly value: unknown;
  /** How much memory `value` takes at most. */
  readonly heldBytes: number;
  /** The SHA-256 of the bytes, if it is needed. */
  readonly fingerprint: string | undefined;
}

/** What an operation accepts as its body. */
export interface BodyRules {
  readonly limitBytes: number;
  /** The names of the members to keep. */
  readonly members: readonly string[];
  /** An absent body counts as an empty object. */
  readonly orNone: boolean;
}

/**
 * The limits of a body's structure. Parsed, each value takes 100 bytes or more, whether it has a byte or three in JSON,
 * so without them, a body could take thirty times its length. They are far beyond what the operations need; the members
 * that an operation ignores may have some structure, too.
 */
const MAX_DEPTH = 32;
/** Opening brackets and commas. */
const MAX_PARTS = 256;

const EMPTY = Buffer.alloc(0);

/** Called before memory is used for a body. Each returns the response that rejects it, if any. */
export interface Admission {
  /** The headers are valid. `length` is theirs; undefined for a chunked body. */
  begin(length: number | undefined): Answer | undefined;
  /** More of a chunked body arrived: it takes `memory` bytes, and its chunks count as `work` bytes. */
  grow(memory: number, work: number): Answer | undefined;
}

/** `application/json` or a type with the suffix +json (RFC 6839); a charset, if named, is UTF-8. */
const JSON_TYPE = /^application\/(?:[a-z0-9!#$&^_.-]+\+)?json$/;
const CHARSET = /^charset="?utf-8"?$/;

/** How much of a rejected body is read, so that its sender sees the response before the connection closes. */
const DISCARD_BYTES = 1 << 20;
/** How long it is still read. */
const DISCARD_MS = 2000;
/** How long a closing connection stays half open (RFC 9112, section 9.6): a reset might overtake the response. */
const LINGER_MS = 1000;
const FIRST_BYTES = 4096;

/** Checks in the order of the contract: content type, size, limits, JSON. Undefined: the client is gone. */
export function readJsonBody(
  request: IncomingMessage,
  rules: BodyRules,
  admission: Admission,
): Answer | Promise<JsonBody | Answer | undefined> | JsonBody {
  if (rules.orNone && !hasBody(request)) {
    return admission.begin(0) ?? {value: {}, heldBytes: 0, fingerprint: undefined};
  }
  if (!isJson(request)) return wrongType();
  const length = lengthOf(request);
  if (length !== undefined && length > rules.limitBytes) return tooLarge(rules.limitBytes);
  return admission.begin(length) ?? readBytes(request, length, rules, admission);
}

function hasBody({headers}: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** For a request that is answered without its body: keeps reading for a while, then closes the connection. */
export function discardBody(request: IncomingMessage): void {
  if (request.readableEnded || request.destroyed) return;
  let bytes = 0;
  const cut = () => {
    clearTimeout(timer);
    request.removeAllListeners('data');
    request.pause();
    request.socket.end();
    setTimeout(() => request.destroy(), LINGER_MS);
  };
  const timer = setTimeout(cut, DISCARD_MS);
  request.once('close', () => clearTimeout(timer));
  request.removeAllListeners('data');
  request.on('data', (chunk: Buffer) => {
    bytes += Math.max(chunk.length, CHUNK_BYTES);
    if (bytes > DISCARD_BYTES) cut();
  });
}

function lengthOf({headers}: IncomingMessage): number | undefined {
  return headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : undefined;
}

function isJson({headers}: IncomingMessage): boolean {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') return false;
  const value = headers['content-type'];
  if (value === 'application/json') return true;
  const [type = '', ...parameters] = (value ?? '').toLowerCase().split(';');
  const charset = parameters.map(parameter => parameter.trim()).filter(parameter => parameter.startsWith('charset'));
  return JSON_TYPE.test(type.trim()) && charset.every(parameter => CHARSET.test(parameter));
}

function readBytes(
  request: IncomingMessage,
  length: number | undefined,
  {limitBytes, members}: BodyRules,
  admission: Admission,
): Promise<JsonBody | Answer | undefined> {
  const body = new BodyBuffer(length);
  const needsFingerprint = request.headers['idempotency-key'] !== undefined;
  let [counted, charged] = [0, 0];
  const charge = (memory: number): Answer | undefined => {
    if (memory === 0 && counted - charged < FIRST_BYTES) return undefined;
    const refused = admission.grow(memory, counted - charged);
    charged = counted;
    return refused;
  };
  const take = (chunk: Buffer): Answer | undefined => {
    counted += Math.max(chunk.length, length === undefined ? CHUNK_BYTES : 0);
    if (body.length + chunk.length > limitBytes) return tooLarge(limitBytes);
    const refused = length === undefined ? charge(body.growthFor(chunk)) : undefined;
    if (refused === undefined) body.add(chunk);
    return refused;
  };
  return new Promise(resolve => {
    request.read(0); // Node then passes chunks on as it parses them, and has nothing to discard after the response.
    request.on('data', (chunk: Buffer) => {
      const refused = take(chunk);
      if (refused === undefined) return;
      request.removeAllListeners('data');
      resolve(refused);
    });
    if (length === undefined) onTooFine(request, () => resolve(tooFine()));
    request.on('end', () => resolve(parse(body.take(), members, needsFingerprint)));
    request.on('close', () => resolve(undefined)); // Also after an error, which Node does not emit without a listener.
  });
}

/** One buffer for all chunks: one Buffer per chunk could cost many times its content. */
class BodyBuffer {
  readonly #expected: number | undefined;
  #buffer: Buffer = EMPTY;
  length = 0;

  /** `expected`: the final length, if known. */
  constructor(expected: number | undefined) {
    this.#expected = expected;
  }

  /** The whole body, which this no longer refers to: the request lives longer than its body may. */
  take(): Buffer {
    const buffer = this.#buffer;
    this.#buffer = EMPTY;
    return this.length === buffer.length ? buffer : buffer.subarray(0, this.length);
  }

  /** How many bytes the buffer would need to grow. */
  growthFor(chunk: Buffer): number {
    const needed = this.length + chunk.length;
    if (needed <= this.#buffer.length) return 0;
    const roomy = Math.max(FIRST_BYTES, needed, 2 * this.#buffer.length);
    return (
      (this.#expected === undefined ? roomy : Math.max(needed, Math.min(roomy, this.#expected))) - this.#buffer.length
    );
  }

  add(chunk: Buffer): void {
    if (this.length === 0 && chunk.length === this.#expected) {
      this.#buffer = chunk;
    } else {
      this.#grow(this.growthFor(chunk));
      chunk.copy(this.#buffer, this.length);
    }
    this.length += chunk.length;
  }

  #grow(bytes: number): void {
    if (bytes === 0) return;
    const larger = Buffer.allocUnsafeSlow(this.#buffer.length + bytes);
    this.#buffer.copy(larger, 0, 0, this.length);
    this.#buffer = larger;
  }
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

/** What of a body's structure is too much to be parsed, as a sentence. Whether it is JSON is decided later. */
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
  const detail = `The body has too many short chunks: after the first ${FINE_CHUNKS}, chunks must average at least ${CHUNK_BYTES} bytes. Send longer chunks.`;
  return problem(413, 'body_too_large', detail);
}
