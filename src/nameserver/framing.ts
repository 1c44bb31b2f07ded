/** Messages on a stream: each follows its length (RFC 1035 section 4.2.2). */

/** No query is longer: a name has at most 255 bytes, and the options of EDNS a few dozen. */
const MAX_QUERY_BYTES = 1232;
const LENGTH_BYTES = 2;

/** Holds at most one query, and copies each byte once, however small the pieces are. */
export class Framing {
  readonly #bytes = Buffer.allocUnsafeSlow(LENGTH_BYTES + MAX_QUERY_BYTES);
  #length = 0;
  #isBroken = false;

  static frame(message: Uint8Array): Buffer {
    const frame = Buffer.allocUnsafe(LENGTH_BYTES + message.length);
    frame.writeUInt16BE(message.length);
    frame.set(message, LENGTH_BYTES);
    return frame;
  }

  /** Whether a message was announced that is no query, so that nothing of what follows can be read. */
  get isBroken(): boolean {
    return this.#isBroken;
  }

  /** The queries that end in this chunk. Each is valid until the next one. */
  *add(chunk: Buffer): Generator<Uint8Array, void> {
    let at = 0;
    while (at < chunk.length && !this.#isBroken) {
      const isAnnounced = this.#length >= LENGTH_BYTES;
      const end = LENGTH_BYTES + (isAnnounced ? this.#bytes.readUInt16BE() : 0);
      const copied = chunk.copy(this.#bytes, this.#length, at, at + end - this.#length);
      at += copied;
      this.#length += copied;
      if (this.#length < end) return;
      if (isAnnounced) {
        this.#length = 0;
        yield this.#bytes.subarray(LENGTH_BYTES, end);
      } else {
        const announced = this.#bytes.readUInt16BE();
        this.#isBroken = announced === 0 || announced > MAX_QUERY_BYTES;
      }
    }
  }
}
