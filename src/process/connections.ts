/** Limits the connections to a server. Idle connections do not block other clients. */
import type {Server, Socket} from 'node:net';

export interface ConnectionLimits {
  /** In total, for all addresses. */
  readonly total: number;
  /** Per address (IPv6: per /64, which is what one customer gets). */
  readonly perAddress: number;
  /**
   * If none is idle, also closes a connection with a request in progress: only for servers whose requests are all
   * quick.
   */
  readonly dropsBusy: boolean;
}

/** In the order in which its connections were opened, or became idle again. */
type Address = Set<Socket>;

interface Connection {
  readonly address: Address;
  requests: number;
}

/**
 * Enforces the limits on connections. If a connection exceeds a limit, this closes the longest-idle one: of the same
 * address if that address exceeds its limit, otherwise of the address with the most connections. A connection is idle
 * while no request on it waits for an answer, even if a request has not arrived completely, or was answered without its
 * body.
 */
export class Connections {
  readonly #limits: ConnectionLimits;
  readonly #addresses = new Map<string, Address>();
  readonly #connections = new Map<Socket, Connection>();

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  /** Call it once, before the server listens. */
  watch(server: Server): void {
    server.on('connection', (socket: Socket) => this.#add(socket));
  }

  get size(): number {
    return this.#connections.size;
  }

  /** A request has arrived. Returns how many requests are now in progress on its connection. */
  begin(socket: Socket): number {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return 0; // Closed already.
    connection.requests += 1;
    return connection.requests;
  }

  /** The answer to a request was sent. */
  end(socket: Socket): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return;
    connection.requests -= 1;
    if (connection.requests > 0) return;
    connection.address.delete(socket);
    connection.address.add(socket);
  }

  #add(socket: Socket): void {
    const name = networkOf(socket.remoteAddress ?? '');
    const address = this.#addresses.get(name) ?? new Set();
    this.#addresses.set(name, address);
    address.add(socket);
    this.#connections.set(socket, {address, requests: 0});
    socket.once('close', () => this.#remove(name, address, socket));
    const isOver = address.size > this.#limits.perAddress;
    if (isOver) this.#drop(name, address, socket);
    else if (this.size > this.#limits.total) this.#drop(...this.#largest(socket), socket);
  }

  #drop(name: string, address: Address | undefined, newcomer: Socket): void {
    const dropped = (address && this.#surplus(address, newcomer)) ?? newcomer;
    if (dropped !== newcomer && address) this.#remove(name, address, dropped);
    dropped.destroy();
  }

  /** The connection of an address to close in favor of another; undefined if there is none. */
  #surplus(address: Address, newcomer: Socket): Socket | undefined {
    let oldest: Socket | undefined;
    for (const socket of address) {
      if (socket === newcomer) continue;
      if (this.#connections.get(socket)?.requests === 0) return socket;
      oldest ??= socket;
    }
    return this.#limits.dropsBusy ? oldest : undefined;
  }

  #largest(newcomer: Socket): readonly [string, Address | undefined] {
    let largest: readonly [string, Address] | undefined;
    for (const entry of this.#addresses) {
      if (largest && entry[1].size <= largest[1].size) continue;
      if (this.#surplus(entry[1], newcomer)) largest = entry;
    }
    return largest ?? ['', undefined];
  }

  #remove(name: string, address: Address, socket: Socket): void {
    if (!this.#connections.delete(socket)) return;
    address.delete(socket);
    if (address.size === 0) this.#addresses.delete(name);
  }
}

/** An IPv4 address, or the /64 of an IPv6 address. */
export function networkOf(address: string): string {
  const mapped = /^::ffff:(?<ipv4>\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.groups?.ipv4;
  if (mapped !== undefined) return mapped;
  if (!address.includes(':')) return address;
  const [head = '', tail] = address.split('::');
  const before = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = Array.from({length: Math.max(0, 8 - before.length - after.length)}, () => '0');
  return [...before, ...zeros, ...after]
    .slice(0, 4)
    .map(group => Number.parseInt(group, 16).toString(16))
    .join(':');
}
