/** Reads request bodies: bounded, JSON, an object. */
import {isUtf8} from 'node:buffer';
import type {IncomingMessage} from 'node:http';
import {type Answer, problem} from './answer.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

export type JsonBody =
  | {readonly ok: true; readonly object: JsonObject; readonly raw: Buffer}
  | {readonly ok: false; readonly answer: Answer}
  /** The client has gone before the end of the body: there is nobody to answer. */
  | {readonly ok: false; readonly answer: undefined};

/** `application/json` or a type with the suffix +json (RFC 6839); a charset, if named, is UTF-8. */
const JSON_TYPE = /^application\/(?:[a-z0-9!#$&^_.-]+\+)?json$/;
const CHARSET = /^charset="?utf-8"?$/;

/** How much of a body that nobody wants is read on, so that its sender sees the answer, before the connection is cut. */
const DISCARD_BYTES = 1 << 20;

/** In the order of the contract: content type, size, JSON. `beforeReading` runs when the headers have been found good. */
export async function readJsonBody(
  request: IncomingMessage,
  limitBytes: number,
  beforeReading: () => void,
): Promise<JsonBody> {
  if (!isJson(request)) return {ok: false, answer: wrongType()};
  if (Number(request.headers['content-length'] ?? 0) > limitBytes) return {ok: false, answer: tooLarge(limitBytes)};
  beforeReading();
  const raw = await readBytes(request, limitBytes);
  if (raw === 'aborted') return {ok: false, answer: undefined};
  if (raw === 'too-large') return {ok: false, answer: tooLarge(limitBytes)};
  return parseObject(raw);
}

export function hasBody({headers}: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** How long a connection that is cut stays half open (RFC 9112, section 9.6): a reset at once might overtake the answer. */
const LINGER_MS = 1000;

/** For a request that is answered without its body: reads on for a while, then cuts the connection. */
export function discardBody(request: IncomingMessage): void {
  if (request.readableEnded) return;
  let bytes = 0;
  request.removeAllListeners('data');
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= DISCARD_BYTES) return;
    request.removeAllListeners('data');
    request.pause();
    request.socket.end();
    setTimeout(() => request.destroy(), LINGER_MS);
  });
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

function readBytes(request: IncomingMessage, limitBytes: number): Promise<Buffer | 'too-large' | 'aborted'> {
  const chunks: Buffer[] = [];
  let length = 0;
  return new Promise(resolve => {
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length <= limitBytes) {
        chunks.push(chunk);
        return;
      }
      chunks.length = 0;
      resolve('too-large');
    });
    request.on('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
    request.on('error', () => resolve('aborted'));
    request.on('close', () => resolve('aborted'));
  });
}

function parseObject(raw: Buffer): JsonBody {
  if (!isUtf8(raw)) return {ok: false, answer: invalidJson('The body is not valid UTF-8.')};
  let value: unknown;
  try {
    value = JSON.parse(raw.toString('utf8'));
  } catch {
    return {ok: false, answer: invalidJson('The body is not valid JSON.')};
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return {ok: false, answer: invalidJson('The body must be a JSON object.')};
  }
  return {ok: true, object: value as JsonObject, raw};
}

function wrongType(): Answer {
  return problem(400, 'unsupported_content_type', 'Send JSON in UTF-8, as Content-Type: application/json.', {
    errors: [{detail: 'must be application/json, without Content-Encoding', header: 'Content-Type'}],
  });
}

function invalidJson(detail: string): Answer {
  return problem(400, 'invalid_json', detail, {errors: [{detail, pointer: '#'}]});
}

function tooLarge(limitBytes: number): Answer {
  return problem(413, 'body_too_large', `The body may have at most ${limitBytes} bytes.`);
}
