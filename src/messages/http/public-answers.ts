import type {ServerResponse} from 'node:http';

/** Far more than honest clients leave unread, who get a refusal or the API's description. */
const UNREAD_BYTES = 8 << 20;

/** Answers to requests without a valid key: nobody can be charged for them, so they share a bound. */
export class PublicAnswers {
  /** Those that have not left, oldest first. */
  readonly #unread = new Map<ServerResponse, number>();
  #bytes = 0;

  /** Where there are too many, the connection is closed whose answer has been waiting longest. */
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
