/** From request to response: request id, operation, key, scope, input, and what they share. */
import {randomUUID} from 'node:crypto';
import type {IncomingMessage, ServerResponse} from 'node:http';
import type {Logger} from 'pino';
import {type Authenticator, bearerKey, type Principal, type Scope} from '../access/auth.ts';
import type {Hold, Holdings} from '../access/holdings.ts';
import {Pacer} from '../access/pacer.ts';
import {StoreError, type StoreRefusal} from '../store/store.ts';
import {type Answer, isProblem, json, type ProblemCode, problem} from './answer.ts';
import {type BodyRules, discardBody, readJsonBody} from './body.ts';
import type {Handlers, Subject} from './handlers.ts';
import {admission, type Limits, overBound, overLimit, WaitError, Waits} from './limits.ts';
import {type ApiOperation, type KeyedOperation, OPERATIONS} from './operations.ts';
import {allowed, matchPath, operationOf} from './routes.ts';
import {UnreadAnswers} from './unread-answers.ts';
import {decodeQuery, validatorOf} from './validate.ts';

export interface RequestMetrics {
  observe(route: string, status: number, ms: number): void;
  accepted(): void;
  /** `reason`: the code of the problem. */
  refused(route: string, reason: string): void;
}

interface AppOptions extends Limits {
  readonly authenticator: Authenticator;
  readonly handlers: Handlers;
  readonly holdings: Holdings;
  readonly bodyBytes: number;
  /** The OpenAPI document. */
  readonly description: object;
  readonly metrics: RequestMetrics;
  readonly logger: Logger;
}

/** What all requests have in common. */
interface Shared extends AppOptions {
  readonly described: Answer;
  readonly unreadAnswers: UnreadAnswers;
  readonly pacer: Pacer;
  readonly bodyRules: ReadonlyMap<KeyedOperation, BodyRules>;
}

/**
 * One request, from its headers until its response was sent or its connection was closed. A class, because V8 may
 * decide to create the objects of a literal in the old generation, where each would keep its request until a full
 * collection.
 */
class Exchange {
  readonly request: IncomingMessage;
  /** Call this before reading a body: it sends 100 Continue if the client expects it (RFC 9110, section 10.1.1). */
  readonly sendContinue: () => void;
  readonly requestId: string;
  readonly startMs: number;
  operation: ApiOperation | undefined;
  principal: Principal | undefined;
  /** The memory that the request holds, from the check of its key until its response was sent. */
  hold: Hold | undefined;
  waits: Waits | undefined;
  isDone = false;
  hasLeft = false;

  constructor(request: IncomingMessage, sendContinue: () => void, startMs: number) {
    this.request = request;
    this.sendContinue = sendContinue;
    this.requestId = requestIdOf(request);
    this.startMs = startMs;
  }
}

/** Starts to respond. Returns a function to call once, when the response has been sent or its connection was closed. */
export type App = (request: IncomingMessage, response: ServerResponse, sendContinue: () => void) => () => void;

const REQUEST_ID = /^[\w.:-]{1,128}$/;
const VALIDATORS = new Map(OPERATIONS.map(operation => [operation, validatorOf(operation)]));
const NONE = {value: undefined, heldBytes: 0, fingerprint: undefined};

export function createApp(options: AppOptions): App {
  const {description} = options;
  const described: Answer = {...json(200, description), text: JSON.stringify(description)};
  const shared: Shared = {
    ...options,
    described,
    unreadAnswers: new UnreadAnswers(),
    pacer: new Pacer(options.clock),
    bodyRules: new Map(OPERATIONS.flatMap(operation => bodyRulesOf(operation, options.bodyBytes))),
  };
  return (request, response, sendContinue) => {
    const exchange = new Exchange(request, sendContinue, options.clock.monotonic());
    void respond(exchange, response, shared);
    // This closure is used instead of a Map from responses to exchanges. When a Map that changes with every request
    // grows a new table, the previous table still refers to it and to all its own entries. Once one such table is in
    // the old generation, V8 promotes all later ones, and with them every request, until the next full collection.
    return () => {
      exchange.hasLeft = true;
      exchange.waits?.leave();
      if (exchange.isDone) exchange.hold?.release();
    };
  };
}

function bodyRulesOf(operation: ApiOperation, bodyBytes: number): readonly [KeyedOperation, BodyRules][] {
  if (operation.scope === undefined || operation.body === undefined) return [];
  const {properties, orNone = false, limitBytes = bodyBytes} = operation.body;
  return [[operation, {limitBytes, members: Object.keys(properties), orNone}]];
}

/** Never rejects. */
async function respond(exchange: Exchange, response: ServerResponse, shared: Shared): Promise<void> {
  const {clock, limiter, unreadAnswers} = shared;
  let answer: Answer | undefined;
  try {
    answer = await answerTo(exchange, shared);
    // It may have claimed messages, so a client that has waited for too long gets it without a turn.
    if (answer?.longBytes !== undefined) await exchange.waits?.turn().catch(() => undefined);
  } catch (error) {
    answer = failed(error, exchange, shared);
  }
  const now = clock.monotonic();
  const longBytes = answer?.longBytes;
  let rateMs = 0;
  if (longBytes !== undefined && exchange.hasLeft) {
    // It was read. Without a charge, a client could have any number read by leaving early.
    if (exchange.principal) rateMs = limiter.answered(exchange.principal.account, longBytes, now);
    answer = undefined;
  }
  if (answer !== undefined) {
    const bytes = send(response, answer, exchange.requestId);
    exchange.hold?.keep(bytes);
    if (exchange.principal) rateMs = limiter.answered(exchange.principal.account, bytes, now);
    // A response is charged to its account until it is sent, or to a shared budget if there is no valid key.
    if (exchange.hold === undefined) unreadAnswers.add(response, bytes);
    discardBody(exchange.request);
  }
  exchange.waits?.end(longBytes === undefined ? undefined : {busyMs: clock.monotonic() - now, rateMs});
  record(answer, now, exchange, shared);
  exchange.isDone = true;
  if (exchange.hasLeft) exchange.hold?.release();
}

function answerTo(exchange: Exchange, shared: Shared): Answer | undefined | Promise<Answer | undefined> {
  const {request} = exchange;
  const [path, query] = split(request.url ?? '');
  const match = matchPath(path);
  if (match === undefined) return problem(404, 'not_found', 'There is nothing at this path. See /openapi.json.');
  const operation = operationOf(match, request.method);
  if (operation === undefined) {
    return problem(405, 'method_not_allowed', 'The path does not support this method.', {
      headers: {allow: allowed(match)},
    });
  }
  exchange.operation = operation;
  if (operation.scope === undefined) return shared.described;
  const principal = authorize(request, operation.scope, shared.authenticator);
  if (!('account' in principal)) return principal;
  exchange.principal = principal;
  const hold = shared.holdings.enter(principal.account);
  if (typeof hold === 'string') return overBound(hold);
  exchange.hold = hold;
  const waits = new Waits(principal.account, hold, shared.pacer, shared.clock);
  exchange.waits = waits;
  return perform(exchange, operation, {account: principal.account, hold, waits, id: match.id}, query, shared);
}

/** From a valid key to the response. Undefined: the client is gone. */
async function perform(
  {request, sendContinue}: Exchange,
  operation: KeyedOperation,
  {account, hold, waits, id}: Omit<Subject, 'fingerprint'> & {readonly hold: Hold},
  query: string,
  options: Shared,
): Promise<Answer | undefined> {
  const rules = options.bodyRules.get(operation);
  const body = rules ? await readJsonBody(request, rules, admission(account, hold, options, sendContinue)) : NONE;
  if (body === undefined || 'status' in body) return body;
  const {value, heldBytes, fingerprint} = body;
  hold.keep(heldBytes);
  const input = {query: operation.query && decodeQuery(query), body: value, headers: request.headers};
  const refused = VALIDATORS.get(operation)?.(input) ?? (operation.body ? undefined : overLimit(account, 0, options));
  // `Inputs` describes what the schemas let through.
  return refused ?? (await options.handlers[operation.name]({account, waits, id, fingerprint}, input as never));
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
    return problem(503, 'unavailable', found.detail ?? 'Keys cannot be checked at the moment. Retry later.', {
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

function failed(error: unknown, {requestId, operation}: Exchange, {logger}: AppOptions): Answer | undefined {
  if (error instanceof WaitError) return error.answer;
  if (error instanceof StoreError) {
    const [code, detail, retryAfter] = STORE_PROBLEMS[error.refusal];
    return problem(503, code, detail, {headers: {'retry-after': retryAfter}});
  }
  logger.error({err: error, requestId, route: operation?.name}, 'The request failed.');
  return problem(500, 'internal_error', 'Internal error. The server logged the details under the request id.');
}

/** Code, detail, and Retry-After. Details about the store's disk go to the log, not to clients. */
const STORE_PROBLEMS: Readonly<Record<StoreRefusal, readonly [ProblemCode, string, string]>> = {
  full: ['store_full', 'The store is full. Retry later.', '30'],
  busy: ['store_busy', 'Too many operations are waiting to be stored. Retry later.', '1'],
  down: ['unavailable', 'Messages cannot be stored or read at the moment. Retry later.', '5'],
  unknown: [
    'outcome_unknown',
    'The request may or may not have taken effect. Repeat it; to submit a message once, use the same Idempotency-Key.',
    '1',
  ],
};

/** Returns the length of the body in bytes. */
function send(response: ServerResponse, answer: Answer, requestId: string): number {
  const {status, headers, contentType, body} = answer;
  const text = answer.text ?? JSON.stringify(isProblem(answer) ? {...body, requestId} : body);
  const bytes = Buffer.byteLength(text);
  const lines = ['content-type', contentType, 'content-length', bytes];
  lines.push('cache-control', 'no-store', 'x-request-id', requestId);
  for (const name in headers) lines.push(name, headers[name] ?? '');
  response.writeHead(status, lines);
  // A string, not a buffer: Node writes a string together with the headers. As Latin-1, Node need not look for its end.
  response.end(text, bytes === text.length ? 'latin1' : 'utf8');
  return bytes;
}

function record(
  answer: Answer | undefined,
  now: number,
  {request, requestId, startMs, operation, principal}: Exchange,
  {metrics, logger}: AppOptions,
): void {
  const ms = now - startMs;
  const status = answer?.status ?? 499; // nginx's status for a client that closed the connection.
  const route = operation?.name;
  const code = answer && isProblem(answer) ? (answer.body as {code: ProblemCode}).code : undefined;
  metrics.observe(route ?? 'none', status, ms);
  if (code !== undefined) metrics.refused(route ?? 'none', code);
  const level = status >= 500 ? 'warn' : status >= 400 ? 'info' : 'debug';
  if (!logger.isLevelEnabled(level)) return;
  const {account, keyId} = principal ?? {};
  logger[level]({requestId, method: request.method, route, status, code, account, keyId, ms}, 'request');
}

/** The client's own id, if it is safe to write anywhere. */
function requestIdOf({headers}: IncomingMessage): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
}

/** Path and query. */
function split(url: string): readonly [string, string] {
  const mark = url.indexOf('?');
  return mark === -1 ? [url, ''] : [url.slice(0, mark), url.slice(mark + 1)];
}
