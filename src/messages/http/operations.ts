/** The operations of the API. The schemas of each validate its requests, and describe them in the OpenAPI document. */
import type {Scope} from '../../apikey/authenticator.ts';
import type {MessageStatus} from '../store/store.ts';
import {
  CLAIM_MAX,
  type COMPONENTS,
  CURSOR,
  IDEMPOTENCY_KEY,
  integerBetween,
  LEASE_TOKEN,
  LIST_MAX,
  REASON,
  type Schemas,
  STATUS,
  TEXT,
} from './schemas.ts';

export type KeyedOperation = OperationOf<keyof Inputs, Scope>;
export type ApiOperation = KeyedOperation | OperationOf<'describe', undefined>;

interface OperationOf<Name, KeyScope> {
  /** The name in the OpenAPI document and the metrics. */
  readonly name: Name;
  readonly scope: KeyScope;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly summary: string;
  readonly description?: (limits: DescribedLimits) => string;
  /** Other parameters are rejected: a misspelled filter would show what it was meant to hide. */
  readonly query?: Schemas;
  readonly headers?: Schemas;
  /** Other members are ignored. */
  readonly body?: {
    readonly properties: Schemas;
    readonly required?: readonly string[];
    /** An absent body counts as an empty object. */
    readonly orNone?: boolean;
    /** The maximum size; by default, the configured one. */
    readonly limitBytes?: number;
  };
  readonly success: {
    readonly status: 200 | 202;
    readonly description: string;
    readonly schema?: keyof typeof COMPONENTS;
    readonly headers?: object;
  };
  /** Problems in addition to those that any operation may return. */
  readonly problems?: readonly string[];
}

/** The limits that the descriptions of operations mention. */
export interface DescribedLimits {
  readonly bodyBytes: number;
  readonly maxAttempts: number;
}

/** The input that the schemas let through. Names of headers are in lower case, as Node's are. */
export interface Inputs {
  readonly submit: {readonly headers: {readonly 'idempotency-key'?: string}; readonly body: {readonly message: string}};
  readonly list: {readonly query: {readonly limit: number; readonly cursor?: string; readonly status?: MessageStatus}};
  readonly get: object;
  readonly claim: {readonly body: {readonly limit: number; readonly leaseSeconds: number}};
  readonly ack: {readonly body: {readonly lease: string}};
  readonly nack: {readonly body: {readonly lease: string; readonly delaySeconds: number; readonly reason?: string}};
}

/** Several times what a claim or an ack needs. */
const SMALL_BODY_BYTES = 4096;
/** Enough for the longest reason, even if each of its characters is escaped as two surrogates. */
const NACK_BODY_BYTES = 16_384;

export const OPERATIONS: readonly ApiOperation[] = [
  {
    name: 'submit',
    method: 'POST',
    path: '/messages',
    scope: 'messages:write',
    summary: 'Submit a message',
    description: ({bodyBytes}) =>
      `The body may have at most ${bodyBytes} bytes. Members other than \`message\` are ignored.`,
    headers: {
      'Idempotency-Key': {
        description: 'Makes repeats safe: the same key with the same body stores one message.',
        ...IDEMPOTENCY_KEY,
      },
    },
    body: {properties: {message: TEXT}, required: ['message']},
    success: {
      status: 202,
      description: 'The message is stored.',
      schema: 'Queued',
      headers: {
        Location: {description: 'The message, relative to this URL.', schema: {type: 'string'}},
        'Idempotency-Replayed': {
          description: 'Present if an earlier request stored the message.',
          schema: {const: 'true'},
        },
      },
    },
    problems: ['413', '422'],
  },
  {
    name: 'list',
    method: 'GET',
    path: '/messages',
    scope: 'messages:read',
    summary: 'List messages, oldest first',
    description: () =>
      'A page may be shorter than `limit` without being the last one. Continue until `nextCursor` is null.',
    query: {
      limit: {description: 'Messages on a page.', ...integerBetween(1, LIST_MAX, 20)},
      cursor: {description: 'The `nextCursor` of the previous page.', ...CURSOR},
      status: {...STATUS, description: 'Only messages with this status.'},
    },
    success: {status: 200, description: 'A page.', schema: 'Page'},
  },
  {
    name: 'get',
    method: 'GET',
    path: '/messages/{id}',
    scope: 'messages:read',
    summary: 'Read a message',
    success: {status: 200, description: 'The message.', schema: 'Message'},
    problems: ['404'],
  },
  {
    name: 'claim',
    method: 'POST',
    path: '/messages/claim',
    scope: 'messages:process',
    summary: 'Claim the oldest waiting messages',
    description: ({maxAttempts}) =>
      'Each message is exclusively yours until you ack or nack it, or the lease expires; then it waits again. ' +
      `After ${maxAttempts} claims without an ack, it is dead. You may get fewer than \`limit\` messages, or none.`,
    body: {
      properties: {limit: integerBetween(1, CLAIM_MAX, 1), leaseSeconds: integerBetween(1, 43_200, 30)},
      orNone: true,
      limitBytes: SMALL_BODY_BYTES,
    },
    success: {status: 200, description: 'The claimed messages.', schema: 'Claimed'},
    problems: ['413'],
  },
  {
    name: 'ack',
    method: 'POST',
    path: '/messages/{id}/ack',
    scope: 'messages:process',
    summary: 'Acknowledge a claimed message',
    body: {properties: {lease: LEASE_TOKEN}, required: ['lease'], orNone: true, limitBytes: SMALL_BODY_BYTES},
    success: {status: 200, description: 'The message is done.', schema: 'Settled'},
    problems: ['404', '409', '413'],
  },
  {
    name: 'nack',
    method: 'POST',
    path: '/messages/{id}/nack',
    scope: 'messages:process',
    summary: 'Return a claimed message',
    description: ({maxAttempts}) =>
      `The message waits again and can be claimed after \`delaySeconds\`. If it was claimed ${maxAttempts} times, it is dead.`,
    body: {
      properties: {lease: LEASE_TOKEN, delaySeconds: integerBetween(0, 86_400, 0), reason: REASON},
      required: ['lease'],
      orNone: true,
      limitBytes: NACK_BODY_BYTES,
    },
    success: {status: 200, description: 'The message is queued or dead.', schema: 'Settled'},
    problems: ['404', '409', '413'],
  },
  {
    name: 'describe',
    method: 'GET',
    path: '/openapi.json',
    scope: undefined,
    summary: 'This document',
    success: {status: 200, description: 'An OpenAPI 3.1 document.'},
  },
];
