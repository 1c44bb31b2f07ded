import type {ServerResponse} from 'node:http';
import type {Socket} from 'node:net';

/** Requests of one connection that are worked on at once. */
const ACTIVE = 16;
/** Requests that may have been read beyond those, which is what a few segments of the smallest ones hold. */
const WAITING = 2048;

/**
 * The requests of one connection. HTTP/1.1 lets a client send many without waiting for answers (RFC 9112, section 9.3.2);
 * node:http would start them all, and hold every answer until the client reads it. Here some are worked on, the others
 * wait, and while any waits nothing more is read.
 */
export class Pipeline {
  readonly #socket: Socket;
  readonly #active = new Set<ServerResponse>();
  readonly #waiting: (readonly [ServerResponse, () => void])[] = [];
  #paused = false;
  #gating = false;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Responses whose request has been seen and that have not left entirely. */
  get open(): readonly ServerResponse[] {
    return [...this.#active, ...this.#waiting.map(([response]) => response)];
  }

  /** Calls `start` now or when its turn comes; a connection that is far ahead of its answers is cut. */
  add(response: ServerResponse, start: () => void): void {
    if (this.#active.size < ACTIVE) {
      this.#start(response, start);
    } else {
      this.#pause(); // Now: else the kernel's whole buffer is read within this turn.
      if (this.#waiting.push([response, start]) > WAITING) this.#socket.destroy();
    }
    this.#gate();
  }

  #start(response: ServerResponse, start: () => void): void {
    this.#active.add(response);
    response.once('close', () => {
      this.#active.delete(response);
      const next = this.#waiting.shift();
      if (next && !this.#socket.destroyed) this.#start(...next);
      this.#gate();
    });
    start();
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
