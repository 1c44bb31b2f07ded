import {connect} from 'node:net';
import type {Endpoint} from './addresses.ts';

/** One query and one response over TCP, each after its length (RFC 7766). Rejects as exchangeOverUdp does. */
export function exchangeOverTcp(endpoint: Endpoint, query: Uint8Array, signal: AbortSignal): Promise<Uint8Array> {
  signal.throwIfAborted();
  const socket = connect({host: endpoint.address, port: endpoint.port});
  return new Promise<Uint8Array>((resolve, reject) => {
    let received = Buffer.alloc(0);
    signal.addEventListener('abort', () => reject(signal.reason), {once: true});
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('connection closed before the answer')));
    socket.on('connect', () => socket.write(Buffer.concat([lengthPrefix(query.length), query])));
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      const length = received.length < 2 ? Number.POSITIVE_INFINITY : received.readUInt16BE(0);
      if (received.length >= length + 2) resolve(received.subarray(2, length + 2));
    });
  }).finally(() => socket.destroy());
}

function lengthPrefix(length: number): Uint8Array {
  return Uint8Array.of(length >> 8, length & 0xff);
}
