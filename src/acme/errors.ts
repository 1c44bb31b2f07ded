/** The problem with which a CA refuses a request (RFC 7807), and the two ways in which a request to it fails. */

/** A refusal. Its texts quote strangers: the detail of a failed validation contains what the host answered. */
export interface Problem {
  /**
   * Without the prefix `urn:ietf:params:acme:error:`, as in `rateLimited` (RFC 8555, section 6.7). `about:blank` if
   * there was only a status code. Printable ASCII.
   */
  readonly type: string;
  /** Printable ASCII, at most 300 characters. */
  readonly detail: string;
}

/** The CA answered with a problem. */
export class AcmeError extends Error {
  override readonly name = 'AcmeError';
  readonly problem: Problem;
  /** Of HTTP. */
  readonly status: number;
  readonly retryAfterMs: number | undefined;

  constructor(problem: Problem, status: number, retryAfterMs: number | undefined) {
    super(`${problem.type}: ${problem.detail}`);
    this.problem = problem;
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }

  /** A server that fails may use any type, except for that of a limit. */
  get isOutage(): boolean {
    return this.status >= 500 && this.problem.type !== 'rateLimited';
  }

  /** Whether the CA has judged the request. Neither an outage nor a limit says anything about it. */
  get isVerdict(): boolean {
    return !this.isOutage && this.problem.type !== 'rateLimited';
  }
}

/** The CA gave no answer that can be used. It may have done what it was asked to do. */
export class CaUnreachable extends Error {
  override readonly name = 'CaUnreachable';
  readonly retryAfterMs: number | undefined;

  constructor(message: string, retryAfterMs?: number, cause?: unknown) {
    super(message, {cause});
    this.retryAfterMs = retryAfterMs;
  }
}

const PREFIX = 'urn:ietf:params:acme:error:';
const MAX_TEXT = 300;
const MAX_TYPE = 100;

/** A problem document, or `undefined` if the value is none of ACME's. */
export function problemOf(value: unknown): Problem | undefined {
  const {type, detail} = recordOf(value);
  if (typeof type !== 'string' || !type.startsWith(PREFIX)) return undefined;
  return {type: printableAscii(type.slice(PREFIX.length), MAX_TYPE), detail: printableAscii(detail)};
}

/** The members of a JSON object; none for anything else. */
export function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? {...value} : {};
}

/** A text that can be shown: printable ASCII, cut. Empty, if it is not text. */
export function printableAscii(text: unknown, length = MAX_TEXT): string {
  if (typeof text !== 'string') return '';
  const clean = text
    .slice(0, 2 * length)
    .replace(/[^\x21-\x7e]+/g, ' ')
    .trim();
  return clean.length <= length ? clean : `${clean.slice(0, length - 3)}...`;
}
