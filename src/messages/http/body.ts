/** Reads request bodies: JSON of limited size. */
import {isUtf8} from 'node:buffer';
import {hash} from 'node:crypto';
import type {IncomingMessage} from 'node:http';
import {type Answer, problem} from './answer.ts';

/** A body as it is kept: only the members that the operation knows. */
export interface JsonBody {
  readonly value: unknown;
  /** How much memory `value` takes at most. */
  readonly heldBytes: number;
  /** The SHA-256 of the bytes, if it is needed. */
  readonly fingerprint: string | undefined;
}

/** The rules of an operation for its body. */
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

/** The resources that a body may take. */
export interface Admission {
  /**
   * Called before anything is read. `length` is that of the headers; undefined for a chunked body, which may take
   * `limitBytes`. Returns the response that rejects the body, if any.
   */
  begin(length: number | undefined, limitBytes: number): Answer | undefined;
  /** A chunked body has taken as much work as one with this many bytes. */
  worked(bytes: number): void;
}

/** `application/json` or a type with the suffix +json (RFC 6839); a charset, if named, is UTF-8. */
const JSON_TYPE = /^application\/(?:[a-z0-9!#$&^_.-]+\+)?json$/;
/** RFC 9110, section 5.6.6. */
const PARAMETER = /;\s*(?<name>[^\s=;"]+)=(?:"(?<quoted>(?:[^"\\]|\\.)*)"|(?<plain>[^\s;"]*))/g;

/** The minimum that a chunk counts as, in bytes: a shorter one costs the parser about as much. */
const CHUNK_BYTES = 64;
/** How much chunks may count as, in addition to the limit of the body: enough for 1,024 chunks of one byte. */
const FINE_BYTES = 1024 * CHUNK_BYTES;
/** The longest rejected body whose connection stays open, if it arrives together with its headers. */
const DROPPED_BYTES = 16_384;

/** Checks in the order of the contract: content type, size, limits, JSON. Undefined: the client is gone. */
export function readJsonBody(
  request: IncomingMessage,
  rules: BodyRules,
  admission: Admission,
): Answer | Promise<JsonBody | Answer | undefined> | JsonBody {
  if (rules.orNone && !hasBody(request)) {
    return admission.begin(0, 0) ?? {value: {}, heldBytes: 0, fingerprint: undefined};
  }
  if (!isJson(request)) return wrongType();
  const length = lengthOf(request);
  if (length !== undefined && length > rules.limitBytes) return tooLarge(rules.limitBytes);
  return admission.begin(length, rules.limitBytes) ?? readBytes(request, length, rules, admission);
}

export function hasBody({headers}: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/**
 * For a request whose body is not needed: drops a short one. False: the body is too long to wait for, so the connection
 * must be closed.
 */
export function dropBody(request: IncomingMessage): boolean {
  if (!hasBody(request)) return true;
  if ((lengthOf(request) ?? Number.POSITIVE_INFINITY) > DROPPED_BYTES) return false;
  request.resume();
  return true;
}

function lengthOf({headers}: IncomingMessage): number | undefined {
  return headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : undefined;
}

function isJson({headers}: IncomingMessage): boolean {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') return false;
  const value = headers['content-type'] ?? '';
  if (value === 'application/json') return true;
  const [type = ''] = value.split(';', 1);
  if (!JSON_TYPE.test(type.trim().toLowerCase())) return false;
  for (const {groups} of value.matchAll(PARAMETER)) {
    const {name = '', quoted, plain = ''} = groups ?? {};
    if (name.toLowerCase() === 'charset' && (quoted ?? plain).toLowerCase() !== 'utf-8') return false;
  }
  return true;
}

function readBytes(
  request: IncomingMessage,
  length: number | undefined,
  {limitBytes, members}: BodyRules,
  admission: Admission,
): Promise<JsonBody | Answer | undefined> {
  const needsFingerprint = request.headers['idempotency-key'] !== undefined;
  let body: Buffer = EMPTY;
  let [filled, work] = [0, 0];
  const take = (chunk: Buffer): Answer | undefined => {
    const total = filled + chunk.length;
    if (total > limitBytes) return tooLarge(limitBytes);
    if (length === undefined && work > limitBytes + FINE_BYTES) return tooFine();
    if (filled === 0 && (length === undefined || chunk.length === length)) {
      body = chunk; // Most bodies have only one.
    } else {
      body = withRoom(body, filled, length ?? limitBytes);
      chunk.copy(body, filled);
    }
    filled = total;
    return undefined;
  };
  return new Promise(resolve => {
    let isRefused = false;
    request.read(0); // Node then passes chunks on as it parses them.
    request.on('data', (chunk: Buffer) => {
      work += Math.max(chunk.length, CHUNK_BYTES);
      const refused = isRefused ? undefined : take(chunk);
      if (refused === undefined) return;
      isRefused = true;
      body = EMPTY;
      setImmediate(() => admission.worked(work)); // Until then, the parser passes on what was read at the same time.
      resolve(refused);
    });
    request.on('end', () => {
      if (isRefused) return;
      if (length === undefined) admission.worked(work);
      const whole = filled === body.length ? body : body.subarray(0, filled);
      body = EMPTY; // The request lives longer than its body may.
      resolve(parse(whole, members, needsFingerprint));
    });
    request.on('close', () => resolve(undefined)); // Also after an error, which Node does not emit without a listener.
  });
}

/** One buffer for all chunks: one Buffer per chunk could cost many times its content. */
function withRoom(body: Buffer, filled: number, bytes: number): Buffer {
  if (body.length === bytes) return body;
  const larger = Buffer.allocUnsafeSlow(bytes);
  body.copy(larger, 0, 0, filled);
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
    `The body has too many short chunks. Send chunks of at least ${CHUNK_BYTES} bytes.`,
  );
}
