/** The connections for the Lease, to a server that answers nothing else. */
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

test('while as many calls hang as there are connections, a call about the Lease is answered', async () => {
  const server = createServer(({url}, answer) => {
    if (url?.endsWith('/leases/ours')) answer.end('{"metadata":{"name":"ours"}}');
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
  for (let call = 0; call < 8; call++) {
    void client.get(LEASE, {namespace: 'test', name: 'other'}, {timeoutMs: 60_000}).catch(() => undefined);
  }
  const lease = await client.forLease().get(LEASE, {namespace: 'test', name: 'ours'}, {timeoutMs: 4000});
  expect(lease?.metadata.name).toBe('ours');
});
