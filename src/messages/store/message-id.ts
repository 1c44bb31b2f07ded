import {randomUUID} from 'node:crypto';

/**
 * Generates ids that sort by creation: UUIDv7 (RFC 9562, section 5.7) whose 12 bits after the time count within the
 * millisecond (section 6.2, method 1). Continues after `last`, even if the clock stepped back.
 */
export class MessageIds {
  #ms = 0;
  #counter = 0;

  constructor(last: string | undefined) {
    if (last !== undefined) this.continueAfter(last);
  }

  /** Ids of accounts that take turns need not be above each other's. */
  continueAfter(last: string): void {
    const hex = last.replaceAll('-', '');
    this.#ms = Number.parseInt(hex.slice(0, 12), 16);
    this.#counter = Number.parseInt(hex.slice(13, 16), 16);
  }

  /** `now` in milliseconds since the epoch. */
  next(now: number): string {
    if (now > this.#ms) {
      this.#ms = now;
      this.#counter = 0;
    } else if (this.#counter === 0xfff) {
      this.#ms += 1; // Borrowed from the future: order matters more than the last millisecond.
      this.#counter = 0;
    } else {
      this.#counter += 1;
    }
    const time = this.#ms.toString(16).padStart(12, '0');
    const counter = this.#counter.toString(16).padStart(3, '0');
    const random = randomUUID().slice('00000000-0000-0000-'.length); // The variant is that of version 4.
    return `${time.slice(0, 8)}-${time.slice(8)}-7${counter}-${random}`;
  }
}
