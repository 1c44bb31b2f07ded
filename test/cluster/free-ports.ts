import {randomInt} from 'node:crypto';
import {createSocket} from 'node:dgram';
import {once} from 'node:events';
import {createServer} from 'node:net';

/**
 * Ports of the loopback that nobody listens on, by TCP or UDP. They lie below those that outgoing connections are given
 * (ip_local_port_range of ip(7)), or one of these might take a port before the program that it was found for.
 */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = randomInt(10_000, 30_000);
    if (await isFree(port)) ports.add(port);
  }
  return [...ports];
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  const socket = createSocket('udp4').bind(port, '127.0.0.1');
  const [tcp, udp] = await Promise.allSettled([once(server, 'listening'), once(socket, 'listening')]);
  if (tcp.status === 'fulfilled') await new Promise(resolve => server.close(resolve));
  await new Promise<void>(resolve => socket.close(resolve));
  return tcp.status === 'fulfilled' && udp.status === 'fulfilled';
}
