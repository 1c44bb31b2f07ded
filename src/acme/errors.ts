/** What a CA says when it refuses something (RFC 7807), and the two ways in which a request to it fails. */

/** A refusal. Its texts quote strangers: the detail of a failed validation contains what the host answered. */
export interface Problem {
  /** Without the prefix `urn:ietf:params:acme:error:`, as in `rateLimited` (RFC 8555, section 6.7). Printable ASCII. */
  readonly type: string;
  /** Printable ASCII, at most 300 characters. */
  readonly detail: string;
  readonly subproblems?: readonly Subproblem[] | undefined;
}

/** What is wrong with one name of an order (RFC 8555, section 6.7.1). */
export interface Subproblem {
  readonly type: string;
  readonly detail: string;
  readonly name?: string | undefined;
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
