import {createSocket, type Socket} from 'node:dgram';
import {isIP} from 'node:net';
import type {Endpoint} from './addresses.ts';

/**
 * Sends one datagram, sends it again after `repeatMs`, and passes every datagram that comes back to `accept` until
 * `accept` returns a value. If `accept` throws, the exchange ends with that error. The kernel gives the socket a random
 * port and, because the socket is connected, drops what other senders send. Rejects with the socket's error (connection
 * refused, no route) or with the signal's reason.
 */
export function exchangeOverUdp<T>(
  endpoint: Endpoint,
  query: Uint8Array,
  accept: (datagram: Uint8Array) => T | undefined,
  signal: AbortSignal,
  repeatMs?: number,
): Promise<T> {
  signal.throwIfAborted();
  const socket = createSocket(isIP(endpoint.address) === 6 ? 'udp6' : 'udp4');
  let repeat: NodeJS.Timeout | undefined;
  return new Promise<T>((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, {once: true});
    socket.on('error', reject);
    socket.on('message', datagram => {
      try {
        const taken = accept(datagram);
        if (taken !== undefined) resolve(taken);
      } catch (error) {
        reject(error);
      }
    });
    socket.connect(endpoint.port, endpoint.address, (error?: Error) => {
      if (error !== undefined && error !== null) return reject(error);
      if (signal.aborted) return;
      socket.send(query);
      if (repeatMs !== undefined) repeat = setTimeout(() => socket.send(query), repeatMs);
    });
  }).finally(() => {
    clearTimeout(repeat);
    close(socket);
  });
}

function close(socket: Socket): void {
  socket.removeAllListeners('message');
  socket.close();
}
