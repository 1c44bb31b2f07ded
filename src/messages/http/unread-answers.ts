import type {ServerResponse} from 'node:http';

/** Far more than honest clients leave unread: they get only a rejection or the API's description. */
const UNREAD_BYTES = 8 << 20;

/** Responses to requests without a valid key. No account can be charged for them, so they share a limit. */
export class UnreadAnswers {
  /** Unsent responses, oldest first. */
  readonly #unread = new Map<ServerResponse, number>();
  #bytes = 0;

  /** If there are too many, closes the connection whose response has been waiting longest. */
  add(response: ServerResponse, bytes: number): void {
    if (response.closed || response.destroyed) return;
    this.#unread.set(response, bytes);
    this.#bytes += bytes;
    response.once('close', () => this.#remove(response));
    for (const [oldest] of this.#unread) {
      if (this.#bytes <= UNREAD_BYTES) return;
      this.#remove(oldest);
      oldest.destroy();
    }
  }

  #remove(response: ServerResponse): void {
    this.#bytes -= this.#unread.get(response) ?? 0;
    this.#unread.delete(response);
  }
}
