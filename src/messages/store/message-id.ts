import {randomFillSync} from 'node:crypto';

const PREFIX = 'msg_';
const MESSAGE_ID = /^msg_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

export function isMessageId(text: string): boolean {
  return MESSAGE_ID.test(text);
}

/** Without its prefix, as PostgreSQL has it. */
export function uuidOf(id: string): string {
  return id.slice(PREFIX.length);
}

export function idOf(uuid: unknown): string {
  return `${PREFIX}${uuid}`;
}

/** Fills a buffer with random bytes. */
type RandomFill = (buffer: Uint8Array) => void;

/**
 * Generates ids that sort by creation: `msg_` and a UUIDv7 (RFC 9562, section 5.7) whose 12 bits after the time
 * count within the millisecond (section 6.2, method 1). Continues after `last`, even if the clock stepped back.
 */
export class MessageIds {
  readonly #random: RandomFill;
  readonly #pool = Buffer.alloc(8 * 512);
  #used = this.#pool.length;
  #ms = 0;
  #counter = 0;

  constructor(last: string | undefined, random: RandomFill = randomFillSync) {
    this.#random = random;
    if (last !== undefined) this.continueAfter(last);
  }

  /** `last` with or without its prefix. Ids of accounts that take turns need not be above each other's. */
  continueAfter(last: string): void {
    const hex = last.replace(PREFIX, '').replaceAll('-', '');
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
    const random = this.#eightBytes();
    const variant = ((Number.parseInt(random.slice(0, 2), 16) & 0x3f) | 0x80).toString(16);
    return `${PREFIX}${time.slice(0, 8)}-${time.slice(8)}-7${counter}-${variant}${random.slice(2, 4)}-${random.slice(4)}`;
  }

  #eightBytes(): string {
    if (this.#used === this.#pool.length) {
      this.#random(this.#pool);
      this.#used = 0;
    }
    this.#used += 8;
    return this.#pool.toString('hex', this.#used - 8, this.#used);
  }
}
