/** The client, at a server that knows only a Lease. */
import {mkdtemp, rm, writeFile} from 'node:fs/promises';
import {createServer} from 'node:http';
import type {AddressInfo} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {pino} from 'pino';
import {Registry} from 'prom-client';
import {expect, onTestFinished, test} from 'vitest';
import {createKubeClient} from './http-client.ts';
import {LEASE} from './leader-election.ts';

/** `asked`: the methods of all requests. It answers only those about the Lease `ours`. */
async function start() {
  const asked: unknown[] = [];
  const server = createServer(({url = '', method}, answer) => {
    asked.push(method);
    if (/\/leases\/ours(\?|$)/.test(url)) answer.end('{"metadata":{"name":"ours"}}');
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const folder = await mkdtemp(join(tmpdir(), 'nameplate-client-'));
  const {port} = server.address() as AddressInfo;
  const named = (kind: string, content: object) => [{name: 'test', [kind]: content}];
  const config = {
    clusters: named('cluster', {server: `http://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true}),
    users: named('user', {token: 'test'}),
    contexts: named('context', {cluster: 'test', user: 'test'}),
    'current-context': 'test',
  };
  const kubeconfig = join(folder, 'kubeconfig');
  await writeFile(kubeconfig, JSON.stringify(config));
  const common = {userAgent: 'test', fieldManager: 'test', registry: new Registry(), logger: pino({level: 'silent'})};
  const client = createKubeClient({...common, kubeconfig});
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await client.close();
    await rm(folder, {recursive: true});
  });
  return {client, asked};
}

const KEY = {namespace: 'test', name: 'ours'};

test('while as many calls hang as there are connections, a call about the Lease is answered', async () => {
  const {client} = await start();
  for (let call = 0; call < 8; call++) {
    void client.get(LEASE, {namespace: 'test', name: 'other'}, {timeoutMs: 60_000}).catch(() => undefined);
  }
  const lease = await client.forLease().get(LEASE, KEY, {timeoutMs: 30_000});
  expect(lease?.metadata.name).toBe('ours');
});

test('a client without writes reads, and rejects each write, also through what is derived from it', async () => {
  const {client, asked} = await start();
  const error = new Error('paused');
  const paused = client.withoutWrites(() => error).recording(() => undefined);
  const object = {...LEASE, apiVersion: 'coordination.k8s.io/v1', metadata: {...KEY, resourceVersion: '1'}};
  expect((await paused.get(LEASE, KEY))?.metadata.name).toBe('ours');
  const writes = [
    paused.create(LEASE, object),
    paused.replace(LEASE, object),
    paused.apply(LEASE, object),
    paused.applyStatus(LEASE, object),
    paused.patch(LEASE, KEY, {}),
    paused.delete(LEASE, KEY),
  ];
  for (const write of writes) await expect(write).rejects.toBe(error);
  expect(asked).toEqual(['GET']);
  await client.patch(LEASE, KEY, {});
  expect(asked).toEqual(['GET', 'PATCH']);
});
