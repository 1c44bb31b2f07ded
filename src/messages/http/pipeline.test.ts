import {once} from 'node:events';
import {createServer, type Server, type ServerResponse} from 'node:http';
import {type AddressInfo, connect} from 'node:net';
import {afterEach, expect, test} from 'vitest';
import {Pipelines, stopParserWhenCut} from './pipeline.ts';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

/** A server that counts its requests. By default, it answers none. */
async function start(answer: (response: ServerResponse) => void = () => undefined) {
  const pipelines = new Pipelines();
  const seen = {parsed: 0, started: 0};
  const server = createServer((request, response) => {
    seen.parsed += 1;
    pipelines.of(request.socket).add(response, () => {
      seen.started += 1;
      answer(response);
      return () => undefined;
    });
  });
  server.on('connection', stopParserWhenCut);
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {seen, port: (server.address() as AddressInfo).port};
}

/** Sends this many requests in one write. Resolves when the connection is closed. */
async function pipeline(port: number, requests: number): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined); // A reset is one way of being cut off.
  socket.write('GET / HTTP/1.1\r\nhost:\r\n\r\n'.repeat(requests));
  await once(socket, 'close');
}

test('a connection that is too far ahead of its responses is closed, and no further request on it is parsed', async () => {
  const {seen, port} = await start();
  await pipeline(port, 2600);
  expect(seen).toEqual({parsed: 4 + 2048 + 1, started: 4});
});

test('many such connections share a bound: each further one is cut after a few requests', async () => {
  const {seen, port} = await start();
  const held = Array.from({length: 4}, () => connect(port, '127.0.0.1'));
  for (const socket of held) socket.write('GET / HTTP/1.1\r\nhost:\r\n\r\n'.repeat(4 + 512));
  while (seen.parsed < 4 * (4 + 512)) await new Promise(setImmediate);
  await Promise.all(Array.from({length: 100}, () => pipeline(port, 2400)));
  expect(seen.parsed - 4 * (4 + 512)).toBe(100 * (4 + 4 + 1));
  for (const socket of held) socket.destroy();
});

test('while a long response is unread, no further request of its connection is started', async () => {
  const {seen, port} = await start(response => response.end(Buffer.alloc(64 << 20)));
  const socket = connect(port, '127.0.0.1').pause();
  socket.write('GET / HTTP/1.1\r\nhost:\r\n\r\n'.repeat(8));
  while (seen.parsed < 8) await new Promise(setImmediate);
  expect(seen.started).toBe(1);
  socket.destroy();
});
