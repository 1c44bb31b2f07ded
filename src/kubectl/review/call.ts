/** A request of which the status and the warnings are the result: a KubeClient returns neither. */

import type {HttpCall, Transport} from '../../runtime/kube/transport.ts';
import {Deadline} from '../../time/deadline.ts';

/** Longer than a webhook may take. */
const TIMEOUT_MS = 60_000;

export interface ApiAnswer {
  readonly status: number;
  /** Why it was rejected; otherwise ''. */
  readonly message: string;
  readonly warnings: readonly string[];
  readonly body: unknown;
}

export type Call = (call: {
  readonly method: HttpCall['method'];
  readonly path: string;
  readonly accept?: string;
  readonly body?: object;
  /** The user to impersonate. */
  readonly as?: string;
}) => Promise<ApiAnswer>;

/** Rejects if no answer came, or with the signal's reason. */
export function createCall(transport: Transport, userAgent: string, signal: AbortSignal): Call {
  return async ({method, path, accept = 'application/json', body: content, as}) => {
    using deadline = new Deadline(TIMEOUT_MS, signal);
    const headers = {
      ...{accept, 'user-agent': userAgent},
      ...(content && {'content-type': 'application/json'}),
      ...(as !== undefined && {'impersonate-user': as}),
    };
    const sent = {method, path, headers, signal: deadline.signal, ...(content && {body: JSON.stringify(content)})};
    const {statusCode: status, headers: received, ...response} = await transport.send(sent);
    const text = await response.body.text();
    const body = parsed(text);
    const {message = text} = status < 300 ? {message: ''} : body;
    return {status, message, warnings: [received.warning ?? []].flat().flatMap(warningsIn), body};
  };
}

/** Proxies answer with plain text. */
function parsed(text: string): {readonly message?: string} {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

/** The texts of a header `Warning`. RFC 9111, section 5.5, as the API server writes it: 299 - "text", 299 - "text" */
export function warningsIn(header: string): string[] {
  const texts = header.matchAll(/\b299 \S+ "((?:[^"\\]|\\.)*)"/g);
  return [...texts].map(([, text = '']) => Buffer.from(text.replace(/\\(.)/g, '$1'), 'latin1').toString('utf8'));
}
