/** Requests to the API server: those whose status and warnings are the result, and complete lists. */
import {Deadline} from '../base/deadline.ts';
import {Store} from '../runtime/cache/store.ts';
import type {KubeClient, ListOptions} from '../runtime/kube/client.ts';
import {isNotFound, TransportError} from '../runtime/kube/errors.ts';
import {type KubeObject, keyOf, type ResourceType} from '../runtime/kube/object.ts';
import type {HttpCall, Transport} from '../runtime/kube/transport.ts';

const TIMEOUT_MS = 30_000;

export interface ApiAnswer {
  readonly status: number;
  /** The reason for a rejection: `AlreadyExists`, `Forbidden`, ...; otherwise ''. */
  readonly reason: string;
  readonly message: string;
  readonly warnings: readonly string[];
  readonly retryAfterMs: number | undefined;
  readonly body: unknown;
}

interface ApiCall {
  readonly method: HttpCall['method'];
  readonly path: string;
  readonly body?: unknown;
  /** The user to impersonate. */
  readonly as?: string;
}

export type Call = (call: ApiCall, signal: AbortSignal) => Promise<ApiAnswer>;

/** Throws TransportError if no answer came, or the signal's reason. */
export function createCall(transport: Transport, userAgent: string): Call {
  return async ({method, path, body, as}, signal) => {
    using deadline = new Deadline(TIMEOUT_MS, signal);
    const headers = {
      accept: 'application/json',
      'user-agent': userAgent,
      ...(body !== undefined && {'content-type': 'application/json'}),
      ...(as !== undefined && {'impersonate-user': as}),
    };
    const text = body === undefined ? {} : {body: JSON.stringify(body)};
    try {
      const response = await transport.send({method, path, headers, signal: deadline.signal, ...text});
      return answerOf(response.statusCode, response.headers, await response.body.text());
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw new TransportError(`${method} ${path.split('?', 1)[0]}`, error);
    }
  };
}

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

function answerOf(status: number, headers: Headers, text: string): ApiAnswer {
  const body = parsed(text);
  const {reason = '', message = ''} = status < 300 ? {} : ((body ?? {message: text.trim().slice(0, 500)}) as Refusal);
  const seconds = Number(headers['retry-after'] ?? Number.NaN);
  return {
    status,
    reason,
    message,
    warnings: [headers.warning ?? []].flat().flatMap(warningsIn),
    retryAfterMs: Number.isFinite(seconds) ? seconds * 1000 : undefined,
    body,
  };
}

interface Refusal {
  readonly reason?: string;
  readonly message?: string;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // proxies answer with plain text
  }
}

/** The texts of a header `Warning`. RFC 9111, section 5.5, as the API server writes it: 299 - "text", 299 - "text" */
export function warningsIn(header: string): string[] {
  const texts = header.matchAll(/\b299 \S+ "((?:[^"\\]|\\.)*)"/g);
  return [...texts].map(([, text = '']) => Buffer.from(text.replace(/\\(.)/g, '$1'), 'latin1').toString('utf8'));
}

/**
 * All pages, read before anything is checked, because a continue token expires after a few minutes. Empty if the kind
 * is not installed.
 */
export async function listAll<T extends KubeObject>(
  client: KubeClient,
  resource: ResourceType<T>,
  options: ListOptions,
): Promise<T[]> {
  const items: T[] = [];
  try {
    for await (const page of client.list(resource, {timeoutMs: 60_000, ...options})) items.push(...page.items);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
  return items;
}

/** The objects in the form of the operator's caches. */
export function storeOf<T extends KubeObject>(objects: readonly T[]): Store<T> {
  const store = new Store<T>({
    onHandlerError: error => {
      throw error;
    },
  });
  store.replace(new Map(objects.map(object => [keyOf(object), object])), '1');
  return store;
}
