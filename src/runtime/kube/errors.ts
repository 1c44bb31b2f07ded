import {DeadlineError} from '../../time/deadline.ts';

/** The body of a failed call. https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/ */
export interface ApiStatus {
  readonly kind?: string;
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: {
    /** Of the object that the call was about. */
    readonly name?: string;
    readonly causes?: readonly object[];
    readonly retryAfterSeconds?: number;
    readonly uid?: string;
  };
}

/** A proxy that requests a pause of a day must not stop us for a day. */
const MAX_RETRY_AFTER_MS = 300_000;

/** The API server rejected the call. `call` is for people: "PUT /api/v1/namespaces/a/secrets/b". */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** The HTTP status, or the code in an ERROR event of a watch. */
  readonly status: number;
  /** Machine-readable, CamelCase: NotFound, AlreadyExists, Conflict, Invalid, Expired, TooManyRequests, ... */
  readonly reason: string;
  /** The server's complaints about fields, for the log. */
  readonly causes: readonly object[];
  /** The name of the object that the call was about, if the server said so: not if a whole kind is missing. */
  readonly object: string | undefined;
  /** The pause that the server requested, at most five minutes. */
  readonly retryAfterMs: number | undefined;

  constructor(call: string, status: number, body: ApiStatus, retryAfterMs?: number) {
    super(`${call}: ${[status, body.reason].filter(Boolean).join(' ')}: ${body.message ?? 'no message'}`);
    this.status = status;
    this.reason = body.reason ?? '';
    this.causes = body.details?.causes ?? [];
    this.object = body.details?.name;
    const seconds = body.details?.retryAfterSeconds;
    const asked = retryAfterMs ?? (seconds === undefined ? undefined : seconds * 1000);
    this.retryAfterMs = asked === undefined ? undefined : Math.min(asked, MAX_RETRY_AFTER_MS);
  }

  /** The same error for logs, if the server may have quoted a secret. */
  redacted(redact: (message: string) => string): ApiError {
    const details = this.object === undefined ? {} : {details: {name: this.object}};
    const copy = new ApiError('', this.status, {reason: this.reason, ...details}, this.retryAfterMs);
    copy.message = redact(this.message);
    return copy;
  }
}

/** There was no usable response: refused, reset, timed out, cut short. Whether a write took effect is unknown. */
export class TransportError extends Error {
  override readonly name = 'TransportError';

  constructor(call: string, cause: unknown) {
    super(`${call}: ${cause instanceof Error ? cause.message : String(cause)}`, {cause});
  }
}

/** The response was longer than the caller wanted to read. */
export class TooLargeError extends Error {
  override readonly name = 'TooLargeError';

  constructor(maxBytes: number) {
    super(`the response is longer than ${maxBytes} bytes`);
  }
}

/** The cache is older than what this program itself has written, so a reconcile must not act on it. */
export class StaleCacheError extends Error {
  override readonly name = 'StaleCacheError';

  constructor(writes: readonly string[]) {
    super(`the cache does not yet show our own writes: ${writes.join(', ')}`);
  }
}

/** The write was not sent: this process does not hold the lease. */
export class FencedError extends Error {
  override readonly name = 'FencedError';

  constructor(call: string) {
    super(`${call}: refused, this process may not write now (not the leader)`);
  }
}

/**
 * Whom a failure concerns, which determines what to do about it:
 * - `refusal`: the object. Report it there, and retry; somebody has to change something.
 * - `outage`: the API server, our token, or the connection, perhaps that of a watch. Retry; the object has nothing to do
 *   with it.
 * - `race`: somebody else changed or deleted the object first. Decide again based on what the server has now.
 * - `fenced`: the write was not sent.
 * - `unknown`: no call. A mistake in the program, or a caller that stopped waiting.
 */
export type FailureKind = (typeof FAILURE_KINDS)[number];
export const FAILURE_KINDS = ['refusal', 'outage', 'race', 'fenced', 'unknown'] as const;

/** A denying webhook chooses its own code; one that is down causes a 500. */
const WEBHOOK = /admission webhook "[^"]*" denied|failed calling webhook "/;
/** Client errors that may not affect the next attempt. */
const TEMPORARY: ReadonlySet<number> = new Set([401, 408, 429]);

const OUTAGES = [TransportError, DeadlineError, StaleCacheError];

/** Every decision between reporting a failure and only retrying it is made here. */
export function classifyFailure(error: unknown): FailureKind {
  if (error instanceof FencedError) return 'fenced';
  if (OUTAGES.some(type => error instanceof type)) return 'outage';
  if (!(error instanceof ApiError)) return 'unknown';
  if (WEBHOOK.test(error.message)) return 'refusal';
  if (error.status === 409 || isGone(error)) return 'race';
  const isRefusal = error.status >= 400 && error.status < 500 && !TEMPORARY.has(error.status);
  return isRefusal ? 'refusal' : 'outage';
}

/** The object does not exist, or for a list, the kind. */
export function isNotFound(error: unknown): error is ApiError & {readonly status: 404} {
  return error instanceof ApiError && error.status === 404;
}

/** The object, or the namespace of a new one, was deleted before the call. Without a name, the kind is missing. */
function isGone(error: unknown): boolean {
  return isNotFound(error) && error.object !== undefined;
}

export function isAlreadyExists(error: unknown): error is ApiError & {readonly status: 409} {
  return error instanceof ApiError && error.status === 409 && error.reason === 'AlreadyExists';
}

/** Somebody else wrote first (resourceVersion), or the precondition of a delete is not met. */
export function isConflict(error: unknown): error is ApiError & {readonly status: 409} {
  return error instanceof ApiError && error.status === 409 && error.reason !== 'AlreadyExists';
}

/** The schema, a CEL rule, or admission rejected it. Retrying the same request cannot help. */
export function isInvalid(error: unknown): error is ApiError & {readonly status: 400 | 422} {
  return error instanceof ApiError && (error.status === 422 || error.status === 400);
}

export function isForbidden(error: unknown): error is ApiError & {readonly status: 403} {
  return error instanceof ApiError && error.status === 403;
}

/** The resourceVersion or continue token is too old: list again. */
export function isExpired(error: unknown): error is ApiError & {readonly reason: 'Expired' | 'Gone'} {
  return error instanceof ApiError && (error.status === 410 || error.reason === 'Expired' || error.reason === 'Gone');
}

export function isFenced(error: unknown): error is FencedError {
  return error instanceof FencedError;
}
