/** The API's description, OpenAPI 3.1. test/integration/messages checks it against the API. */
import {MESSAGE_STATUSES} from '../store/store.ts';
import {PROBLEM_CODES} from './answer.ts';
import {CLAIM_LIMIT, DELAY_SECONDS, LEASE_SECONDS, LIST_LIMIT, REASON_BYTES, REASON_LENGTH} from './parameters.ts';

const MESSAGE_ID = {
  type: 'string',
  pattern: '^msg_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$',
  description: '`msg_` and a UUIDv7: ids of one account sort by arrival.',
};
const TIMESTAMP = {type: 'string', format: 'date-time', description: 'ISO 8601, UTC.'};
const TEXT = {type: 'string', minLength: 1, description: 'The text, exactly as it was sent.'};
const LEASE = {type: 'string', minLength: 1, maxLength: 100, description: 'Identifies one claim of one message.'};
const ATTEMPTS = {type: 'integer', minimum: 0, description: 'How often a worker has claimed the message.'};
const STATUS = {
  type: 'string',
  enum: MESSAGE_STATUSES,
  description: 'queued: waiting for a worker. leased: claimed. done: acknowledged. dead: claimed too often.',
};

const queued = {
  id: MESSAGE_ID,
  message: TEXT,
  status: {type: 'string', const: 'queued'},
  createdAt: TIMESTAMP,
};
const stored = {
  ...queued,
  status: STATUS,
  attempts: ATTEMPTS,
  reason: {type: 'string', description: 'The reason given by the last worker that returned it.'},
};
const leased = {...stored, lease: LEASE, leaseExpiresAt: TIMESTAMP};

const schemas = {
  Queued: object(queued, Object.keys(queued)),
  Message: object(stored, ['id', 'message', 'status', 'createdAt', 'attempts']),
  LeasedMessage: object(leased, ['id', 'message', 'status', 'createdAt', 'attempts', 'lease', 'leaseExpiresAt']),
  Page: object(
    {
      messages: {type: 'array', maxItems: LIST_LIMIT.max, items: ref('Message')},
      nextCursor: {type: ['string', 'null'], description: 'The cursor of the next page; null on the last page.'},
    },
    ['messages', 'nextCursor'],
  ),
  Claimed: object({messages: {type: 'array', maxItems: CLAIM_LIMIT.max, items: ref('LeasedMessage')}}, ['messages']),
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

const RETRY_AFTER = {description: 'Seconds to wait.', schema: {type: 'integer', minimum: 0}};
const REQUEST_ID = {description: "The request's X-Request-Id, or a generated one.", schema: {type: 'string'}};

const problems: Readonly<Record<string, object>> = {
  400: problemResponse('The request is malformed; `code` and `errors` say how.'),
  401: problemResponse('The key is missing, not valid, or not sent as Bearer.', {
    'WWW-Authenticate': {description: 'RFC 6750.', schema: {type: 'string'}},
  }),
  403: problemResponse('The key lacks the scope of the operation.'),
  404: problemResponse('The account has no such message.'),
  405: problemResponse('The path does not support this method.'),
  408: problemResponse('The request took too long to arrive.'),
  409: problemResponse('The lease has ended.'),
  413: problemResponse('The body is too large, or has too many short chunks.'),
  422: problemResponse('The Idempotency-Key was already used with another body.'),
  429: problemResponse('The account is over a limit; `code` and `detail` say which. Retry after the time given.', {
    'Retry-After': RETRY_AFTER,
  }),
  503: problemResponse(
    'The store is full, overloaded, or unavailable, the outcome is unknown, or keys cannot be checked.',
    {
      'Retry-After': RETRY_AFTER,
    },
  ),
};
const ALWAYS = ['400', '401', '403', '405', '408', '429', '503'];

/** The document for a service with these limits. */
export function describeApi({bodyBytes, maxAttempts}: {bodyBytes: number; maxAttempts: number}): object {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Messages',
      version: '1.0.0',
      description:
        'Keeps messages until a worker has processed them. A 202 response means that the message is on disk. ' +
        'Messages belong to the account of the key. Accounts cannot see each other.',
      license: {name: 'Apache-2.0', identifier: 'Apache-2.0'},
    },
    servers: [{url: './'}],
    security: [{key: []}],
    paths: {
      '/messages': {post: submit(bodyBytes), get: list()},
      '/messages/{id}': {parameters: [idParameter()], get: get()},
      '/messages/claim': {post: claim(maxAttempts)},
      '/messages/{id}/ack': {parameters: [idParameter()], post: ack()},
      '/messages/{id}/nack': {parameters: [idParameter()], post: nack(maxAttempts)},
      '/openapi.json': {get: describe()},
    },
    components: {
      schemas,
      securitySchemes: {key: {type: 'http', scheme: 'bearer', description: 'The key of an APIKey.'}},
    },
  };
}

function submit(bodyBytes: number): object {
  return {
    operationId: 'submit',
    summary: 'Submit a message (scope messages:write)',
    description: `The body may have at most ${bodyBytes} bytes. Members other than \`message\` are ignored.`,
    parameters: [
      {
        name: 'Idempotency-Key',
        in: 'header',
        description: 'Makes repeats safe: the same key with the same body stores one message.',
        schema: {type: 'string', pattern: '^([!#-+\\--\\[\\]-~]{1,255}|"[!#-\\[\\]-~ ]{1,255}")$'},
      },
    ],
    requestBody: jsonBody(object({message: TEXT}, ['message'], true), true),
    responses: {
      202: {
        description: 'The message is stored.',
        headers: {
          'X-Request-Id': REQUEST_ID,
          Location: {description: 'The message, relative to this URL.', schema: {type: 'string'}},
          'Idempotency-Replayed': {
            description: 'Present if an earlier request stored the message.',
            schema: {const: 'true'},
          },
        },
        content: jsonContent(ref('Queued')),
      },
      ...problemsOf('413', '422'),
    },
  };
}

function list(): object {
  const parameter = (name: string, description: string, schema: object) => ({name, in: 'query', description, schema});
  return {
    operationId: 'list',
    summary: 'List messages, oldest first (scope messages:read)',
    description: 'A page may be shorter than `limit` without being the last one. Continue until `nextCursor` is null.',
    parameters: [
      parameter('limit', 'Messages on a page.', {
        type: 'integer',
        minimum: 1,
        maximum: LIST_LIMIT.max,
        default: LIST_LIMIT.default,
      }),
      parameter('cursor', 'The `nextCursor` of the previous page.', {type: 'string', pattern: MESSAGE_ID.pattern}),
      parameter('status', 'Only messages with this status.', {type: 'string', enum: MESSAGE_STATUSES}),
    ],
    responses: {200: success('A page.', 'Page'), ...problemsOf()},
  };
}

function get(): object {
  return {
    operationId: 'get',
    summary: 'Read a message (scope messages:read)',
    responses: {200: success('The message.', 'Message'), ...problemsOf('404')},
  };
}

function claim(maxAttempts: number): object {
  const members = {
    limit: {type: 'integer', minimum: 1, maximum: CLAIM_LIMIT.max, default: CLAIM_LIMIT.default},
    leaseSeconds: {type: 'integer', minimum: 1, maximum: LEASE_SECONDS.max, default: LEASE_SECONDS.default},
  };
  return {
    operationId: 'claim',
    summary: 'Claim the oldest waiting messages (scope messages:process)',
    description:
      'Each message is exclusively yours until you ack or nack it, or the lease expires; then it waits again. ' +
      `After ${maxAttempts} claims without an ack, it is dead. You may get fewer than \`limit\` messages, or none.`,
    requestBody: jsonBody(object(members, [], true), false),
    responses: {200: success('The claimed messages.', 'Claimed'), ...problemsOf('413')},
  };
}

function ack(): object {
  return {
    operationId: 'ack',
    summary: 'Acknowledge a claimed message (scope messages:process)',
    requestBody: jsonBody(object({lease: LEASE}, ['lease'], true), true),
    responses: {200: success('The message is done.', 'Settled'), ...problemsOf('404', '409', '413')},
  };
}

function nack(maxAttempts: number): object {
  const members = {
    lease: LEASE,
    delaySeconds: {type: 'integer', minimum: 0, maximum: DELAY_SECONDS.max, default: DELAY_SECONDS.default},
    reason: {
      type: 'string',
      maxLength: REASON_LENGTH,
      description: `Only the first ${REASON_BYTES} bytes in UTF-8 are kept. If the account has reached its storage quota, the reason is not kept.`,
    },
  };
  return {
    operationId: 'nack',
    summary: 'Return a claimed message (scope messages:process)',
    description: `The message waits again and can be claimed after \`delaySeconds\`. If it was claimed ${maxAttempts} times, it is dead.`,
    requestBody: jsonBody(object(members, ['lease'], true), true),
    responses: {200: success('The message is queued or dead.', 'Settled'), ...problemsOf('404', '409', '413')},
  };
}

function describe(): object {
  const responses = {
    200: {description: 'An OpenAPI 3.1 document.', content: jsonContent({type: 'object'})},
    405: problems[405],
  };
  return {operationId: 'describe', summary: 'This document', security: [], responses};
}

function idParameter(): object {
  return {name: 'id', in: 'path', required: true, schema: {type: 'string', minLength: 1}};
}

function object(properties: object, required: readonly string[], open = false): object {
  return {type: 'object', properties, required, ...(!open && {additionalProperties: false})};
}

function ref(name: 'Queued' | 'Message' | 'LeasedMessage' | 'Page' | 'Claimed' | 'Settled'): object {
  return {$ref: `#/components/schemas/${name}`};
}

function jsonContent(schema: object): object {
  return {'application/json': {schema}};
}

function jsonBody(schema: object, required: boolean): object {
  return {required, content: jsonContent(schema)};
}

function success(description: string, schema: 'Page' | 'Message' | 'Claimed' | 'Settled'): object {
  return {description, headers: {'X-Request-Id': REQUEST_ID}, content: jsonContent(ref(schema))};
}

function problemResponse(description: string, headers: object = {}): object {
  const content = {'application/problem+json': {schema: {$ref: '#/components/schemas/Problem'}}};
  return {description, headers: {'X-Request-Id': REQUEST_ID, ...headers}, content};
}

function problemsOf(...more: readonly string[]): object {
  return Object.fromEntries([...ALWAYS, ...more].map(status => [status, problems[status]]));
}
