/** The operations of the API, each from a request with a valid key to its response. */
import type {IncomingMessage} from 'node:http';
import type {Clock} from '../../base/clock.ts';
import type {Principal} from '../access/auth.ts';
import type {Bound, Hold} from '../access/holdings.ts';
import type {AccountLimiter, Allowance} from '../access/limiter.ts';
import {type MessageStore, PAGE_BYTES, type SettleOutcome, type StoredMessage} from '../store/store.ts';
import {type Answer, json, problem} from './answer.ts';
import {type Admission, hasBody, type JsonObject, readJsonBody} from './body.ts';
import {idempotencyOf} from './idempotency-key.ts';
import {type Parsed, parseAck, parseClaim, parseList, parseNack} from './parameters.ts';
import type {Route} from './routes.ts';

export interface HandlerOptions {
  readonly store: MessageStore;
  readonly limiter: AccountLimiter;
  readonly clock: Clock;
  readonly bodyBytes: number;
}

/** A request with a valid key. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly principal: Principal;
  /** The memory that it holds. The caller releases it. */
  readonly hold: Hold;
  /** The message id in the path; empty if it cannot be an id. */
  readonly id: string;
  /** Without the question mark. */
  readonly query: string;
  /** Call this before reading a body: it sends 100 Continue if the client expects it (RFC 9110, section 10.1.1). */
  readonly sendContinue: () => void;
}

/** Undefined: the client is gone. Rejects with a StoreError if the store fails. */
export type Handler = (exchange: Exchange) => Promise<Answer | undefined>;

export type Handlers = Readonly<Record<Exclude<Route['name'], 'describe'>, Handler>>;

export function createHandlers(options: HandlerOptions): Handlers {
  const {store} = options;
  return {
    submit: exchange => submit(exchange, options),
    list: exchange => list(exchange, options),
    get: exchange => get(exchange, options),
    claim: exchange => claim(exchange, options),
    ack: exchange =>
      withBody(exchange, options, parseAck, async (account, {lease}) =>
        settled(exchange.id, await store.ack({account, id: exchange.id, lease})),
      ),
    nack: exchange =>
      withBody(exchange, options, parseNack, async (account, nack) =>
        settled(exchange.id, await store.nack({account, id: exchange.id, ...nack})),
      ),
  };
}

/** The order of the checks is the contract: content type, size, limits, JSON, message, idempotency key, store. */
async function submit(exchange: Exchange, options: HandlerOptions) {
  const {request, principal} = exchange;
  const {account} = principal;
  const body = await readJsonBody(request, options.bodyBytes, admission(exchange, options));
  if (!body.ok) return body.answer;
  const {message} = body.object;
  if (typeof message !== 'string' || message === '') return messageRequired();
  const idempotency = idempotencyOf(request.headers['idempotency-key']?.toString(), body.raw);
  if (idempotency && !('key' in idempotency)) return idempotency;
  const outcome = await options.store.append({account, message, ...(idempotency && {idempotency})});
  switch (outcome.kind) {
    case 'mismatch':
      return problem(
        422,
        'idempotency_key_reused',
        'This Idempotency-Key was already used with another body. Use a new one.',
      );
    case 'quota':
      return problem(429, 'quota_exceeded', 'The storage quota is used up. Process some messages first.', {
        headers: {'retry-after': '60'},
      });
    case 'appended':
    case 'replayed':
      return json(
        202,
        {id: outcome.id, message, status: 'queued', createdAt: timestamp(outcome.createdAt)},
        {
          // Relative to the request's own URL, so that it works under any base path.
          location: `messages/${outcome.id}`,
          ...(outcome.kind === 'replayed' && {'idempotency-replayed': 'true'}),
        },
      );
  }
}

async function list({principal: {account}, query, hold}: Exchange, options: HandlerOptions): Promise<Answer> {
  const parameters = parseList(query);
  if (!parameters.ok) return parameters.answer;
  const limited = overLimit(account, 0, options);
  if (limited) return limited;
  await hold.room(answerBytes(parameters.value.limit, options));
  const {messages, more} = await options.store.list({account, ...parameters.value});
  return json(200, {messages: messages.map(represent), nextCursor: (more && messages.at(-1)?.id) || null});
}

async function get({principal: {account}, id, hold}: Exchange, options: HandlerOptions): Promise<Answer> {
  const limited = overLimit(account, 0, options);
  if (limited) return limited;
  await hold.room(answerBytes(1, options));
  const message = id === '' ? undefined : await options.store.get(account, id);
  return message ? json(200, represent(message)) : unknownMessage();
}

function claim(exchange: Exchange, options: HandlerOptions): Promise<Answer | undefined> {
  return withBody(exchange, options, parseClaim, async (account, parameters) => {
    exchange.hold.keep(0); // The body has been read.
    await exchange.hold.room(answerBytes(parameters.limit, options));
    const messages = await options.store.claim({account, ...parameters});
    return json(200, {
      messages: messages.map(message => ({
        ...represent(message),
        lease: message.lease,
        leaseExpiresAt: timestamp(message.leaseUntil),
      })),
    });
  });
}

/** For operations whose body contains parameters. The body may be absent. */
async function withBody<T>(
  exchange: Exchange,
  options: HandlerOptions,
  parse: (object: JsonObject) => Parsed<T>,
  act: (account: string, parameters: T) => Promise<Answer>,
): Promise<Answer | undefined> {
  const {request, principal} = exchange;
  const admitted = admission(exchange, options);
  const body = hasBody(request) ? await readJsonBody(request, options.bodyBytes, admitted) : withoutBody(admitted);
  if (!body.ok) return body.answer;
  const parameters = parse(body.object);
  return parameters.ok ? act(principal.account, parameters.value) : parameters.answer;
}

function withoutBody({begin}: Admission): {ok: true; object: JsonObject} | {ok: false; answer: Answer} {
  const refused = begin(0);
  return refused ? {ok: false, answer: refused} : {ok: true, object: {}};
}

/** Checks both limits before the body is read, because a check after the work would protect nothing. */
function admission({principal: {account}, hold, sendContinue}: Exchange, options: HandlerOptions): Admission {
  const {limiter, clock} = options;
  return {
    begin: (length = 0) => {
      const refused = overLimit(account, length, options) ?? overBound(hold.grow(length));
      if (refused === undefined) sendContinue();
      return refused;
    },
    grow: (memory, work) =>
      refusal(limiter.takeBytes(account, work, clock.monotonic())) ?? overBound(hold.grow(memory)),
  };
}

/** The maximum size of a response with this many messages, including their JSON. */
export function answerBytes(messages: number, {bodyBytes}: {readonly bodyBytes: number}): number {
  const around = 2048 * messages;
  return Math.min(messages * bodyBytes, Math.max(PAGE_BYTES, bodyBytes)) + around;
}

function settled(id: string, outcome: SettleOutcome): Answer {
  switch (outcome.kind) {
    case 'unknown-message':
      return unknownMessage();
    case 'lease-lost':
      return problem(409, 'lease_lost', 'The lease has ended: another worker may have the message. Drop it.');
    case 'settled':
      return json(200, {id, status: outcome.status, attempts: outcome.attempts});
  }
}

/** 429, with the fields of draft-ietf-httpapi-ratelimit-headers-10; undefined while the account is within its limits. */
function overLimit(account: string, bytes: number, {limiter, clock}: HandlerOptions): Answer | undefined {
  return refusal(limiter.take(account, bytes, clock.monotonic()));
}

function refusal(allowance: Allowance): Answer | undefined {
  if (allowance.ok) return undefined;
  const {limit, perSecond, retryAfterMs} = allowance;
  const seconds = Math.ceil(retryAfterMs / 1000);
  const verb = limit === 'answer bytes' ? 'receive' : 'send';
  const detail = `The account may ${verb} ${perSecond} ${limit} per second. Retry after ${seconds} s.`;
  return problem(429, 'rate_limited', detail, {
    headers: {
      'retry-after': String(seconds),
      'ratelimit-policy': `"${limit.replace(' ', '-')}";q=${perSecond};w=1`,
      ratelimit: `"${limit.replace(' ', '-')}";r=0;t=${seconds}`,
    },
  });
}

/** In addition to the rates, limits what requests hold at the same time. */
export function overBound(bound: Bound | undefined): Answer | undefined {
  const headers = {'retry-after': '1'};
  switch (bound) {
    case undefined:
      return undefined;
    case 'account':
      return problem(
        429,
        'concurrency_limited',
        'The account has reached its limit of concurrent requests, or of the bytes that their bodies and responses hold. Wait for earlier requests and read their responses, then retry.',
        {headers},
      );
    case 'total':
      return problem(503, 'store_busy', 'Requests hold the most bytes that they may. Retry after 1 s.', {headers});
  }
}

function messageRequired(): Answer {
  const detail = 'message must be a non-empty string.';
  return problem(400, 'message_required', detail, {errors: [{detail, pointer: '#/message'}]});
}

/** Also for other accounts' messages, so that it does not reveal whether an id exists. */
function unknownMessage(): Answer {
  return problem(404, 'message_not_found', 'The account has no message with this id.');
}

function represent({id, message, status, createdAt, attempts, reason}: StoredMessage) {
  return {id, message, status, createdAt: timestamp(createdAt), attempts, ...(reason !== undefined && {reason})};
}

function timestamp(ms: number): string {
  return new Date(ms).toISOString();
}
