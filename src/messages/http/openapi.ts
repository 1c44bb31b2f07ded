/** The API's description, in OpenAPI 3.1. test/integration/messages checks it against the API. */
import {type ApiOperation, type DescribedLimits, OPERATIONS} from './operations.ts';
import {COMPONENTS, type Schemas} from './schemas.ts';

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
  413: problemResponse('The body is too large, or has too many short chunks or extensions of chunks.'),
  414: problemResponse('The path and the query are too long.'),
  422: problemResponse('The Idempotency-Key was already used with another body.'),
  429: problemResponse('The account is over a limit; `code` and `detail` say which. Retry after the time given.', {
    'Retry-After': RETRY_AFTER,
  }),
  431: problemResponse('The headers are too large, or too many.'),
  501: problemResponse('The Transfer-Encoding is not chunked.'),
  503: problemResponse(
    'The store is full, overloaded, or unavailable, the outcome is unknown, or keys cannot be checked.',
    {
      'Retry-After': RETRY_AFTER,
    },
  ),
};
const ANY = ['400', '405', '408', '414', '429', '431', '501'];
const KEYED = [...ANY, '401', '403', '503'];

/** The document for a service with these limits. */
export function describeApi(limits: DescribedLimits): object {
  const paths: Record<string, object> = {};
  for (const operation of OPERATIONS) {
    const {path, method} = operation;
    const isOfMessage = path.includes('{id}');
    paths[path] ??= isOfMessage ? {parameters: [ID]} : {};
    Object.assign(paths[path], {[method.toLowerCase()]: describe(operation, limits)});
  }
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
    paths,
    components: {
      schemas: COMPONENTS,
      securitySchemes: {key: {type: 'http', scheme: 'bearer', description: 'The key of an APIKey.'}},
    },
  };
}

const ID = {name: 'id', in: 'path', required: true, schema: {type: 'string', minLength: 1}};

function describe(operation: ApiOperation, limits: DescribedLimits): object {
  const {name, scope, summary, description, query = {}, headers = {}, body, success} = operation;
  const content = {'application/json': {schema: success.schema ? ref(success.schema) : {type: 'object'}}};
  const parameters = [...parametersIn('query', query), ...parametersIn('header', headers)];
  const codes = scope === undefined ? ANY : [...KEYED, ...(operation.problems ?? [])];
  return {
    operationId: name,
    summary: scope === undefined ? summary : `${summary} (scope ${scope})`,
    ...(description && {description: description(limits)}),
    ...(scope === undefined && {security: []}),
    ...(parameters.length > 0 && {parameters}),
    ...(body && {
      requestBody: {
        required: body.required !== undefined,
        content: {'application/json': {schema: {type: 'object', properties: body.properties, required: body.required}}},
      },
    }),
    responses: {
      [success.status]: {
        description: success.description,
        ...(scope !== undefined && {headers: {'X-Request-Id': REQUEST_ID, ...success.headers}}),
        content,
      },
      ...Object.fromEntries(codes.map(status => [status, problems[status]])),
    },
  };
}

function parametersIn(place: 'query' | 'header', schemas: Schemas): readonly object[] {
  return Object.entries(schemas).map(([name, {description, ...schema}]) => ({name, in: place, description, schema}));
}

function problemResponse(description: string, headers: object = {}): object {
  const content = {'application/problem+json': {schema: ref('Problem')}};
  return {description, headers: {'X-Request-Id': REQUEST_ID, ...headers}, content};
}

function ref(name: keyof typeof COMPONENTS): object {
  return {$ref: `#/components/schemas/${name}`};
}
