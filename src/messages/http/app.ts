/** From request to response: request id, operation, key, scope, input, and what they share. */
import {randomUUID} from 'node:crypto';
import type {IncomingMessage, ServerResponse} from 'node:http';
import type {Logger} from 'pino';
import {type Authenticator, bearerKey, type Principal} from '../../apikey/authenticator.ts';
import {RateLimit} from '../../fairness/rate-limit.ts';
import {LogSample} from '../../operations/log-sample.ts';
import type {Strangers} from '../../operations/strangers.ts';
import type {Clock} from '../../time/clock.ts';
import {type Hold, type Holdings, WaitError} from '../access/holdings.ts';
import type {AccountLimiter} from '../access/limiter.ts';
import {StoreError} from '../store/store.ts';
import {type Answer, isProblem, json, type ProblemCode, problem} from './answer.ts';
import {announcedBytes, dropBody, hasBody, isChunked, type JsonBody, readJsonBody} from './body.ts';
import type {Connection} from './connection.ts';
import type {Handlers, Subject} from './handlers.ts';
import {type ApiOperation, type KeyedOperation, OPERATIONS} from './operations.ts';
import {outOfScope, overBound, overLimit, storeFailed, strangerOverLimit, unauthorized} from './refusals.ts';
import {type Target, targetOf} from './target.ts';
import {decodeQuery, validatorOf} from './validate.ts';

export interface RequestMetrics {
  observe(route: string, status: number, ms: number): void;
  accepted(): void;
  /** `reason`: the code of the problem. */
  refused(route: string, reason: string): void;
}

interface AppOptions {
  readonly authenticator: Authenticator;
  readonly handlers: Handlers;
  readonly holdings: Holdings;
  readonly limiter: AccountLimiter;
  readonly strangers: Strangers;
  readonly bodyBytes: number;
  /** The OpenAPI document. */
  readonly description: object;
  readonly metrics: RequestMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Shared by all requests. */
interface Shared extends AppOptions {
  readonly described: Answer;
  /** Responses to requests over a rate limit. */
  readonly refusals: RateLimit;
  readonly logSample: LogSample;
}

/**
 * One request, from its headers until its response was sent or its connection was closed. A class, because V8 may
 * decide to create the objects of a literal in the old generation, where each would keep its request until a full
 * collection.
 */
class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly connection: Connection;
  /** Of the client, or of the proxy in front. */
  readonly address: string;
  readonly hasBody: boolean;
  readonly requestId: string;
  readonly startMs: number;
  operation: ApiOperation | undefined;
  principal: Principal | undefined;
  /** The memory that the request holds, from the check of its key until its response was sent. */
  hold: Hold | undefined;
  isDone = false;
  hasLeft = false;

  constructor(request: IncomingMessage, response: ServerResponse, connection: Connection, startMs: number) {
    this.request = request;
    this.response = response;
    this.connection = connection;
    this.address = request.socket.remoteAddress ?? '';
    this.hasBody = hasBody(request);
    this.requestId = requestIdOf(request);
    this.startMs = startMs;
  }
}

/** Starts to respond. Returns a function to call once, when the response has been sent or its connection was closed. */
export type App = (request: IncomingMessage, response: ServerResponse, connection: Connection) => () => void;

const REQUEST_ID = /^[\w.:-]{1,128}$/;
const VALIDATORS = new Map(OPERATIONS.map(operation => [operation, validatorOf(operation)]));
/** A payer gets 100 such responses immediately, and then one every 10 ms. */
const REFUSAL_MS = 10;
/** The longest that one is held back. Clients do not give up earlier. */
const LONGEST_HOLD_MS = 5000;
const NONE: JsonBody = {value: undefined, heldBytes: 0, fingerprint: undefined};

export function createApp(options: AppOptions): App {
  const {description} = options;
  const described: Answer = {...json(200, description), text: JSON.stringify(description)};
  const shared: Shared = {
    ...options,
    described,
    refusals: new RateLimit(1000),
    logSample: new LogSample(),
  };
  return (request, response, connection) => {
    const exchange = new Exchange(request, response, connection, options.clock.monotonic());
    void respond(exchange, shared);
    // This closure is used instead of a Map from responses to exchanges. When a Map that changes with every request
    // grows a new table, the previous table still refers to it and to all its own entries. Once one such table is in
    // the old generation, V8 promotes all later ones, and with them every request, until the next full collection.
    return () => {
      exchange.hasLeft = true;
      exchange.hold?.abandon();
      if (exchange.isDone) exchange.hold?.release();
    };
  };
}

/** Never rejects. */
async function respond(exchange: Exchange, shared: Shared): Promise<void> {
  const {clock, limiter} = shared;
  let answer: Answer | undefined;
  try {
    const outcome = answerTo(exchange, shared);
    if (!(outcome instanceof Promise) && exchange.hasBody) {
      // Before the parser goes on: a body that nobody needs is not even parsed, unless it is short.
      if (dropBody(exchange.request)) await new Promise(setImmediate);
      else cut(exchange, shared);
    }
    answer = await outcome;
    // It may have claimed messages, so a client that has waited for too long gets it without a turn.
    if (answer?.longBytes !== undefined) await exchange.hold?.turn().catch(() => undefined);
  } catch (error) {
    answer = failed(error, exchange, shared);
  }
  if (answer?.isHeldBack) await holdBack(exchange, shared);
  const now = clock.monotonic();
  const longBytes = answer?.longBytes;
  let rateMs = 0;
  if (exchange.hasLeft) {
    // A long response was read. Without a charge, a client could have any number read by leaving early.
    if (longBytes !== undefined && exchange.principal) {
      rateMs = limiter.spend(exchange.principal.account, 'answers', longBytes, now);
    }
    answer = undefined;
  }
  if (answer !== undefined) {
    if (exchange.hasBody && !exchange.request.complete) cut(exchange, shared);
    const bytes = send(exchange, answer);
    exchange.hold?.keep(bytes);
    if (exchange.principal) rateMs = limiter.spend(exchange.principal.account, 'answers', bytes, now);
  }
  exchange.hold?.end(longBytes === undefined ? undefined : {busyMs: clock.monotonic() - now, rateMs});
  record(answer, now, exchange, shared);
  exchange.isDone = true;
  if (exchange.hasLeft) exchange.hold?.release();
}

/** Nothing more of the connection is parsed, and the response will say that it closes. */
function cut({connection, principal, address}: Exchange, {clock, limiter, strangers}: Shared): void {
  const account = principal?.account;
  connection.cut(bytes => {
    const now = clock.monotonic();
    if (account === undefined) return strangers.takeBytes(address, bytes, now) === 0;
    return limiter.takeBytes(account, bytes, now) === undefined;
  });
}

/**
 * Rejecting a request costs almost as much as serving it, so a client that ignores 429 and repeats immediately would
 * still keep the process busy. It is answered later, and a connection has one request at a time, so it cannot send more
 * meanwhile.
 */
async function holdBack(exchange: Exchange, {clock, refusals}: Shared): Promise<void> {
  const payer = exchange.principal ? `account ${exchange.principal.account}` : 'strangers';
  const ms = refusals.reserve(payer, REFUSAL_MS, clock.monotonic(), LONGEST_HOLD_MS);
  if (ms === 0 || exchange.hasLeft) return;
  exchange.connection.spend();
  const left = new AbortController();
  exchange.response.once('close', () => left.abort());
  await clock.sleep(ms, left.signal).catch(() => undefined);
}

/** Synchronous if no body is needed. Undefined: the client is gone. */
function answerTo(exchange: Exchange, shared: Shared): Answer | Promise<Answer | undefined> {
  const {request} = exchange;
  const {clock, authenticator, limiter, strangers} = shared;
  const key = bearerKey(request.headers.authorization);
  const found = key === undefined ? undefined : authenticator.authenticate(key);
  // The sender of a request pays for it before anything else is done, even if it is rejected.
  if (found && 'account' in found) {
    exchange.principal = found;
    const excess = limiter.take(found.account, clock.monotonic());
    if (excess) return overLimit(excess);
  } else if (found?.refused !== 'unavailable') {
    const waitMs = strangers.take(exchange.address, clock.monotonic());
    if (waitMs > 0) return strangerOverLimit(waitMs);
  }
  const target = targetOf(request);
  if ('status' in target) return target;
  const {operation} = target;
  exchange.operation = operation;
  if (operation.scope === undefined) return shared.described;
  if (found === undefined || 'refused' in found) return unauthorized(found);
  if (!found.scopes.has(operation.scope)) return outOfScope(operation.scope);
  const hold = shared.holdings.enter(found.account);
  if (typeof hold === 'string') return overBound(hold);
  exchange.hold = hold;
  return perform(exchange, operation, {account: found.account, hold, id: target.id}, target, shared);
}

type Task = Omit<Subject, 'fingerprint'> & {readonly hold: Hold};

/** From a valid key to the response. Checks in the order of the contract: content type, size, limits, JSON. */
function perform(
  exchange: Exchange,
  operation: KeyedOperation,
  task: Task,
  {query}: Target,
  shared: Shared,
): Answer | Promise<Answer | undefined> {
  const {request, response} = exchange;
  const {limiter, clock} = shared;
  const {account, hold} = task;
  const {properties, limitBytes = shared.bodyBytes, orNone = false} = operation.body ?? {};
  if (properties === undefined || (orNone && !exchange.hasBody)) {
    if (!dropBody(request)) cut(exchange, shared);
    return operate(request, operation, task, query, {...NONE, value: properties && {}}, shared);
  }
  const bytes = announcedBytes(request, limitBytes);
  if (typeof bytes !== 'number') return bytes;
  // Before the body is read, because a check after the work would protect nothing. A chunked one is charged once it has
  // arrived.
  const excess = limiter.takeBytes(account, isChunked(request) ? 0 : bytes, clock.monotonic());
  if (excess) return overLimit(excess);
  const bound = hold.grow(bytes);
  if (bound) return overBound(bound);
  // Also for an unknown expectation, which may be ignored (RFC 9110, section 10.1.1).
  if (request.headers.expect !== undefined && request.httpVersion === '1.1') response.writeContinue();
  const worked = (work: number) => limiter.spend(account, 'bytes', work, clock.monotonic());
  return readJsonBody(request, bytes, Object.keys(properties), worked).then(body =>
    body === undefined || 'status' in body ? body : operate(request, operation, task, '', body, shared),
  );
}

/** Keeps nothing of the request while it waits, except what the operation needs. */
async function operate(
  request: IncomingMessage,
  operation: KeyedOperation,
  {account, hold, id}: Task,
  query: string,
  {value, heldBytes, fingerprint}: JsonBody,
  {handlers}: Shared,
): Promise<Answer> {
  hold.keep(heldBytes);
  const input = {
    query: operation.query && decodeQuery(query),
    body: value,
    headers: {'idempotency-key': request.headers['idempotency-key']},
  };
  request.headers = {};
  request.rawHeaders = [];
  // `Inputs` describes what the schemas let through.
  return (
    VALIDATORS.get(operation)?.(input) ?? handlers[operation.name]({account, hold, id, fingerprint}, input as never)
  );
}

function failed(error: unknown, {requestId, operation}: Exchange, {logger}: AppOptions): Answer | undefined {
  if (error instanceof WaitError) return error.bound && overBound(error.bound);
  if (error instanceof StoreError) return storeFailed(error.refusal);
  logger.error({err: error, requestId, route: operation?.name}, 'The request failed.');
  return problem(500, 'internal_error', 'Internal error. The server logged the details under the request id.');
}

/** Returns the length of the body in bytes. */
function send({response, requestId}: Exchange, answer: Answer): number {
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
  {metrics, logger, logSample}: Shared,
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
  const more = level === 'debug' ? {} : logSample.take(account ?? '', now);
  if (!more) return;
  logger[level]({requestId, method: request.method, route, status, code, account, keyId, ms, ...more}, 'request');
}

/** The client's own id, if it is safe to write anywhere. */
function requestIdOf({headers}: IncomingMessage): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
}
