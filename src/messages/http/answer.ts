/** Responses: a status, headers, and JSON. Errors are problem details (RFC 9457). */
import {STATUS_CODES} from 'node:http';

export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly contentType: 'application/json' | 'application/problem+json';
  readonly body: object;
  /** The body as JSON, if that is known already. */
  readonly text?: string;
  /**
   * Only of a long one: about how many bytes it has. Serializing and sending it keeps the event loop busy, so it needs
   * its account's turn; see Pacer.
   */
  readonly longBytes?: number;
  /** It rejects a request over a rate limit, and may be held back. */
  readonly isHeldBack?: boolean;
}

/** Every `code` of a problem. Clients distinguish errors by it. Part of the contract; see openapi.ts. */
export const PROBLEM_CODES = [
  'unauthorized',
  'insufficient_scope',
  'unsupported_content_type',
  'body_too_large',
  'invalid_json',
  'message_required',
  'invalid_parameter',
  'invalid_idempotency_key',
  'idempotency_key_reused',
  'message_not_found',
  'lease_lost',
  'rate_limited',
  'concurrency_limited',
  'quota_exceeded',
  'store_full',
  'store_busy',
  'unavailable',
  'outcome_unknown',
  'not_found',
  'method_not_allowed',
  'malformed_request',
  'request_timeout',
  'headers_too_large',
  'uri_too_long',
  'unsupported_transfer_coding',
  'internal_error',
] as const;
export type ProblemCode = (typeof PROBLEM_CODES)[number];

/** Where the fault is: a JSON pointer into the body, a query parameter, or a header. */
export interface Fault {
  readonly detail: string;
  readonly pointer?: string;
  readonly parameter?: string;
  readonly header?: string;
}

interface ProblemOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly errors?: readonly Fault[];
}

export function json(status: number, body: object, headers?: Readonly<Record<string, string>>): Answer {
  return {status, contentType: 'application/json', body, ...(headers && {headers})};
}

/** `detail` says in a sentence what is wrong and what to do. It never quotes the request. */
export function problem(status: number, code: ProblemCode, detail: string, options: ProblemOptions = {}): Answer {
  const {headers, errors} = options;
  const body = {title: STATUS_CODES[status] ?? 'Error', status, code, detail, ...(errors && {errors})};
  return {status, contentType: 'application/problem+json', body, ...(headers && {headers})};
}

export function isProblem({contentType}: Answer): boolean {
  return contentType === 'application/problem+json';
}
