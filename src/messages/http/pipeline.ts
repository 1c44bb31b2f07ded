import type {IncomingMessage, ServerResponse} from 'node:http';
import type {Socket} from 'node:net';

/** Requests of one connection that are worked on at once. */
const ACTIVE = 4;
/** No further request is started while so many bytes of answers wait for their reader. */
const UNREAD_BYTES = 64 * 1024;
/** Requests of all connections that may have been read beyond those: some KiB each, before anybody knows whose they are. */
const WAITING_TOTAL = 2048;
/** What every connection may have of these beyond the total. */
const WAITING_SHARE = 4;

/**
 * The requests of one connection. HTTP/1.1 lets a client send many without waiting for answers (RFC 9112, section 9.3.2);
 * node:http would start them all, and hold every answer until the client reads it. Here some are worked on, the others
 * wait, and while any waits nothing more is read.
 */
class Pipeline {
  readonly #socket: Socket;
  readonly #backlog: Backlog;
  readonly #onLeft: (socket: Socket, response: ServerResponse) => void;
  readonly #active = new Set<ServerResponse>();
  #waiting: (readonly [ServerResponse, () => void])[] = [];
  #paused = false;
  #gating = false;
  /** Since when an answer waits for its reader, as `cutUnread` has seen it. */
  #unreadSince: number | undefined;

  constructor(socket: Socket, backlog: Backlog, onLeft: (socket: Socket, response: ServerResponse) => void) {
    this.#socket = socket;
    this.#backlog = backlog;
    this.#onLeft = onLeft;
  }

  /** Responses whose request has been seen and that have not left entirely. */
  get open(): readonly ServerResponse[] {
    return [...this.#active, ...this.#waiting.map(([response]) => response)];
  }

  /** Calls `start` now or when its turn comes; a connection that is far ahead of its answers is cut. */
  add(response: ServerResponse, start: () => void): void {
    if (this.#socket.destroyed) return;
    if (this.#mayStart()) {
      this.#start(response, start);
    } else {
      this.#pause(); // Now: else the kernel's whole buffer is read within this turn.
      this.#waiting.push([response, start]);
      this.#backlog.size += 1;
      if (this.#isTooFarAhead()) this.cut();
    }
    this.#gate();
  }

  /** Cuts a connection with an answer that was not read within `limitMs`; `now` in milliseconds. To be called often. */
  cutUnread(now: number, limitMs: number): void {
    // Answers leave in the order of their requests, so the first one stands for all.
    const [first] = this.#active;
    if (first === undefined || !first.writableEnded) this.#unreadSince = undefined;
    else this.#unreadSince ??= now;
    if (this.#unreadSince !== undefined && now - this.#unreadSince >= limitMs) this.cut();
  }

  cut(): void {
    this.#socket.destroy();
  }

  /**
   * For a connection that has closed. Not when it is cut: Node keeps its requests until then, and a hundred connections
   * that were read in the same turn would each fill what the one before them has given back.
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
    if (this.#active.size >= ACTIVE) return false;
    let unread = 0;
    for (const {writableEnded, writableLength} of this.#active) if (writableEnded) unread += writableLength;
    return unread < UNREAD_BYTES;
  }

  #start(response: ServerResponse, start: () => void): void {
    this.#active.add(response);
    response.once('close', () => {
      this.#active.delete(response);
      this.#onLeft(this.#socket, response);
      this.#unreadSince = undefined;
      this.#startNext();
      this.#gate();
    });
    start();
  }

  #startNext(): void {
    while (this.#waiting.length > 0 && !this.#socket.destroyed && this.#mayStart()) {
      const next = this.#waiting.shift();
      this.#backlog.size -= 1;
      if (next) this.#start(...next);
    }
  }

  /** At the end of the turn: reading the body of any request opens the connection again. */
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

/** How many requests wait on all connections. */
interface Backlog {
  size: number;
}

/** The pipelines of all connections that have sent a request. */
export class Pipelines {
  readonly #pipelines = new Map<Socket, Pipeline>();
  readonly #backlog: Backlog = {size: 0};
  readonly #onLeft: (socket: Socket, response: ServerResponse) => void;

  /** `onLeft`: a request that was started has been answered, or its connection is gone. */
  constructor(onLeft: (socket: Socket, response: ServerResponse) => void) {
    this.#onLeft = onLeft;
  }

  of(socket: Socket): Pipeline {
    let pipeline = this.#pipelines.get(socket);
    if (pipeline === undefined) {
      const made = new Pipeline(socket, this.#backlog, this.#onLeft);
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

/** What Node's server has on each socket; not documented, and tested in pipeline.test.ts. */
interface Parser {
  onIncoming?: (request: IncomingMessage, keepAlive: boolean) => number;
}

/**
 * Lets the parser stop where its connection is cut. By itself it goes on to the end of what was read, which may be more
 * than 2,000 requests, and makes some KiB of objects of each.
 */
export function stopParserWhenCut(socket: Socket): void {
  const {parser} = socket as Socket & {readonly parser?: Parser};
  const onIncoming = parser?.onIncoming;
  if (parser === undefined || onIncoming === undefined) return;
  // Any number but 0, 1 and 2 is an error to the parser.
  parser.onIncoming = (request, keepAlive) => (socket.destroyed ? -1 : onIncoming(request, keepAlive));
}
