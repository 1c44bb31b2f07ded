/** The operations of the API, each from a request whose key is good to an answer. */
import type {IncomingMessage} from 'node:http';
import type {Clock} from '../../runtime/clock.ts';
import type {Principal} from '../auth.ts';
import type {AccountLimiter} from '../limiter.ts';
import type {MessageStore, SettleOutcome, StoredMessage} from '../store/store.ts';
import {type Answer, json, problem} from './answer.ts';
import {hasBody, type JsonObject, readJsonBody} from './body.ts';
import {idempotencyOf} from './idempotency-key.ts';
import {type Parsed, parseAck, parseClaim, parseList, parseNack} from './parameters.ts';
import type {Route} from './routes.ts';

export interface HandlerOptions {
  readonly store: MessageStore;
  readonly limiter: AccountLimiter;
  readonly clock: Clock;
  readonly bodyBytes: number;
}

/** One request whose key is good. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly principal: Principal;
  /** The message that the path names; empty where that cannot be one. */
  readonly id: string;
  /** Without the question mark. */
  readonly query: string;
  /** To be called before a body is read: a client that asked is told to go on (RFC 9110, section 10.1.1). */
  readonly goOn: () => void;
}

/** Undefined: the client has gone. Rejects with a StoreError when the store could not do it. */
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

/** The order of the checks is the contract: content type, size, JSON, message, idempotency key, limits, store. */
async function submit({request, principal: {account}, goOn}: Exchange, options: HandlerOptions) {
  const body = await readJsonBody(request, options.bodyBytes, goOn);
  if (!body.ok) return body.answer;
  const {message} = body.object;
  if (typeof message !== 'string' || message === '') return messageRequired();
  const idempotency = idempotencyOf(request.headers['idempotency-key']?.toString(), body.raw);
  if (idempotency && !('key' in idempotency)) return idempotency;
  const limited = overLimit(account, body.raw.length, options);
  if (limited) return limited;
  const outcome = await options.store.append({account, message, ...(idempotency && {idempotency})});
  switch (outcome.kind) {
    case 'mismatch':
      return problem(
        422,
        'idempotency_key_reused',
        'This Idempotency-Key came with another body before: use a new key.',
      );
    case 'quota':
      return problem(429, 'quota_exceeded', 'The account has as much stored as it may: process some messages first.', {
        headers: {'retry-after': '60'},
      });
    case 'appended':
    case 'replayed':
      return json(
        202,
        {id: outcome.id, message, status: 'queued', createdAt: timestamp(outcome.createdAt)},
        {
          // Relative to the request's own URL, so that it is right under any base path.
          location: `messages/${outcome.id}`,
          ...(outcome.kind === 'replayed' && {'idempotency-replayed': 'true'}),
        },
      );
  }
}

async function list({principal: {account}, query}: Exchange, options: HandlerOptions): Promise<Answer> {
  const parameters = parseList(query);
  if (!parameters.ok) return parameters.answer;
  const limited = overLimit(account, 0, options);
  if (limited) return limited;
  const {messages, more} = await options.store.list({account, ...parameters.value});
  return json(200, {messages: messages.map(represent), nextCursor: (more && messages.at(-1)?.id) || null});
}

async function get({principal: {account}, id}: Exchange, options: HandlerOptions): Promise<Answer> {
  const limited = overLimit(account, 0, options);
  if (limited) return limited;
  const message = id === '' ? undefined : await options.store.get(account, id);
  return message ? json(200, represent(message)) : unknownMessage();
}

function claim(exchange: Exchange, options: HandlerOptions): Promise<Answer | undefined> {
  return withBody(exchange, options, parseClaim, async (account, parameters) => {
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

/** For operations whose body holds parameters; without a body, none are given. */
async function withBody<T>(
  {request, principal: {account}, goOn}: Exchange,
  options: HandlerOptions,
  parse: (object: JsonObject) => Parsed<T>,
  act: (account: string, parameters: T) => Promise<Answer>,
): Promise<Answer | undefined> {
  const body = hasBody(request)
    ? await readJsonBody(request, options.bodyBytes, goOn)
    : ({ok: true, object: {}, raw: Buffer.alloc(0)} as const);
  if (!body.ok) return body.answer;
  const parameters = parse(body.object);
  if (!parameters.ok) return parameters.answer;
  return overLimit(account, body.raw.length, options) ?? (await act(account, parameters.value));
}

function settled(id: string, outcome: SettleOutcome): Answer {
  switch (outcome.kind) {
    case 'unknown-message':
      return unknownMessage();
    case 'lease-lost':
      return problem(409, 'lease_lost', 'The lease has ended: the message may be with another worker. Drop it.');
    case 'settled':
      return json(200, {id, status: outcome.status, attempts: outcome.attempts});
  }
}

/** 429, with the fields of draft-ietf-httpapi-ratelimit-headers-10; undefined while the account is within its limits. */
function overLimit(account: string, bytes: number, {limiter, clock}: HandlerOptions): Answer | undefined {
  const allowance = limiter.take(account, bytes, clock.monotonic());
  if (allowance.ok) return undefined;
  const {limit, perSecond, retryAfterMs} = allowance;
  const seconds = Math.ceil(retryAfterMs / 1000);
  return problem(429, 'rate_limited', `The account may send ${perSecond} ${limit} a second.`, {
    headers: {
      'retry-after': String(seconds),
      'ratelimit-policy': `"${limit}";q=${perSecond};w=1`,
      ratelimit: `"${limit}";r=0;t=${seconds}`,
    },
  });
}

function messageRequired(): Answer {
  const detail = 'message must be a string that is not empty.';
  return problem(400, 'message_required', detail, {errors: [{detail, pointer: '#/message'}]});
}

/** Also for messages of others: whether an id exists is nobody else's business. */
function unknownMessage(): Answer {
  return problem(404, 'message_not_found', 'The account has no message of this id.');
}

function represent({id, message, status, createdAt, attempts, reason}: StoredMessage) {
  return {id, message, status, createdAt: timestamp(createdAt), attempts, ...(reason !== undefined && {reason})};
}

function timestamp(ms: number): string {
  return new Date(ms).toISOString();
}
