/** The name server with a real API server, whose watch tells it which challenges are open. */
import {createSocket} from 'node:dgram';
import {connect, type Socket} from 'node:net';
import {join} from 'node:path';
import {setImmediate as turn} from 'node:timers/promises';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {Framing} from '../../../src/nameserver/framing.ts';
import {DOMAIN_CLAIM, type DomainClaim} from '../../../src/operator/kinds/kinds.ts';
import type {KubeClient} from '../../../src/runtime/kube/client.ts';
import {type ApiServer, startApiServer} from '../../cluster/apiserver.ts';
import {ensurePrograms, HELM} from '../../cluster/programs.ts';
import {until} from '../../cluster/wait.ts';
import {renderTemplates} from '../../support/helm-template.ts';
import {RELEASE} from '../../support/install.ts';
import {createTestClient} from '../../support/kube.ts';
import {residentBytes} from '../messages/raw.ts';
import {
  ACME_DOMAIN,
  NAME_SERVERS,
  type NameServerProcess,
  overTcp,
  overUdp,
  queryOf,
  startNameServerProcess,
  textsIn,
} from './name-server.ts';

const ROOT = join(import.meta.dirname, '../../..');
const ACCOUNT = `${RELEASE.name}-nameserver`;
const VALUES = ['A', 'B', 'C'].map(letter => letter.repeat(43));
const [ONE = '', TWO = '', THREE = ''] = VALUES;

let api: ApiServer;
let client: KubeClient;
let server: NameServerProcess;
beforeAll(async () => {
  const helm = (await ensurePrograms([HELM])).path('helm');
  api = await startApiServer({crds: [join(ROOT, 'crds')]});
  client = createTestClient(api.kubeconfig);
  await api.kubectl('create', 'namespace', RELEASE.namespace);
  const on = `nameserver.enabled=true,nameserver.names={${NAME_SERVERS}},config.platform.acmeDomain=${ACME_DOMAIN}`;
  const values = ['--values', join(ROOT, 'examples/values.yaml'), '--set', on];
  await api.apply(await renderTemplates(helm, ['nameserver-rbac'], values));
  server = await startNameServerProcess(await api.kubeconfigFor(RELEASE.namespace, ACCOUNT));
  await until('it has read the challenges', async () => (await server.operations('/readyz')).status === 200);
});
afterAll(async () => {
  expect(await server?.stop()).toBe(0);
  await client?.close();
  await api?.stop();
});

/** A name that nothing else uses. */
function newName(): string {
  const letters = 'abcdefghijklmnopqrstuvwxyz234567';
  const label = Array.from({length: 32}, () => letters[Math.floor(Math.random() * 32)]).join('');
  return `${label}.${ACME_DOMAIN}`;
}

const nameOf = (at: number) => `host-${at}-${process.pid}.example.com`;
let claims = 0;

/** A claim of a host with an open order. Without a challenge, the CA validates it by HTTP. */
async function openOrder(challenge?: {readonly name: string; readonly value: string}): Promise<DomainClaim> {
  const order = {issuer: 'ca', account: 'acme', namespace: 'a', request: 'uid', order: 'https://ca.test/1'};
  return await client.create(DOMAIN_CLAIM, {
    apiVersion: 'nameplate.dev/v1alpha1',
    kind: 'DomainClaim',
    metadata: {name: nameOf(++claims)},
    spec: {
      account: 'acme',
      namespace: 'a',
      since: '2026-11-01T00:00:00Z',
      issuance: {...order, ...(challenge && {challenge})},
    },
  });
}

const texts = async (name: string) => textsIn(await overUdp(server.port, queryOf(name))).sort();
const serves = (name: string, ...values: readonly string[]) =>
  until(
    `${name} has ${values.length} values`,
    async () => {
      const [answer] = await overTcp(server.port, queryOf(name));
      return answer && textsIn(answer).sort().join() === [...values].sort().join();
    },
    {intervalMs: 10},
  );

test('a challenge is answered while its order is open, and soon after it is recorded', async () => {
  const name = newName();
  expect(await texts(name)).toEqual([]);
  const claim = await openOrder({name, value: ONE});
  await serves(name, ONE);
  const {challenge: _, ...issuance} = claim.spec.issuance ?? {issuer: '', account: '', namespace: ''};
  const ended = await client.replace(DOMAIN_CLAIM, {...claim, spec: {...claim.spec, issuance}});
  await serves(name);
  await client.replace(DOMAIN_CLAIM, {
    ...ended,
    spec: {...ended.spec, issuance: {...issuance, challenge: {name, value: TWO}}},
  });
  await serves(name, TWO);
  await client.delete(DOMAIN_CLAIM, {name: claim.metadata.name});
  await serves(name);
});

test('a host and the wildcard below it share a name, and both are answered', async () => {
  const name = newName();
  await openOrder({name, value: ONE});
  await openOrder({name, value: THREE});
  await serves(name, ONE, THREE);
});

test('the API server sends it only claims with an open challenge', async () => {
  const without = await openOrder();
  const claim = await openOrder({name: newName(), value: ONE});
  const selector = '--field-selector=spec.issuance.challenge.name!=';
  const names = (await api.kubectl('get', 'domainclaims', selector, '-o', 'name')).split('\n');
  expect(names).toContain(`domainclaim.nameplate.dev/${claim.metadata.name}`);
  expect(names).not.toContain(`domainclaim.nameplate.dev/${without.metadata.name}`);
});

test('over TCP, a connection has many queries, and the answers keep their order', async () => {
  const name = newName();
  await openOrder({name, value: ONE});
  await serves(name, ONE);
  const types = Array.from({length: 100}, (_, at) => (at % 2 === 0 ? 'TXT' : 'A'));
  const answers = await overTcp(server.port, ...types.map((type, id) => queryOf(name, type, {id})));
  expect(answers.map(({id}) => id)).toEqual(types.map((_, id) => id));
  expect(answers.map(answer => textsIn(answer).length)).toEqual(types.map(type => (type === 'TXT' ? 1 : 0)));
});

test('it answers over IPv6', async () => {
  const answer = await overUdp(server.port, queryOf(ACME_DOMAIN, 'NS'), {host: '::1'});
  expect(answer.answers?.map(each => 'data' in each && each.data)).toEqual(NAME_SERVERS);
});

// attack: name-server
describe('a flood', () => {
  /** From a network of this machine that nothing else here uses. */
  const udpFrom = async (address: string) => {
    const socket = createSocket('udp4');
    await new Promise<void>(resolve => socket.bind(0, address, resolve));
    return socket;
  };

  test('of queries gets a limited number of answers, and other networks get theirs', async () => {
    const socket = await udpFrom('127.66.1.1');
    const counts = {whole: 0, brief: 0};
    socket.on('message', message => {
      counts[((message[2] ?? 0) & 2) === 0 ? 'whole' : 'brief']++;
    });
    const query = queryOf(ACME_DOMAIN, 'NS');
    const start = performance.now();
    while (counts.brief < 100) {
      for (let sent = 0; sent < 50; sent++) socket.send(query, server.port, '127.0.0.1');
      await turn(); // in which answers arrive
    }
    const seconds = (performance.now() - start) / 1000;
    expect(counts.whole).toBeGreaterThan(1000);
    expect(counts.whole).toBeLessThanOrEqual(2000 + 200 * (seconds + 1));
    expect((await overUdp(server.port, query)).answers).toHaveLength(2);
    socket.close();
  });

  test('of connections does not keep others out', async () => {
    const before = await residentBytes(server);
    const sockets = Array.from({length: 800}, (_, at): Socket => {
      const socket = connect({port: server.port, host: '127.0.0.1', localAddress: `127.67.${at % 200}.1`});
      socket.on('error', () => undefined);
      socket.write(Buffer.from([0])); // half a length
      return socket;
    });
    await until('the oldest are closed', () => sockets.filter(socket => socket.closed).length > 200);
    expect(await overTcp(server.port, queryOf(ACME_DOMAIN, 'NS'))).toMatchObject([{rcode: 'NOERROR'}]);
    expect((await residentBytes(server)) - before).toBeLessThan(64 * 1024 * 1024);
    for (const socket of sockets) socket.destroy();
  });

  test('on a connection that sends slowly, or more than the limit, ends that connection', async () => {
    const slow = connect({port: server.port, host: '127.0.0.1', localAddress: '127.68.1.1'});
    const trickle = setInterval(() => slow.write(Buffer.from([0])), 500);
    slow.on('error', () => undefined);
    slow.write(Buffer.from([0, 40]));
    await until('it is closed', () => slow.closed, {intervalMs: 20});
    clearInterval(trickle);
    const greedy = connect({port: server.port, host: '127.0.0.1', localAddress: '127.68.2.1'});
    greedy.on('error', () => undefined).resume();
    const frame = Framing.frame(queryOf(ACME_DOMAIN, 'NS'));
    greedy.write(Buffer.concat(Array.from({length: 20_000}, () => frame)));
    await until('it is closed', () => greedy.closed, {intervalMs: 20});
  });

  test('leaves no line in the log', async () => {
    const before = (await server.log()).length;
    for (const bytes of [Buffer.alloc(0), Buffer.alloc(11, 0xff), Buffer.alloc(600, 1), queryOf('a.b', 'AXFR')]) {
      await overUdp(server.port, bytes, {ms: 50}).catch(() => undefined);
    }
    expect(await server.log()).toHaveLength(before);
    const {body} = await server.operations('/metrics');
    expect(body).toMatch(/^nameplate_nameserver_queries_total\{transport="udp",outcome="limited"\} \d+$/m);
  });
});

test('without the API server, it answers what it knows, and reports itself unready', async () => {
  const name = newName();
  await openOrder({name, value: ONE});
  await serves(name, ONE);
  await api.crash();
  await until('it is unready', async () => (await server.operations('/readyz')).status === 503);
  expect((await server.operations('/readyz')).body).toContain('the API server has been unreachable for');
  expect((await server.operations('/healthz')).status).toBe(200);
  expect(await texts(name)).toEqual([ONE]);
  await api.resume();
  await until('it is ready', async () => (await server.operations('/readyz')).status === 200);
  const next = newName();
  await openOrder({name: next, value: TWO});
  await serves(next, TWO);
});
