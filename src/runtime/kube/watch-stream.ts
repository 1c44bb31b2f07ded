import type {WatchEvent} from './calls.ts';
import {ApiError, type ApiStatus} from './errors.ts';
import type {KubeObject} from './object.ts';

const LINE_FEED = 0x0a;

/** Splits a stream of UTF-8 into lines without the line feed. Skips empty lines. */
export class LineSplitter {
  /** The beginning of a line whose end has not arrived. */
  #pending: Buffer[] = [];

  /** The lines that end in this chunk. */
  *push(chunk: Buffer): Generator<string, void, undefined> {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      this.#pending.push(chunk.subarray(start, end));
      start = end + 1;
      const line = this.#takePending();
      if (line) yield line;
    }
    if (start < chunk.length) this.#pending.push(chunk.subarray(start));
  }

  /** Call this at the end of the stream. Throws inside a line: the connection was cut, even if it seemed to end. */
  end(): void {
    const {length} = this.#takePending();
    if (length > 0) throw new Error(`the stream ended inside a line, after ${length} characters of it`);
  }

  #takePending(): string {
    const [first, ...others] = this.#pending;
    this.#pending = [];
    const bytes = first && others.length > 0 ? Buffer.concat([first, ...others]) : first;
    return bytes?.toString() ?? '';
  }
}

interface RawEvent {
  readonly type: string;
  readonly object: KubeObject & ApiStatus;
}

/** The annotation of the bookmark after all initial events (KEP-3157). */
const INITIAL_EVENTS_END = 'k8s.io/initial-events-end';

/** Throws `ApiError` for an ERROR event and other errors for what is no event. Undefined for unknown types. */
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
