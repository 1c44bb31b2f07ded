/** The JSON schemas of what the API accepts and returns. `title` completes the sentence "NAME must be …". */
import type {SchemaObject} from 'ajv';
import {MESSAGE_STATUSES} from '../store/store.ts';
import {PROBLEM_CODES} from './answer.ts';

export type Schemas = Readonly<Record<string, SchemaObject>>;

export const CLAIM_MAX = 100;
export const LIST_MAX = 100;
/** How much of a reason is kept, in UTF-8. */
export const REASON_BYTES = 512;
const REASON_LENGTH = 1000;

const MESSAGE_ID = {
  type: 'string',
  pattern: '^msg_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$',
  description: '`msg_` and a UUIDv7: ids of one account sort by arrival.',
};
const ID = new RegExp(MESSAGE_ID.pattern);

/** An id as the store has it; undefined if it cannot be one. */
export function storedId(id: string): string | undefined {
  return ID.test(id) ? id.slice('msg_'.length) : undefined;
}

export function shownId(stored: string): string {
  return `msg_${stored}`;
}

const TIMESTAMP = {type: 'string', format: 'date-time', description: 'ISO 8601, UTC.'};
const ATTEMPTS = {type: 'integer', minimum: 0, description: 'How often a worker has claimed the message.'};

export const TEXT = {
  type: 'string',
  title: 'a non-empty string',
  minLength: 1,
  description: 'The text, exactly as it was sent.',
};
export const LEASE_TOKEN = {
  type: 'string',
  title: 'the lease that came with the claimed message',
  minLength: 1,
  maxLength: 100,
  description: 'Identifies one claim of one message.',
};
export const STATUS = {
  type: 'string',
  enum: MESSAGE_STATUSES,
  description: 'queued: waiting for a worker. leased: claimed. done: acknowledged. dead: claimed too often.',
};
export const CURSOR = {type: 'string', title: 'the nextCursor of an earlier page', pattern: MESSAGE_ID.pattern};
export const REASON = {
  type: 'string',
  title: `a string of at most ${REASON_LENGTH} characters`,
  maxLength: REASON_LENGTH,
  description: `Only the first ${REASON_BYTES} bytes in UTF-8 are kept. If the account has reached its storage quota, the reason is not kept.`,
};
/**
 * draft-ietf-httpapi-idempotency-key-header-07: a quoted RFC 8941 string. Most clients omit the quotes, so both forms
 * are accepted and mean the same key.
 */
export const IDEMPOTENCY_KEY = {
  type: 'string',
  title: '1 to 255 printable ASCII characters',
  pattern: '^([!#-+\\--\\[\\]-~]{1,255}|"[!#-\\[\\]-~ ]{1,255}")$',
};

export function integerBetween(minimum: number, maximum: number, byDefault: number): SchemaObject {
  return {type: 'integer', minimum, maximum, default: byDefault};
}

const queued = {id: MESSAGE_ID, message: TEXT, status: {type: 'string', const: 'queued'}, createdAt: TIMESTAMP};
const stored = {
  ...queued,
  status: STATUS,
  attempts: ATTEMPTS,
  reason: {type: 'string', description: 'The reason given by the last worker that returned it.'},
};
const leased = {...stored, lease: LEASE_TOKEN, leaseExpiresAt: TIMESTAMP};

/** The schemas of responses. */
export const COMPONENTS = {
  Queued: object(queued, Object.keys(queued)),
  Message: object(stored, ['id', 'message', 'status', 'createdAt', 'attempts']),
  LeasedMessage: object(leased, ['id', 'message', 'status', 'createdAt', 'attempts', 'lease', 'leaseExpiresAt']),
  Page: object(
    {
      messages: {type: 'array', maxItems: LIST_MAX, items: {$ref: '#/components/schemas/Message'}},
      nextCursor: {type: ['string', 'null'], description: 'The cursor of the next page; null on the last page.'},
    },
    ['messages', 'nextCursor'],
  ),
  Claimed: object(
    {messages: {type: 'array', maxItems: CLAIM_MAX, items: {$ref: '#/components/schemas/LeasedMessage'}}},
    ['messages'],
  ),
  Settled: object({id: MESSAGE_ID, status: STATUS, attempts: ATTEMPTS}, ['id', 'status', 'attempts']),
  Problem: {
    description: 'RFC 9457. Programs should distinguish errors by `code`.',
    ...object(
      {
        title: {type: 'string'},
        status: {type: 'integer'},
        code: {type: 'string', enum: PROBLEM_CODES},
        detail: {type: 'string'},
        requestId: {type: 'string'},
        errors: {
          type: 'array',
          items: object(
            {
              detail: {type: 'string'},
              pointer: {type: 'string', description: 'JSON pointer into the body, as a URI fragment.'},
              parameter: {type: 'string', description: 'A query parameter.'},
              header: {type: 'string', description: 'A request header.'},
            },
            ['detail'],
          ),
        },
      },
      ['title', 'status', 'code', 'detail'],
    ),
  },
};

/** An object without other members. */
function object(properties: Schemas, required: readonly string[]): SchemaObject {
  return {type: 'object', properties, required, additionalProperties: false};
}
