/**
 * Serves the zone over UDP and TCP. It faces the whole internet: each message costs a bounded amount of work, each
 * network gets a bounded number of answers, and nothing is logged.
 */
import {createSocket, type Socket as UdpSocket} from 'node:dgram';
import {once} from 'node:events';
import {type AddressInfo, createServer, type Socket} from 'node:net';
import {RateLimit} from '../fairness/rate-limit.ts';
import {Connections, networkOf} from '../operations/connections.ts';
import type {Clock} from '../time/clock.ts';
import {Framing} from './framing.ts';
import {type QueryOutcome, respond} from './respond.ts';
import type {Zone} from './zone.ts';

interface NameServer {
  readonly port: number;
  close(): Promise<void>;
}

export interface NameServerOptions {
  readonly zone: Zone;
  /** 0 means any free port. */
  readonly port: number;
  /** An address. Default: all. */
  readonly host?: string;
  readonly clock: Clock;
  /** Called for each query; `limited`: without an answer, because its network has had too many. */
  readonly observe: (transport: 'udp' | 'tcp', outcome: QueryOutcome | 'limited') => void;
}

/**
 * Per network, over both transports. A CA with 300 orders at once sends a few queries for each, from a few networks.
 * Beyond it, every other datagram gets an answer that makes an honest resolver ask again over TCP, where no source can
 * be forged; the others get none.
 */
const ANSWERS_PER_SECOND = 200;
const BURST_MS = 10_000;
/** How long a connection may take to send a query. RFC 7766, section 6.2.3, recommends a few seconds. */
const QUERY_MS = 5000;
/** A client that reads no answers is disconnected. */
const MAX_UNREAD_BYTES = 65_536;
const CONNECTIONS = {total: 512, perAddress: 32, dropsBusy: true};

/** Resolves once it listens on both; rejects if it cannot. */
export async function startNameServer(options: NameServerOptions): Promise<NameServer> {
  const limits = new NetworkLimits(options.clock);
  const tcp = createServer({noDelay: true});
  const sockets = new Set<Socket>();
  new Connections(CONNECTIONS).watch(tcp);
  tcp.on('connection', socket => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    serveConnection(socket, options, limits);
  });
  tcp.listen(options.port, options.host);
  await once(tcp, 'listening');
  const {port, address} = tcp.address() as AddressInfo;
  const udp = createSocket(address.includes(':') ? 'udp6' : 'udp4');
  const close = async () => {
    udp.close();
    const closed = once(tcp, 'close');
    tcp.close();
    for (const socket of sockets) socket.destroy(); // every query has been answered
    await closed;
  };
  serveDatagrams(udp, options, limits);
  try {
    udp.bind(port, address);
    await once(udp, 'listening');
  } catch (error) {
    await close();
    throw error;
  }
  udp.on('error', () => undefined); // of one datagram, such as one to an address without a route
  return {port, close};
}

/** Exported for the test: no program can send from port 0, but a forged packet may come from there. */
export function serveDatagrams(
  socket: UdpSocket,
  {zone, observe}: Pick<NameServerOptions, 'zone' | 'observe'>,
  limits: Pick<NetworkLimits, 'judge'>,
): void {
  socket.on('message', (message, {address, port}) => {
    if (port === 0) return; // Nobody receives an answer there, and Node throws instead of sending one.
    const verdict = limits.judge(address);
    const answer =
      verdict === 'drop' ? undefined : respond(message, zone, {transport: 'udp', isBrief: verdict === 'brief'});
    if (verdict === 'drop') observe('udp', 'limited');
    if (!answer) return;
    socket.send(answer.bytes, port, address);
    observe('udp', answer.outcome);
  });
}

function serveConnection(socket: Socket, {zone, observe}: NameServerOptions, limits: NetworkLimits): void {
  const framing = new Framing();
  const address = socket.remoteAddress ?? '';
  const timer = setTimeout(() => socket.destroy(), QUERY_MS);
  socket.on('error', () => undefined); // A reset ends the connection.
  socket.once('close', () => clearTimeout(timer));
  socket.on('data', (chunk: Buffer) => {
    for (const message of framing.add(chunk)) {
      const isLimited = limits.judge(address) !== 'answer';
      const answer = isLimited ? undefined : respond(message, zone, {transport: 'tcp'});
      if (isLimited) observe('tcp', 'limited');
      if (!answer || socket.writableLength > MAX_UNREAD_BYTES) return socket.destroy();
      socket.write(Framing.frame(answer.bytes));
      observe('tcp', answer.outcome);
      timer.refresh();
    }
    return framing.isBroken ? socket.destroy() : undefined;
  });
}

class NetworkLimits {
  readonly #clock: Clock;
  readonly #rate = new RateLimit(BURST_MS);
  #excess = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `brief`: only with an answer without records. */
  judge(address: string): 'answer' | 'brief' | 'drop' {
    const network = prefixOf(address);
    const now = this.#clock.monotonic();
    const ms = 1000 / ANSWERS_PER_SECOND;
    if (this.#rate.waitMs(network, ms, now) > 0) return ++this.#excess % 2 === 0 ? 'brief' : 'drop';
    this.#rate.spend(network, ms, now);
    return 'answer';
  }
}

/** The network that one sender may have: a /24, or a /48 of IPv6. */
function prefixOf(address: string): string {
  const network = networkOf(address);
  if (network.includes(':')) return network.split(':', 3).join(':');
  return network.slice(0, network.lastIndexOf('.'));
}
