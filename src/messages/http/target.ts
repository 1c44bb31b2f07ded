/** From the head of a request to its operation, by RFC 9112, sections 3.2 and 5. */
import type {IncomingMessage} from 'node:http';
import {type Answer, problem} from './answer.ts';
import {type ApiOperation, OPERATIONS} from './operations.ts';
import {storedId} from './schemas.ts';

export interface Target {
  readonly operation: ApiOperation;
  /** The message id in the path, as the store has it; undefined if it cannot be an id. */
  readonly id: string | undefined;
  readonly query: string;
}

/** Beyond this number, Node drops headers. A proxy adds about ten to those of the client. */
export const MAX_HEADERS = 100;
/** No operation needs more than a tenth of it, and what is longer takes long to decode. */
const MAX_TARGET = 2048;

/** The absolute form, which clients send to a proxy, but servers must accept, too. */
const ABSOLUTE = /^https?:\/\/[^/?#]+/i;
/** RFC 3986, section 3.2.2, with an optional port. Two lines would be joined by a comma and a space. */
const HOST = /^(?:\[[\da-f:.v]+\]|[\w.~%!$&'()*+,;=-]*)(?::\d*)?$/i;
const MESSAGE_PATH = /^\/messages\/(?<id>[^/]+)(?<verb>\/[^/]+)?$/;
const PATHS = Map.groupBy(OPERATIONS, ({path}) => path);

/** The target of a request, or the response to one whose head is not valid or that has no operation. */
export function targetOf(request: IncomingMessage): Target | Answer {
  const fault = faultOf(request);
  if (fault) return fault;
  const {url = '', method} = request;
  const local = url.slice(ABSOLUTE.exec(url)?.[0].length ?? 0);
  if (!/^(?:\/|\?|\*$|$)/.test(local)) {
    return problem(400, 'malformed_request', 'The target must be a path, or an http(s) URL.');
  }
  const mark = local.indexOf('?');
  const [path, query] = mark === -1 ? [local, ''] : [local.slice(0, mark), local.slice(mark + 1)];
  const {id = '', verb = ''} = MESSAGE_PATH.exec(path)?.groups ?? {};
  const operations = PATHS.get(path) ?? (id === '' ? undefined : PATHS.get(`/messages/{id}${verb}`));
  if (operations === undefined) return problem(404, 'not_found', 'There is nothing at this path. See /openapi.json.');
  // HEAD is GET without the body, which Node omits automatically.
  const wanted = method === 'HEAD' ? 'GET' : method;
  const operation = operations.find(each => each.method === wanted);
  if (operation) return {operation, id: storedId(id), query};
  const allow = operations.flatMap(each => (each.method === 'GET' ? ['GET', 'HEAD'] : [each.method])).join(', ');
  return problem(405, 'method_not_allowed', 'The path does not support this method.', {headers: {allow}});
}

function faultOf({url = '', headers, rawHeaders, httpVersion}: IncomingMessage): Answer | undefined {
  if (rawHeaders.length > 2 * MAX_HEADERS) {
    return problem(431, 'headers_too_large', `There are too many headers. Send at most ${MAX_HEADERS}.`);
  }
  if (url.length > MAX_TARGET) {
    return problem(414, 'uri_too_long', `The path and the query are too long. Send at most ${MAX_TARGET} characters.`);
  }
  const {host} = headers;
  if (host === undefined && httpVersion === '1.1') return malformed('The Host header is missing.');
  if (host !== undefined && !HOST.test(host)) return malformed('The Host header is not a host, or is given twice.');
  const coding = headers['transfer-encoding'];
  if (coding === undefined) return undefined;
  if (httpVersion === '1.0') {
    return problem(400, 'malformed_request', 'HTTP/1.0 has no Transfer-Encoding: send Content-Length.');
  }
  if (coding.toLowerCase() === 'chunked') return undefined;
  return problem(501, 'unsupported_transfer_coding', 'Send the body as it is, or with Transfer-Encoding: chunked.');
}

function malformed(detail: string): Answer {
  return problem(400, 'malformed_request', detail, {errors: [{detail, header: 'Host'}]});
}
