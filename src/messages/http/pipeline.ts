import type {IncomingMessage, ServerResponse} from 'node:http';
import type {Socket} from 'node:net';

/** How many requests of one connection are processed at the same time. */
const ACTIVE = 4;
/** No further request is started while this many bytes of responses are unread. */
const UNREAD_BYTES = 64 * 1024;
/** How many more requests may have been read on all connections. Each takes a few KiB. */
const WAITING_TOTAL = 2048;
/** How many of these every connection may have even if the total is used up. */
const WAITING_SHARE = 4;

/** Starts a request. Returns a function to call when its response has been sent or its connection was closed. */
type Start = () => () => void;

/**
 * The requests of one connection. With HTTP/1.1, a client may send many without waiting for responses (RFC 9112,
 * section 9.3.2). node:http would start all of them and hold every response until the client reads it. This class
 * processes a few at a time. The others wait, and while any is waiting, nothing more is read.
 */
class Pipeline {
  readonly #socket: Socket;
  readonly #backlog: Backlog;
  /** In the order of their requests. An array, because a Set would keep them longer; see app.ts. */
  readonly #active: ServerResponse[] = [];
  #waiting: (readonly [ServerResponse, Start])[] = [];
  #paused = false;
  #gating = false;
  /** Since when a response has been unread, as seen by `cutUnread`. */
  #unreadSince: number | undefined;

  constructor(socket: Socket, backlog: Backlog) {
    this.#socket = socket;
    this.#backlog = backlog;
  }

  /** Responses that are not completely sent, one per request seen. */
  get open(): readonly ServerResponse[] {
    return [...this.#active, ...this.#waiting.map(([response]) => response)];
  }

  /** Calls `start` now or later. Closes a connection that is too far ahead of its responses. */
  add(response: ServerResponse, start: Start): void {
    if (this.#socket.destroyed) return;
    if (this.#mayStart()) {
      this.#start(response, start);
    } else {
      this.#pause(); // Now, or the kernel's whole buffer would be read within this turn of the event loop.
      this.#waiting.push([response, start]);
      this.#backlog.size += 1;
      if (this.#isTooFarAhead()) this.cut();
    }
    this.#gate();
  }

  /** Closes a connection whose response was not read within `limitMs`; `now` is in milliseconds. Call this often. */
  cutUnread(now: number, limitMs: number): void {
    // Responses are sent in the order of their requests, so checking the first one is enough.
    const [first] = this.#active;
    if (first === undefined || !first.writableEnded) this.#unreadSince = undefined;
    else this.#unreadSince ??= now;
    if (this.#unreadSince !== undefined && now - this.#unreadSince >= limitMs) this.cut();
  }

  cut(): void {
    this.#socket.destroy();
  }

  /**
   * For a connection that has closed. Not called earlier, when the connection is cut: Node keeps its requests until
   * it closes, and a hundred connections read in the same turn would each reuse the room that the previous one freed.
   */
  release(): void {
    this.#backlog.size -= this.#waiting.length;
    this.#waiting = [];
  }

  #isTooFarAhead(): boolean {
    const {length} = this.#waiting;
    return length > WAITING_SHARE && this.#backlog.size > WAITING_TOTAL;
  }

  #mayStart(): boolean {
    if (this.#active.length >= ACTIVE) return false;
    let unread = 0;
    for (const {writableEnded, writableLength} of this.#active) if (writableEnded) unread += writableLength;
    return unread < UNREAD_BYTES;
  }

  #start(response: ServerResponse, start: Start): void {
    this.#active.push(response);
    const left = start();
    response.on('close', () => {
      const place = this.#active.indexOf(response);
      if (place === -1) return;
      this.#active.splice(place, 1);
      left();
      this.#unreadSince = undefined;
      this.#startNext();
      this.#gate();
    });
  }

  #startNext(): void {
    while (this.#waiting.length > 0 && !this.#socket.destroyed && this.#mayStart()) {
      const next = this.#waiting.shift();
      this.#backlog.size -= 1;
      if (next) this.#start(...next);
    }
  }

  /** At the end of the event loop's turn: reading any request's body resumes the connection. */
  #gate(): void {
    if (this.#gating || (this.#waiting.length === 0 && !this.#paused)) return;
    this.#gating = true;
    setImmediate(() => {
      this.#gating = false;
      if (this.#socket.destroyed) return;
      if (this.#waiting.length > 0) this.#pause();
      else if (this.#paused) this.#socket.resume();
      this.#paused = this.#waiting.length > 0;
    });
  }

  #pause(): void {
    this.#paused = true;
    this.#socket.pause();
  }
}

/** The number of waiting requests on all connections. */
interface Backlog {
  size: number;
}

/** The pipelines of all connections that have sent a request. */
export class Pipelines {
  readonly #pipelines = new Map<Socket, Pipeline>();
  readonly #backlog: Backlog = {size: 0};

  of(socket: Socket): Pipeline {
    let pipeline = this.#pipelines.get(socket);
    if (pipeline === undefined) {
      const made = new Pipeline(socket, this.#backlog);
      this.#pipelines.set(socket, made);
      socket.once('close', () => {
        made.release();
        this.#pipelines.delete(socket);
      });
      pipeline = made;
    }
    return pipeline;
  }

  closeAfterAnswer(): void {
    for (const {open} of this.#pipelines.values()) {
      for (const response of open) response.shouldKeepAlive = false;
    }
  }

  cutUnread(now: number, limitMs: number): void {
    for (const pipeline of this.#pipelines.values()) pipeline.cutUnread(now, limitMs);
  }
}

/** Undocumented properties of each socket of Node's server; tested in pipeline.test.ts. */
interface Parser {
  onIncoming?: (request: IncomingMessage, keepAlive: boolean) => number;
}

/**
 * Makes the parser stop when its connection is cut. Otherwise, it continues to the end of what was read, which may be
 * more than 2,000 requests, and allocates a few KiB for each.
 */
export function stopParserWhenCut(socket: Socket): void {
  const {parser} = socket as Socket & {readonly parser?: Parser};
  const onIncoming = parser?.onIncoming;
  if (parser === undefined || onIncoming === undefined) return;
  // The parser treats any number except 0, 1, and 2 as an error.
  parser.onIncoming = (request, keepAlive) => (socket.destroyed ? -1 : onIncoming(request, keepAlive));
}
