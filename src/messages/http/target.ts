/** The target of a request, by RFC 9112, sections 3.2 and 5. */
import type {IncomingMessage} from 'node:http';
import {type Answer, problem} from './answer.ts';

export interface Target {
  readonly path: string;
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

/** The path and the query of a request, or the response to one whose head is not valid. */
export function targetOf({url = '', headers, rawHeaders, httpVersion}: IncomingMessage): Target | Answer {
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
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') {
    return problem(501, 'unsupported_transfer_coding', 'Send the body as it is, or with Transfer-Encoding: chunked.');
  }
  const authority = ABSOLUTE.exec(url)?.[0] ?? '';
  const local = url.slice(authority.length);
  if (!/^(?:\/|\?|\*$|$)/.test(local))
    return problem(400, 'malformed_request', 'The target must be a path, or an http(s) URL.');
  const mark = local.indexOf('?');
  const [path, query] = mark === -1 ? [local, ''] : [local.slice(0, mark), local.slice(mark + 1)];
  return {path: path === '' ? '/' : path, query};
}

function malformed(detail: string): Answer {
  return problem(400, 'malformed_request', detail, {errors: [{detail, header: 'Host'}]});
}
