import {randomInt} from 'node:crypto';
import {createSocket} from 'node:dgram';
import {once} from 'node:events';
import {createServer} from 'node:net';

/** They lie below the range for outgoing connections (ip_local_port_range in ip(7)), so that none of those takes one. */
const [FIRST, LAST] = [10_000, 30_000];
/** Each worker of a test run has its own ports, so that no other takes one before the intended program does. */
const [WORKERS, WORKER] = [5, Number(process.env.VITEST_POOL_ID ?? 0)];
const WIDTH = (LAST - FIRST) / WORKERS;
const own = FIRST + (WORKER % WORKERS) * WIDTH;
const given = new Set<number>();

/** Loopback ports that nobody listens on with TCP or UDP, and that nobody else gets. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) {
    const port = randomInt(own, own + WIDTH);
    if (given.has(port)) continue;
    given.add(port);
    if (await isFree(port)) ports.push(port);
  }
  return ports;
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  const socket = createSocket('udp4').bind(port, '127.0.0.1');
  const [tcp, udp] = await Promise.allSettled([once(server, 'listening'), once(socket, 'listening')]);
  if (tcp.status === 'fulfilled') await new Promise(resolve => server.close(resolve));
  await new Promise<void>(resolve => socket.close(resolve));
  return tcp.status === 'fulfilled' && udp.status === 'fulfilled';
}
