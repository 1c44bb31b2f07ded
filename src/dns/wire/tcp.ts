import {connect} from 'node:net';
import type {Endpoint} from './addresses.ts';

/** Eight times the number that the longest message needs in segments of 536 bytes, the smallest that TCP must carry. */
const MAX_CHUNKS = 1024;

/**
 * Sends one query and reads one response, each after its length (RFC 7766). Rejects as exchangeOverUdp does. Copies
 * each byte once and accepts a bounded number of pieces: a stranger that sends single bytes must not make us copy 64
 * KiB for each.
 */
export function exchangeOverTcp(endpoint: Endpoint, query: Uint8Array, signal: AbortSignal): Promise<Uint8Array> {
  signal.throwIfAborted();
  const socket = connect({host: endpoint.address, port: endpoint.port});
  return new Promise<Uint8Array>((resolve, reject) => {
    const received = new Received();
    let chunks = 0;
    signal.addEventListener('abort', () => reject(signal.reason), {once: true});
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('connection closed before the answer')));
    socket.on('connect', () => socket.write(Buffer.concat([lengthPrefix(query.length), query])));
    socket.on('data', (chunk: Buffer) => {
      const message = received.add(chunk);
      if (message !== undefined) resolve(message);
      else if (++chunks >= MAX_CHUNKS) reject(new Error('the answer arrived in too many pieces'));
    });
  }).finally(() => socket.destroy());
}

/** A message that arrives in pieces, after its length in two bytes. */
class Received {
  readonly #prefix: number[] = [];
  #message: Uint8Array | undefined;
  #length = 0;

  /** Returns the message once it is complete, and drops what follows it. */
  add(chunk: Uint8Array): Uint8Array | undefined {
    let at = 0;
    while (this.#prefix.length < 2 && at < chunk.length) this.#prefix.push(chunk[at++] ?? 0);
    const [high, low] = this.#prefix;
    if (high === undefined || low === undefined) return undefined;
    this.#message ??= new Uint8Array((high << 8) | low);
    const part = chunk.subarray(at, at + this.#message.length - this.#length);
    this.#message.set(part, this.#length);
    this.#length += part.length;
    return this.#length === this.#message.length ? this.#message : undefined;
  }
}

function lengthPrefix(length: number): Uint8Array {
  return Uint8Array.of(length >> 8, length & 0xff);
}
