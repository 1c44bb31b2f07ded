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

/**
 * Not in the order in which they became idle: a Set that changed with every request would keep requests; see app.ts.
 */
type Address = Set<Socket>;

interface Connection {
  requests: number;
  /** Whether it may be closed although a request is in progress. */
  isSpent: boolean;
  /** When it was opened or became idle, as a position among all connections. */
  since: number;
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
  #changes = 0;

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
    connection.isSpent = false;
    connection.since = ++this.#changes;
  }

  /** The request in progress will be rejected: if a connection must be closed, close this one first. */
  spend(socket: Socket): void {
    const connection = this.#connections.get(socket);
    if (connection) connection.isSpent = true;
  }

  #add(socket: Socket): void {
    const name = networkOf(socket.remoteAddress ?? '');
    const address = this.#addresses.get(name) ?? new Set();
    this.#addresses.set(name, address);
    address.add(socket);
    this.#connections.set(socket, {requests: 0, isSpent: false, since: ++this.#changes});
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
    const rank = ({requests, isSpent, since}: Connection) =>
      isSpent ? since - this.#changes : requests === 0 ? since : since + this.#changes;
    let found: Socket | undefined;
    let lowest = Number.POSITIVE_INFINITY;
    for (const socket of address) {
      const connection = this.#connections.get(socket);
      if (socket === newcomer || connection === undefined) continue;
      if (connection.requests > 0 && !connection.isSpent && !this.#limits.dropsBusy) continue;
      if (rank(connection) >= lowest) continue;
      lowest = rank(connection);
      found = socket;
    }
    return found;
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
