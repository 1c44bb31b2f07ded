/**
 * Requests to the messages API. Every answer is checked against the OpenAPI document that the service itself serves:
 * the operation must declare its status, and its content type and body must match.
 */
import {Agent, type IncomingMessage, request as requestHttp} from 'node:http';
import {connect} from 'node:net';
import {Ajv2020, type ValidateFunction} from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import {expect} from 'vitest';

export interface MessagesAnswer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests inspect any body
  readonly body: any;
}

export interface MessagesRequestOptions {
  readonly method?: string;
  /** Sent as Authorization: Bearer. */
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  /** An object is sent as JSON, with its content type. */
  readonly body?: object | string | Buffer;
  /** Chunks to write one by one, without a content length. */
  readonly chunks?: readonly (string | Buffer)[];
}

export interface Client {
  request(path: string, options?: MessagesRequestOptions): Promise<MessagesAnswer>;
  submit(key: string, message: unknown, headers?: MessagesRequestOptions['headers']): Promise<MessagesAnswer>;
  post(key: string, path: string, body?: object): Promise<MessagesAnswer>;
  get(key: string, path: string): Promise<MessagesAnswer>;
  close(): void;
}

interface Operation {
  readonly responses: Readonly<Record<string, {readonly content: Readonly<Record<string, {readonly schema: object}>>}>>;
}

interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

export async function createClient(url: string): Promise<Client> {
  const agent = new Agent({keepAlive: true, maxSockets: 128});
  const conform = conformance((await send(agent, url, '/openapi.json', {})).body);
  const request = async (path: string, options: MessagesRequestOptions = {}) => {
    const answer = await send(agent, url, path, options);
    conform(options.method ?? 'GET', path, answer);
    return answer;
  };
  return {
    request,
    submit: (key, message, headers = {}) => request('/messages', {method: 'POST', key, body: {message}, headers}),
    post: (key, path, body) => request(path, {method: 'POST', key, ...(body && {body})}),
    get: (key, path) => request(path, {key}),
    close: () => agent.destroy(),
  };
}

function send(agent: Agent, url: string, path: string, options: MessagesRequestOptions): Promise<MessagesAnswer> {
  const {method = 'GET', key, body, chunks} = options;
  const isJson = body !== undefined && typeof body === 'object' && !Buffer.isBuffer(body);
  const headers: Record<string, string | string[]> = {
    ...(key !== undefined && {authorization: `Bearer ${key}`}),
    ...((isJson || chunks) && {'content-type': 'application/json'}),
    ...options.headers,
  };
  return new Promise((resolve, reject) => {
    const request = requestHttp(`${url}${path}`, {agent, method, headers}, response => {
      resolve(read(response));
    });
    request.once('error', reject);
    for (const chunk of chunks ?? []) request.write(chunk);
    request.end(isJson ? JSON.stringify(body) : body);
  });
}

async function read(response: IncomingMessage): Promise<MessagesAnswer> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString('utf8');
  const isJson = /json/.test(response.headers['content-type'] ?? '') && text !== '';
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    text,
    body: isJson ? JSON.parse(text) : undefined,
  };
}

/** Checks an answer against the document. For a path that it does not name, the answer must be a problem. */
function conformance(document: Description): (method: string, path: string, answer: MessagesAnswer) => void {
  const ajv = new Ajv2020({strict: false, allErrors: true});
  formats.default(ajv);
  ajv.addSchema(document, 'api');
  const problem = compile(ajv, {$ref: '#/components/schemas/Problem'});
  const validators = new Map<object, ValidateFunction>();
  return (method, path, answer) => {
    const {status, headers, body} = answer;
    const operation = operationOf(document, method, path);
    if (operation === undefined) {
      expect(problem(body), JSON.stringify(problem.errors)).toBe(true);
      return;
    }
    const declared = operation.responses[status];
    if (!declared) throw new Error(`${method} ${path} answered ${status}, which /openapi.json does not declare`);
    const type = headers['content-type'] ?? '';
    const schema = declared.content[type]?.schema;
    if (!schema) throw new Error(`${method} ${path} answered ${status} as ${type}, which is not declared`);
    expect(headers['x-request-id']).toBeTruthy();
    if (method === 'HEAD') return;
    const validate = validators.get(schema) ?? compile(ajv, schema);
    validators.set(schema, validate);
    expect(validate(body), `${method} ${path} ${status}: ${JSON.stringify(validate.errors)}`).toBe(true);
  };
}

function compile(ajv: Ajv2020, schema: object): ValidateFunction {
  return ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"api#/components')));
}

function operationOf({paths}: Description, method: string, path: string): Operation | undefined {
  const [plain = ''] = path.split('?');
  const named = paths[plain] ?? paths[plain.replace(/^\/messages\/[^/]+/, '/messages/{id}')];
  return named?.[(method === 'HEAD' ? 'GET' : method).toLowerCase()];
}

/** Writes bytes to a new connection. Resolves with everything received once the server has closed it. */
export function exchange(
  port: number,
  bytes: string | Buffer,
  options: {readonly end?: boolean} = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect(port, '127.0.0.1');
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    // A reset may follow an answer to a request that was not read completely.
    socket.once('error', error => chunks.length === 0 && reject(error));
    socket.once('close', () => resolve(Buffer.concat(chunks).toString()));
    if (options.end) socket.end(bytes);
    else socket.write(bytes);
  });
}
