import {once} from 'node:events';
import {get} from 'node:http';
import {connect, type Socket} from 'node:net';
import {pino} from 'pino';
import {Registry} from 'prom-client';
import {afterEach, describe, expect, test} from 'vitest';
import {type OperationsServer, type OperationsServerOptions, startOperationsServer} from './operations-server.ts';

const servers: OperationsServer[] = [];
const held: Socket[] = [];

afterEach(async () => {
  for (const socket of held.splice(0)) socket.destroy();
  await Promise.all(servers.splice(0).map(server => server.close()));
});

async function start(options: Partial<OperationsServerOptions> = {}): Promise<OperationsServer> {
  const server = await startOperationsServer({
    port: 0,
    host: '127.0.0.1',
    liveness: [],
    readiness: [],
    metrics: new Registry(),
    logger: pino({level: 'silent'}),
    ...options,
  });
  servers.push(server);
  return server;
}

async function request(server: OperationsServer, path: string, method = 'GET') {
  const response = await fetch(`http://127.0.0.1:${server.port}${path}`, {method});
  return {status: response.status, type: response.headers.get('content-type'), body: await response.text()};
}

describe('health', () => {
  const good = {name: 'caches', problem: () => undefined};
  const bad = {name: 'leader', problem: () => 'no lease seen for 20 s'};
  const broken = {
    name: 'queue',
    problem: () => {
      throw new Error('gone');
    },
  };

  test.each([
    {name: 'no checks', checks: [], status: 200, body: 'ok\n'},
    {name: 'all well', checks: [good], status: 200, body: '[+]caches ok\nok\n'},
    {
      name: 'a warning fails nothing',
      checks: [{...good, warning: () => 'one is old'}],
      status: 200,
      body: '[!]caches ok, but one is old\nok\n',
    },
    {
      name: 'one fails: the reason stands in the body',
      checks: [good, bad],
      status: 503,
      body: '[+]caches ok\n[-]leader no lease seen for 20 s\nnot ok\n',
    },
    {
      name: 'one throws: it has failed, the others are told all the same',
      checks: [broken, good],
      status: 503,
      body: '[-]queue cannot be checked: gone\n[+]caches ok\nnot ok\n',
    },
  ])('$name', async ({checks, status, body}) => {
    const live = await start({liveness: checks});
    await expect(request(live, '/healthz')).resolves.toMatchObject({status, body});
    await expect(request(live, '/readyz')).resolves.toMatchObject({status: 200});
    const ready = await start({readiness: checks});
    await expect(request(ready, '/readyz?verbose')).resolves.toMatchObject({status, body});
  });
});

test('metrics come from the registry', async () => {
  const metrics = new Registry();
  const server = await start({metrics});
  await expect(request(server, '/metrics')).resolves.toMatchObject({status: 200, type: metrics.contentType});
});

test('metrics that cannot be collected are an error of the server', async () => {
  const metrics = {contentType: 'text/plain', metrics: () => Promise.reject(new Error('collect'))};
  const server = await start({metrics});
  await expect(request(server, '/metrics')).resolves.toMatchObject({status: 500});
});

test.each([
  ['/', 'GET', 404],
  ['/healthz/deep', 'GET', 404],
  ['/healthz', 'POST', 405],
  ['/healthz', 'HEAD', 200],
])('%s %s is answered with %i', async (path, method, status) => {
  await expect(request(await start(), path, method)).resolves.toMatchObject({status});
});

test('a port in use is reported at startup', async () => {
  const {port} = await start();
  await expect(start({port})).rejects.toMatchObject({code: 'EADDRINUSE'});
});

/** Sockets that send `bytes` as soon as they are connected, and read nothing. */
async function hold({port}: OperationsServer, count: number, bytes: string, addresses = 1): Promise<readonly Socket[]> {
  const sockets = Array.from({length: count}, (_, n) => {
    const socket = connect({port, host: '127.0.0.1', localAddress: `127.0.1.${1 + (n % addresses)}`});
    socket.on('error', () => undefined); // A reset is one way of being closed.
    socket.pause();
    socket.write(bytes);
    held.push(socket);
    return socket;
  });
  await Promise.all(sockets.map(socket => socket.connecting && once(socket, 'connect').catch(() => undefined)));
  return sockets;
}

/** Probes like the kubelet: with a new connection, here from another address. */
function probe({port}: OperationsServer): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const options = {port, host: '127.0.0.1', localAddress: '127.0.0.2', path: '/healthz', agent: false};
    get(options, response => resolve(response.resume().statusCode)).once('error', reject);
  });
}

// attack: blocked-probes
describe('connections from one address, while the kubelet probes from another', () => {
  test.each([
    ['4,096 that send nothing', '', 8],
    ['1,024 that never finish their headers', 'GET /healthz HTTP/1.1\r\nhost: x\r\n', 2],
    ['1,024 that withhold a body', 'POST /healthz HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n', 2],
    ['1,024 that read no answer', 'GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n', 2],
    ['1,024 that pipeline', 'GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(20), 2],
  ])('%s: every probe is answered', async (_, bytes, rounds) => {
    const collected = {count: 0};
    const metrics = {contentType: 'text/plain', metrics: async () => `${collected.count++}${'x'.repeat(200_000)}`};
    const server = await start({metrics});
    for (let n = 0; n < rounds; n++) {
      await hold(server, 512, bytes);
      await expect(probe(server)).resolves.toBe(200);
    }
  });
});

// attack: blocked-probes
test('a probe is answered while 16 addresses fill all connections with requests in progress', async () => {
  const server = await start({metrics: {contentType: 'text/plain', metrics: () => new Promise(() => undefined)}});
  const bytes = 'GET /metrics HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\n\r\n';
  const sockets = await hold(server, 256, bytes, 16);
  await Promise.all(sockets.map(socket => once(socket.resume(), 'data'))); // 100 Continue: the request has begun
  await expect(probe(server)).resolves.toBe(200);
});

test('concurrent requests for metrics collect them once', async () => {
  let collected = 0;
  const done = Promise.withResolvers<string>();
  const metrics = {
    contentType: 'text/plain',
    metrics: () => {
      collected += 1;
      return done.promise;
    },
  };
  const server = await start({metrics});
  const answers = Array.from({length: 10}, () => request(server, '/metrics'));
  await expect(request(server, '/healthz')).resolves.toMatchObject({status: 200});
  done.resolve('x');
  expect(new Set((await Promise.all(answers)).map(({body}) => body))).toEqual(new Set(['x']));
  expect(collected).toBe(1);
});

test('closing ends connections that are open', async () => {
  const server = await start();
  const socket = connect(server.port, '127.0.0.1');
  await once(socket, 'connect');
  const ended = once(socket, 'close');
  await server.close();
  await ended;
});
