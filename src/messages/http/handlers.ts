/** The operations of the API, each from valid input to its response. */
import {cutText} from '../../operations/untrusted-text.ts';
import type {Hold} from '../access/holdings.ts';
import {
  type Idempotency,
  type MessageStore,
  PAGE_BYTES,
  type SettleOutcome,
  type StoredMessage,
} from '../store/store.ts';
import {type Answer, json, problem} from './answer.ts';
import type {Inputs} from './operations.ts';
import {REASON_BYTES, shownId, storedId} from './schemas.ts';

/** The most characters of messages and reasons in a response that needs no turn. */
const SHORT = 16 * 1024;
/** Its most characters as JSON, in which a control character takes six. */
const SHORT_JSON = 2 * SHORT;

/** How much of its lease a claim may spend waiting for its turn: the worker needs the rest. */
const LEASE_SHARE = 0.5;

interface HandlerOptions {
  readonly store: MessageStore;
  readonly bodyBytes: number;
  /** A new message was stored. */
  readonly onAccepted: () => void;
}

/** Whose request it is, and what it is about. */
export interface Subject {
  readonly account: string;
  readonly hold: Pick<Hold, 'room' | 'turn' | 'limit'>;
  /** The message id in the path, as the store has it; undefined if it cannot be an id. */
  readonly id: string | undefined;
  /** The hash of the body's bytes, if an idempotency key was given. */
  readonly fingerprint: string | undefined;
}

/** Rejects with a StoreError if the store fails, and with a WaitError if the request hold unsuccessfully. */
type Handler<Input> = (subject: Subject, input: Input) => Promise<Answer>;

export type Handlers = {readonly [Name in keyof Inputs]: Handler<Inputs[Name]>};

export function createHandlers({store, bodyBytes, onAccepted}: HandlerOptions): Handlers {
  return {
    submit: async ({account, fingerprint}, {body: {message}, headers: {'idempotency-key': key}}) => {
      const idempotency = key && fingerprint ? idempotencyOf(key, fingerprint) : undefined;
      const outcome = await store.perform('append', {account, message, ...(idempotency && {idempotency})});
      if (outcome.kind === 'appended') onAccepted();
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
        case 'replayed': {
          const id = shownId(outcome.id);
          return json(
            202,
            {id, message, status: 'queued', createdAt: timestamp(outcome.createdAt)},
            {
              // Relative to the request's own URL, so that it works under any base path.
              location: `messages/${id}`,
              ...(outcome.kind === 'replayed' && {'idempotency-replayed': 'true'}),
            },
          );
        }
      }
    },
    list: async ({account, hold}, {query: {limit, cursor, status}}) => {
      await hold.room(answerBytes(limit, bodyBytes));
      await hold.turn(); // Before the page is read: reading many at a time would delay others, too.
      const after = cursor === undefined ? undefined : storedId(cursor);
      const {messages, more} = await store.perform('list', {
        account,
        limit,
        ...(after && {after}),
        ...(status && {status}),
      });
      const shown = messages.map(represent);
      return answerWith(messages, {messages: shown, nextCursor: (more && shown.at(-1)?.id) || null});
    },
    get: async ({account, id, hold}) => {
      await hold.room(answerBytes(1, bodyBytes));
      const message = id === undefined ? undefined : await store.perform('get', {account, id});
      return message ? answerWith([message], represent(message)) : unknownMessage();
    },
    claim: async ({account, hold}, {body: {limit, leaseSeconds}}) => {
      await hold.room(answerBytes(limit, bodyBytes));
      const messages = await store.perform('claim', {account, limit, leaseMs: leaseSeconds * 1000});
      const answer = answerWith(messages, {
        messages: messages.map(message => ({
          ...represent(message),
          lease: message.lease,
          leaseExpiresAt: timestamp(message.leaseUntil),
        })),
      });
      if (answer.longBytes !== undefined) hold.limit(leaseSeconds * LEASE_SHARE * 1000);
      return answer;
    },
    ack: async ({account, id}, {body: {lease}}) =>
      id === undefined ? unknownMessage() : settled(id, await store.perform('ack', {account, id, lease})),
    nack: async ({account, id}, {body: {lease, delaySeconds, reason}}) => {
      if (id === undefined) return unknownMessage();
      const kept = reason !== undefined && {reason: cutText(reason.toWellFormed(), REASON_BYTES, '…')};
      return settled(id, await store.perform('nack', {account, id, lease, delayMs: delaySeconds * 1000, ...kept}));
    },
  };
}

/** The maximum size of a response with this many messages, including their JSON. */
export function answerBytes(messages: number, bodyBytes: number): number {
  const around = 2048 * messages;
  return Math.min(messages * bodyBytes, Math.max(PAGE_BYTES, bodyBytes)) + around;
}

/** A response that shows these messages. */
function answerWith(messages: readonly StoredMessage[], body: object): Answer {
  const length = messages.reduce((sum, {message, reason = ''}) => sum + message.length + reason.length, 0);
  const answer = json(200, body);
  if (length > SHORT) return {...answer, longBytes: length};
  if (6 * length <= SHORT) return answer;
  const text = JSON.stringify(body);
  return {...answer, text, ...(text.length > SHORT_JSON && {longBytes: text.length})};
}

function idempotencyOf(header: string, fingerprint: string): Idempotency {
  return {key: header.startsWith('"') ? header.slice(1, -1) : header, fingerprint};
}

function settled(id: string, outcome: SettleOutcome): Answer {
  switch (outcome.kind) {
    case 'unknown-message':
      return unknownMessage();
    case 'lease-lost':
      return problem(
        409,
        'lease_lost',
        'The lease has ended, so another worker may have the message. Stop processing it.',
      );
    case 'settled':
      return json(200, {id: shownId(id), status: outcome.status, attempts: outcome.attempts});
  }
}

/** The same for other accounts' messages, so that it does not reveal whether an id exists. */
function unknownMessage(): Answer {
  return problem(404, 'message_not_found', 'The account has no message with this id.');
}

function represent({id, message, status, createdAt, attempts, reason}: StoredMessage) {
  return {
    id: shownId(id),
    message,
    status,
    createdAt: timestamp(createdAt),
    attempts,
    ...(reason !== undefined && {reason}),
  };
}

let last = {ms: 0, text: ''};

/** Cached, because many responses have the time of the same millisecond. */
function timestamp(ms: number): string {
  if (ms !== last.ms || last.text === '') last = {ms, text: new Date(ms).toISOString()};
  return last.text;
}
