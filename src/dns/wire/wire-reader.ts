import {nameFromLabels} from '../names/wire-names.ts';

/**
 * These bound the work of one message. A stranger writes it, and decoding it delays everything else: without bounds,
 * one message of 64 KiB took five seconds.
 *
 * Pointers: an honest name needs one, or a few if the server compresses the suffix of a suffix.
 * Bytes: a pointer makes us read the same bytes again. Twice the longest message is more than 200 records need.
 */
const MAX_POINTERS = 16;
const MAX_BYTES_READ = 2 * 0xffff;

/** A message that breaks the wire format. */
export class DecodeError extends Error {
  override readonly name = 'DecodeError';
}

/** Counts the work of decoding. Every loop of the decoder reads at least one byte per iteration. */
export interface DecodeMeter {
  bytesRead: number;
}

/**
 * A cursor over one message. The slice bounds every read, and the meter counts it; names may point back into the
 * message.
 */
export class WireReader {
  readonly #message: Uint8Array;
  readonly #meter: DecodeMeter;
  #at: number;
  readonly #end: number;

  constructor(message: Uint8Array, meter: DecodeMeter = {bytesRead: 0}, at = 0, end = message.length) {
    this.#message = message;
    this.#meter = meter;
    this.#at = at;
    this.#end = end;
  }

  get left(): number {
    return this.#end - this.#at;
  }

  bytes(count: number): Uint8Array {
    const start = this.#read(count);
    return this.#message.subarray(start, start + count);
  }

  rest(): Uint8Array {
    return this.bytes(this.left);
  }

  slice(length: number): WireReader {
    const start = this.#skip(length);
    return new WireReader(this.#message, this.#meter, start, this.#at);
  }

  finish(): void {
    if (this.left !== 0) throw new DecodeError('bytes left over in a record');
  }

  u8(): number {
    return this.#message[this.#read(1)] ?? 0;
  }

  u16(): number {
    const start = this.#read(2);
    return ((this.#message[start] ?? 0) << 8) | (this.#message[start + 1] ?? 0);
  }

  u32(): number {
    return this.u16() * 0x10000 + this.u16();
  }

  /** Compression pointers must go strictly backward, so every name ends. We follow only a few, so it ends soon. */
  name(): string {
    const labels: Uint8Array[] = [];
    let length = 1;
    let pointers = 0;
    let cursor: WireReader = this;
    let limit = this.#at;
    for (;;) {
      const size = cursor.u8();
      if (size === 0) return nameFromLabels(labels);
      if (size >= 0xc0) {
        const target = ((size & 0x3f) << 8) | cursor.u8();
        if (target >= limit) throw new DecodeError('a compression pointer that does not go backward');
        if (++pointers > MAX_POINTERS)
          throw new DecodeError(`more than ${MAX_POINTERS} compression pointers in a name`);
        limit = target;
        cursor = new WireReader(this.#message, this.#meter, target);
        continue;
      }
      if (size > 63) throw new DecodeError('an unknown kind of label');
      length += size + 1;
      if (length > 255) throw new DecodeError('a name longer than 255 bytes');
      labels.push(cursor.bytes(size));
    }
  }

  /** The offset of the first byte. */
  #read(count: number): number {
    this.#meter.bytesRead += count;
    if (this.#meter.bytesRead > MAX_BYTES_READ) throw new DecodeError('name compression that expands too far');
    return this.#skip(count);
  }

  #skip(count: number): number {
    if (count > this.left) throw new DecodeError('ends too early');
    this.#at += count;
    return this.#at - count;
  }
}
