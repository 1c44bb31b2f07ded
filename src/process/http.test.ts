import {once} from 'node:events';
import {connect} from 'node:net';
import {pino} from 'pino';
import {Registry} from 'prom-client';
import {afterEach, describe, expect, test} from 'vitest';
import {type OperationsServer, type OperationsServerOptions, startOperationsServer} from './http.ts';

const servers: OperationsServer[] = [];

afterEach(async () => {
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
      body: '[-]queue cannot be told: gone\n[+]caches ok\nnot ok\n',
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

test('a port in use is told at start', async () => {
  const {port} = await start();
  await expect(start({port})).rejects.toMatchObject({code: 'EADDRINUSE'});
});

test('closing ends connections that are open', async () => {
  const server = await start();
  const socket = connect(server.port, '127.0.0.1');
  await once(socket, 'connect');
  const ended = once(socket, 'close');
  await server.close();
  await ended;
});
