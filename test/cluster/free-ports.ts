import {randomInt} from 'node:crypto';
import {createSocket} from 'node:dgram';
import {once} from 'node:events';
import {createServer} from 'node:net';

/**
 * Loopback ports that nobody listens on with TCP or UDP. They lie below the range for outgoing connections
 * (ip_local_port_range in ip(7)), so that no such connection takes a port before the intended program does.
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
