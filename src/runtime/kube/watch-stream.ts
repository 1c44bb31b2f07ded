import type {WatchEvent} from './client.ts';
import {ApiError, type ApiStatus} from './errors.ts';
import type {KubeObject} from './object.ts';

/** The stream ended inside a line, so the connection was cut, even if it seemed to end normally. */
export class TruncatedStreamError extends Error {
  override readonly name = 'TruncatedStreamError';

  constructor(length: number) {
    super(`the stream ended inside a line, after ${length} characters of it`);
  }
}

/** Splits a stream of bytes into lines without the line feed. Skips empty lines. */
export async function* splitLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  let pending: string[] = [];
  for await (const chunk of chunks) {
    const text = decoder.decode(chunk, {stream: true});
    let start = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
      pending.push(text.slice(start, end));
      const line = pending.join('');
      pending = [];
      start = end + 1;
      if (line) yield line;
    }
    if (start < text.length) pending.push(text.slice(start));
  }
  const rest = pending.join('') + decoder.decode();
  if (rest) throw new TruncatedStreamError(rest.length);
}

interface RawEvent {
  readonly type: string;
  readonly object: KubeObject & ApiStatus;
}

/** The annotation of the bookmark after all initial events (KEP-3157). */
const INITIAL_EVENTS_END = 'k8s.io/initial-events-end';

/** Throws `ApiError` for an ERROR event and `SyntaxError` for a line that is not JSON. Undefined for unknown types. */
export function parseWatchEvent<T extends KubeObject>(call: string, line: string): WatchEvent<T> | undefined {
  const event = JSON.parse(line) as RawEvent;
  switch (event.type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return {type: event.type, object: event.object as unknown as T};
    case 'BOOKMARK': {
      const {resourceVersion, annotations} = event.object.metadata;
      if (!resourceVersion) return undefined;
      return {type: 'BOOKMARK', resourceVersion, initialEventsEnd: annotations?.[INITIAL_EVENTS_END] === 'true'};
    }
    case 'ERROR':
      throw new ApiError(call, event.object.code ?? 500, event.object);
    default:
      return undefined;
  }
}
