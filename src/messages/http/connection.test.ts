import {once} from 'node:events';
import {createServer, type IncomingMessage, type Server, type ServerResponse} from 'node:http';
import {type AddressInfo, connect, type Socket} from 'node:net';
import {text} from 'node:stream/consumers';
import {afterEach, expect, test} from 'vitest';
import {Connections} from '../../operations/connections.ts';
import {Connection} from './connection.ts';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

type Serve = (connection: Connection, request: IncomingMessage, response: ServerResponse) => void;

/** A server that counts what its parser passes on. */
async function start(serve: Serve, payStranger = (_bytes: number) => true) {
  const seen = {requests: 0, chunks: 0};
  const lanes = new Map<Socket, Connection>();
  const server = createServer((request, response) => {
    seen.requests += 1;
    request.on('data', () => {
      seen.chunks += 1;
    });
    const connection = lanes.get(request.socket);
    connection?.begin(response);
    response.on('close', () => connection?.end());
    if (connection) serve(connection, request, response);
  });
  const connections = new Connections({total: 100, perAddress: 100, dropsBusy: false});
  server.on('connection', socket => lanes.set(socket, new Connection(socket, connections, payStranger)));
  server.on('clientError', () => undefined);
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.on('error', () => undefined); // A reset is one way of being cut off.
  return {seen, client};
}

const GET = 'GET / HTTP/1.1\r\nhost:\r\n\r\n';

// attack: message-connections
test('of many requests at once, one is parsed, and its response says that it is the last one', async () => {
  const {seen, client} = await start((_, __, response) => setImmediate(() => response.end('first')));
  client.write(GET.repeat(2000));
  const received = await text(client);
  expect(received.match(/HTTP/g)).toHaveLength(1);
  expect(received).toContain('Connection: close');
  expect(seen.requests).toBe(1);
});

test('requests one after another share a connection', async () => {
  const {seen, client} = await start((_, __, response) => response.end('x'));
  for (let n = 0; n < 3; n++) {
    client.write(GET);
    expect(String(await once(client, 'data'))).toContain('Connection: keep-alive');
  }
  expect(seen.requests).toBe(3);
});

// attack: message-connections
test('a body that nobody needs is not parsed, and its sender gets the response although it does not stop', async () => {
  let paid = 0;
  const pay = (bytes: number) => {
    paid += bytes;
    return true;
  };
  const {seen, client} = await start((connection, _, response) => {
    connection.cut(pay);
    response.end('no');
  });
  client.write(`POST / HTTP/1.1\r\nhost:\r\ntransfer-encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(100_000)}`);
  const received = await text(client);
  expect(received).toMatch(/Connection: close[\s\S]*no/);
  expect(seen).toEqual({requests: 1, chunks: 0});
  expect(paid).toBeGreaterThan(100_000);
});

// attack: message-connections
test('what is dropped is no more than can be paid for', async () => {
  let paid = 0;
  const {client} = await start((connection, _, response) => {
    connection.cut(bytes => {
      paid += bytes;
      return paid < 200_000;
    });
    response.end('no');
  });
  client.write('POST / HTTP/1.1\r\nhost:\r\ncontent-length: 99999999\r\n\r\n');
  client.write(Buffer.alloc(20 << 20));
  client.resume();
  await new Promise(resolve => client.once('close', resolve)); // `once` would reject with the reset.
  expect(paid).toBeLessThan(1 << 20);
});

// attack: message-work
test('what follows the current request is dropped at the expense of strangers', async () => {
  let paid = 0;
  let respond = () => {};
  const serve: Serve = (_, __, response) => {
    respond = () => response.end('first');
  };
  const {client} = await start(serve, bytes => {
    paid += bytes;
    respond();
    return paid < 200_000;
  });
  client.write(GET.repeat(2));
  client.write(Buffer.alloc(20 << 20));
  client.resume();
  await new Promise(resolve => client.once('close', resolve)); // `once` would reject with the reset.
  expect(paid).toBeGreaterThanOrEqual(200_000);
  expect(paid).toBeLessThan(1 << 20);
});
