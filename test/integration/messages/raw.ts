/** Raw HTTP connections, and what the service reports that it holds for them. */
import {readFile} from 'node:fs/promises';
import {connect, type Socket} from 'node:net';
import type {Service} from './service.ts';

export const MIB = 1024 * 1024;

/** Runs a service with a small pod's heap: garbage is collected in time, and a leak ends the process. */
export const SMALL_HEAP = ['env', 'NODE_OPTIONS=--max-old-space-size=128 --max-semi-space-size=8'];

export interface Raw {
  readonly socket: Socket;
  /** Everything received so far. */
  readonly received: string;
  readonly closed: boolean;
}

export interface RawOptions {
  /** An address of this machine; 127.0.0.1 by default. */
  readonly from?: string;
  /** Leave the answer in the kernel's buffers. */
  readonly unread?: boolean;
}

export class RawClient {
  readonly #service: Pick<Service, 'port'>;
  readonly #open = new Set<Socket>();

  constructor(service: Pick<Service, 'port'>) {
    this.#service = service;
  }

  /** Sends `bytes` as soon as the connection is open. */
  open(bytes: string | Buffer, {from, unread = false}: RawOptions = {}): Raw {
    const socket = connect({port: this.#service.port, host: '127.0.0.1', ...(from && {localAddress: from})});
    this.#open.add(socket);
    const state = {socket, received: '', closed: false};
    socket.on('error', () => undefined); // a reset is one way of being cut off
    socket.once('close', () => {
      state.closed = true;
      this.#open.delete(socket);
    });
    if (unread) socket.pause();
    else
      socket.on('data', (chunk: Buffer) => {
        state.received += chunk.toString('latin1');
      });
    socket.write(bytes);
    return state;
  }

  many(count: number, bytes: string | Buffer, options?: RawOptions): readonly Raw[] {
    return Array.from({length: count}, () => this.open(bytes, options));
  }

  closeAll(): void {
    for (const socket of this.#open) socket.destroy();
  }
}

/** The head of a request, without the final empty line. */
export function head(key: string, line = 'POST /messages'): string {
  return `${line} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\n`;
}

/** A metric of the service, by its name and labels. */
export async function metric(service: Service, name: string): Promise<number> {
  const {body} = await service.operations('/metrics');
  return Number(
    body
      .split('\n')
      .find(line => line.startsWith(`${name} `))
      ?.slice(name.length),
  );
}

/** Bytes of bodies and answers that requests in progress hold, as the service counts them. */
export function heldBytes(service: Service): Promise<number> {
  return metric(service, 'nameplate_messages_held_bytes');
}

export async function residentBytes({pid}: Pick<Service, 'pid'>): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024;
}
