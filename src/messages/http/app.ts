/** From request to response: request id, route, key, scope, operation, and what they share. */
import {randomUUID} from 'node:crypto';
import type {IncomingMessage, ServerResponse} from 'node:http';
import type {Logger} from 'pino';
import {type Authenticator, bearerKey, type Principal, type Scope} from '../access/auth.ts';
import type {Hold, Holdings} from '../access/holdings.ts';
import type {AccountLimiter} from '../access/limiter.ts';
import {StoreError} from '../store/store.ts';
import {type Answer, isProblem, problem} from './answer.ts';
import {discardBody} from './body.ts';
import {type Exchange, type Handlers, overBound} from './handlers.ts';
import {PublicAnswers} from './public-answers.ts';
import {allowed, matchPath, type Route, routeOf} from './routes.ts';

export interface RequestMetrics {
  observe(route: string, status: number, ms: number): void;
}

export interface AppOptions {
  readonly authenticator: Authenticator;
  readonly handlers: Handlers;
  readonly holdings: Holdings;
  readonly limiter: AccountLimiter;
  /** Milliseconds since an arbitrary point. */
  readonly monotonic: () => number;
  /** The OpenAPI document. */
  readonly description: object;
  readonly metrics: RequestMetrics;
  readonly logger: Logger;
}

/** What is known about a request when it ends, for log and metrics. */
interface Trace {
  readonly requestId: string;
  readonly startMs: number;
  route?: Route;
  principal?: Principal;
  /** The memory that the request holds, from the check of its key until its response was sent. */
  hold?: Hold;
  isDone?: boolean;
  hasLeft?: boolean;
}

export interface App {
  /** Resolves when the request was answered or its client is gone. Never rejects. */
  handle(request: IncomingMessage, response: ServerResponse, sendContinue: () => void): Promise<void>;
  /** Call this once per request, when its response was sent or its connection was closed. */
  left(response: ServerResponse): void;
}

const REQUEST_ID = /^[\w.:-]{1,128}$/;

export function createApp(options: AppOptions): App {
  const publicAnswers = new PublicAnswers();
  const description = JSON.stringify(options.description);
  const traces = new Map<ServerResponse, Trace>();
  const handle: App['handle'] = async (request, response, sendContinue) => {
    const trace: Trace = {requestId: requestIdOf(request), startMs: performance.now()};
    traces.set(response, trace);
    const answer = await answerTo(request, sendContinue, trace, description, options).catch(error =>
      failed(error, trace, options),
    );
    if (answer !== undefined) {
      const bytes = send(response, answer, trace.requestId);
      account(response, bytes, trace, publicAnswers, options);
      discardBody(request);
    }
    record(request, answer, trace, options);
    trace.isDone = true;
    if (trace.hasLeft) trace.hold?.release();
  };
  const left: App['left'] = response => {
    const trace = traces.get(response);
    if (trace === undefined) return;
    traces.delete(response);
    trace.hasLeft = true;
    if (trace.isDone) trace.hold?.release();
  };
  return {handle, left};
}

/** A response is charged to its account until it is sent, or to a shared budget if there is no valid key. */
function account(
  response: ServerResponse,
  bytes: number,
  {hold, principal}: Trace,
  publicAnswers: PublicAnswers,
  {limiter, monotonic}: AppOptions,
): void {
  hold?.keep(bytes);
  if (principal) limiter.answered(principal.account, bytes, monotonic());
  if (hold === undefined) publicAnswers.add(response, bytes);
}

async function answerTo(
  request: IncomingMessage,
  sendContinue: () => void,
  trace: Trace,
  description: string,
  options: AppOptions,
): Promise<Answer | undefined> {
  const [path = '', query = ''] = split(request.url ?? '');
  const match = matchPath(path);
  if (match === undefined) return problem(404, 'not_found', 'There is nothing at this path. See /openapi.json.');
  const route = routeOf(match, request.method);
  if (route === undefined) {
    return problem(405, 'method_not_allowed', 'The path does not support this method.', {
      headers: {allow: allowed(match)},
    });
  }
  trace.route = route;
  if (route.scope === undefined || route.name === 'describe') return describe(options, description);
  const principal = authorize(request, route.scope, options.authenticator);
  if (!('account' in principal)) return principal;
  trace.principal = principal;
  const hold = options.holdings.enter(principal.account);
  if (typeof hold === 'string') return overBound(hold);
  trace.hold = hold;
  const exchange: Exchange = {request, principal, hold, id: match.id, query, sendContinue};
  return options.handlers[route.name](exchange);
}

function describe({description}: AppOptions, text: string): Answer {
  return {status: 200, contentType: 'application/json', body: description, text};
}

/** RFC 6750, section 3. */
function authorize({headers}: IncomingMessage, scope: Scope, authenticator: Authenticator): Principal | Answer {
  const key = bearerKey(headers.authorization);
  if (key === undefined) {
    return problem(401, 'unauthorized', 'Send an API key in the header: Authorization: Bearer <API_KEY>.', {
      headers: {'www-authenticate': 'Bearer'},
    });
  }
  const found = authenticator.authenticate(key);
  if (!('refused' in found)) return found.scopes.has(scope) ? found : outOfScope(scope);
  if (found.refused === 'unavailable') {
    return problem(503, 'unavailable', found.detail ?? 'Keys cannot be checked now. Retry later.', {
      headers: {'retry-after': '5'},
    });
  }
  return problem(401, 'unauthorized', found.detail ?? 'The key is not valid.', {
    headers: {'www-authenticate': 'Bearer error="invalid_token"'},
  });
}

function outOfScope(scope: Scope): Answer {
  return problem(403, 'insufficient_scope', `The key does not have the scope ${scope}.`, {
    headers: {'www-authenticate': `Bearer error="insufficient_scope", scope="${scope}"`},
  });
}

function failed(error: unknown, {requestId, route}: Trace, {logger}: AppOptions): Answer {
  if (error instanceof StoreError) return storeProblem(error);
  logger.error({err: error, requestId, route: route?.name}, 'request failed');
  return problem(500, 'internal_error', 'Internal error. The details are in the log under the request id.');
}

/** Details about the store's disk go to the log, not to clients. */
function storeProblem({refusal}: StoreError): Answer {
  switch (refusal) {
    case 'full':
      return problem(503, 'store_full', 'The store is full. Retry later.', {headers: {'retry-after': '30'}});
    case 'busy':
      return problem(503, 'store_busy', 'Too many operations are waiting to be stored. Retry later.', {
        headers: {'retry-after': '1'},
      });
    case 'down':
      return problem(503, 'unavailable', 'Messages cannot be stored or read now. Retry later.', {
        headers: {'retry-after': '5'},
      });
    case 'unknown':
      return problem(
        503,
        'outcome_unknown',
        'The request may or may not have taken effect. Repeat it; to submit a message once, use the same Idempotency-Key.',
        {headers: {'retry-after': '1'}},
      );
  }
}

/** Returns the length of the body in bytes. */
function send(response: ServerResponse, answer: Answer, requestId: string): number {
  const {status, headers, contentType, body} = answer;
  const text = answer.text ?? JSON.stringify(contentType === 'application/problem+json' ? {...body, requestId} : body);
  const bytes = Buffer.byteLength(text);
  response.writeHead(status, {
    'content-type': contentType,
    'content-length': bytes,
    'cache-control': 'no-store',
    'x-request-id': requestId,
    ...headers,
  });
  response.end(text); // A string, not a buffer: Node writes a string together with the headers.
  return bytes;
}

function record(
  request: IncomingMessage,
  answer: Answer | undefined,
  trace: Trace,
  {metrics, logger}: AppOptions,
): void {
  const {requestId, startMs, route, principal} = trace;
  const ms = performance.now() - startMs;
  const status = answer?.status ?? 499; // nginx's status for a client that closed the connection.
  metrics.observe(route?.name ?? 'none', status, ms);
  const level = status >= 500 ? 'warn' : status >= 400 ? 'info' : 'debug';
  if (!logger.isLevelEnabled(level)) return;
  const code = answer && isProblem(answer) ? (answer.body as {code?: string}).code : undefined;
  const {account, keyId} = principal ?? {};
  logger[level]({requestId, method: request.method, route: route?.name, status, code, account, keyId, ms}, 'request');
}

/** The client's own id, if it is safe to write anywhere. */
function requestIdOf({headers}: IncomingMessage): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
}

function split(url: string): readonly string[] {
  const mark = url.indexOf('?');
  return mark === -1 ? [url] : [url.slice(0, mark), url.slice(mark + 1)];
}
