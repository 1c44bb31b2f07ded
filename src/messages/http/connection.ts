/** One connection: it has one request at a time, and a client is told before it is closed. */
import type {IncomingMessage, ServerResponse} from 'node:http';
import type {Socket} from 'node:net';
import type {Connections} from '../../operations/connections.ts';

/** An undocumented property of each socket of Node's server; tested in connection.test.ts. */
interface Parser {
  onIncoming?: (request: IncomingMessage, keepAlive: boolean) => number;
}

/** The parser takes any number except 0, 1, and 2 as an error, and parses nothing more. */
const STOP = -1;
/**
 * How much of the rest is read and dropped, so that its sender sees the response: if a connection is closed with
 * something unread, the peer may lose what it was sent (RFC 9112, section 9.6).
 */
const DISCARD_BYTES = 1 << 20;
/** How long the client has to close the connection, after the response. */
const LINGER_MS = 1000;

/** Whether the payer can pay for dropping this many bytes. */
type Payment = (bytes: number) => boolean;

export class Connection {
  readonly #socket: Socket;
  readonly #connections: Connections;
  readonly #payStranger: Payment;
  #response: ServerResponse | undefined;
  /** Since when the response has been unread, as seen by `cutUnread`. */
  #unreadSince: number | undefined;
  #isCut = false;

  /** `payStranger`: pays for what nobody's key pays for, such as the requests after the current one. */
  constructor(socket: Socket, connections: Connections, payStranger: Payment) {
    this.#socket = socket;
    this.#connections = connections;
    this.#payStranger = payStranger;
    const {parser} = socket as Socket & {readonly parser?: Parser};
    const onIncoming = parser?.onIncoming;
    if (parser === undefined || onIncoming === undefined) return;
    parser.onIncoming = (request, keepAlive) => {
      // With HTTP/1.1, a client may send requests before it has the response to the previous one. It must be ready to
      // send them again (RFC 9112, section 9.3.2): they are not parsed, and the response says that it is the last one.
      if (this.#response !== undefined) this.cut();
      if (this.#isCut || socket.destroyed) return STOP;
      onIncoming(request, keepAlive);
      return this.#isCut ? STOP : 0;
    };
    const destroySoon = socket.destroySoon.bind(socket);
    socket.destroySoon = () => (this.#isCut ? this.#linger() : destroySoon());
  }

  /** The response to the current request, until it was sent. */
  get response(): ServerResponse | undefined {
    return this.#response;
  }

  /** Whether nothing more is parsed. */
  get isCut(): boolean {
    return this.#isCut;
  }

  begin(response: ServerResponse): void {
    this.#response = response;
    this.#connections.begin(this.#socket);
  }

  end(): void {
    this.#response = undefined;
    this.#unreadSince = undefined;
    this.#connections.end(this.#socket);
  }

  /** The request will be rejected: if there are too many connections, close this one first. */
  spend(): void {
    this.#connections.spend(this.#socket);
  }

  /**
   * Parses nothing more, and closes the connection after the current response, which says so. Anything that still arrives
   * is dropped, as long as `pay` returns true.
   */
  cut(pay = this.#payStranger): void {
    if (this.#isCut) return;
    this.#isCut = true;
    const response = this.#response;
    if (response && !response.headersSent) response.shouldKeepAlive = false;
    // Not in the middle of what the parser is reading.
    process.nextTick(() => this.#discard(pay));
  }

  /** Closes the connection if its response was not read within `limitMs`; `now` is in milliseconds. Call this often. */
  cutUnread(now: number, limitMs: number): void {
    if (!this.#response?.writableEnded) this.#unreadSince = undefined;
    else this.#unreadSince ??= now;
    if (this.#unreadSince !== undefined && now - this.#unreadSince >= limitMs) this.#socket.destroy();
  }

  #discard(pay: Payment): void {
    const socket = this.#socket;
    if (socket.destroyed) return;
    let left = DISCARD_BYTES;
    // Without Node's own listeners, nothing reaches the parser.
    socket.removeAllListeners('data');
    socket.removeAllListeners('end');
    socket.on('data', (chunk: Buffer) => {
      left -= chunk.length;
      if (left < 0 || !pay(chunk.length)) socket.pause();
    });
    // The client has left, or has got the response.
    socket.on('end', () => (this.#response ? socket.destroy() : this.#linger()));
    socket.resume();
  }

  #linger(): void {
    const socket = this.#socket;
    if (socket.readableEnded) {
      if (socket.writableFinished) socket.destroy();
      else socket.once('finish', () => socket.destroy());
    }
    if (!socket.writableEnded) {
      const end = setTimeout(() => socket.destroy(), LINGER_MS);
      socket.once('close', () => clearTimeout(end));
      socket.end();
    }
  }
}
