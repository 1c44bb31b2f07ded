/** The platform key, which the operator creates in a real API server with the rights that the chart grants. */
import {mkdtemp, readFile, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {pino} from 'pino';
import {Registry} from 'prom-client';
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {loadPlatformKey, PlatformKeyError} from '../../../src/operator/platform-key.ts';
import type {KubeClient} from '../../../src/runtime/kube/client.ts';
import {TransportError} from '../../../src/runtime/kube/errors.ts';
import {createKubeClient} from '../../../src/runtime/kube/http-client.ts';
import {systemClock} from '../../../src/time/clock.ts';
import {type ApiServer, startApiServer} from '../../cluster/apiserver.ts';
import {ensurePrograms, HELM} from '../../cluster/programs.ts';
import {RELEASE} from '../../support/install.ts';
import {spawnOperator} from '../../support/operator-process.ts';
import {renderRoles} from '../roles/chart.ts';

const ROOT = join(import.meta.dirname, '../../..');
const {namespace} = RELEASE;
const name = 'nameplate-platform-key';
const config = {
  platform: {baseDomain: 'apps.example.net', targetDomain: 'edge.example.net'},
  certificates: {issuerRef: {name: 'any'}},
};
const logger = pino({level: 'silent'});
const PUBLISHED = JSON.stringify({
  apiVersion: 'nameplate.dev/v1alpha1',
  kind: 'Project',
  metadata: {name: 'shop', namespace: 'default'},
  spec: {service: {name: 'shop', port: 80}},
});
const CLAIM = JSON.stringify({
  apiVersion: 'nameplate.dev/v1alpha1',
  kind: 'DomainClaim',
  metadata: {name: 'shop.example.org'},
  spec: {account: 'acme', namespace: 'acme', since: '2026-06-01T00:00:00Z'},
});

let api: ApiServer;
let folder: string;
let kubeconfig: string;
let client: KubeClient;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'nameplate-platform-key-'));
  api = await startApiServer({crds: [join(ROOT, 'crds')]});
  await api.kubectl('create', 'namespace', namespace);
  const roles = await renderRoles((await ensurePrograms([HELM])).path('helm'));
  await api.apply(
    roles
      .split(/^---$/m)
      .filter(text => !text.includes('ValidatingAdmissionPolicy'))
      .join('---'),
  );
  kubeconfig = await api.kubeconfigFor(namespace, RELEASE.name);
  client = createKubeClient({
    kubeconfig,
    userAgent: 'nameplate-test',
    fieldManager: 'test',
    logger,
    registry: new Registry(),
  });
});

afterAll(async () => {
  await client?.close();
  await api?.stop();
  if (folder) await rm(folder, {recursive: true});
});

beforeEach(async () => {
  await api.kubectl('delete', 'domainclaims', '--all');
  await api.kubectl('delete', 'secret', '-n', namespace, name, '--ignore-not-found');
});

function load(
  through = client,
  signal = new AbortController().signal,
  target = {...config.platform, confirmTargetDomain: ''},
): Promise<Uint8Array | undefined> {
  const parts = {client: through, namespace, target, clock: systemClock, logger, signal};
  return loadPlatformKey({name, key: 'platform.key'}, parts);
}

async function stored(): Promise<{immutable: boolean; data: Record<string, string>}> {
  return JSON.parse(await api.kubectl('get', 'secret', '-n', namespace, name, '-o', 'json'));
}

/** Clients that all look, and find nothing, before any of them creates. */
function inStep(count: number): readonly KubeClient[] {
  const {promise: allHaveLooked, resolve} = Promise.withResolvers<void>();
  let looked = 0;
  const create: KubeClient['create'] = async (...args) => {
    if (++looked === count) resolve();
    await allHaveLooked;
    return client.create(...args);
  };
  return Array.from(
    {length: count},
    () =>
      ({
        get: client.get.bind(client),
        list: client.list.bind(client),
        patch: client.patch.bind(client),
        create,
      }) as KubeClient,
  );
}

test('the first start creates 32 immutable bytes, which every later one reads', async () => {
  const key = await load();
  const {immutable, data} = await stored();
  expect(immutable).toBe(true);
  expect(Buffer.from(data['platform.key'] ?? '', 'base64')).toHaveLength(32);
  expect(Buffer.from(key ?? [])).toEqual(Buffer.from(data['platform.key'] ?? '', 'base64'));
  expect(await load()).toEqual(key);
});

describe('a changed target domain', () => {
  const {signal} = new AbortController();
  const next = 'edge2.example.net';
  const start = (targetDomain: string, confirmTargetDomain = '') =>
    load(client, signal, {...config.platform, targetDomain, confirmTargetDomain});
  const released = CLAIM.replace('"since"', '"releasedAt":"2026-06-02T00:00:00Z","since"');

  test('takes effect while nobody holds a host', async () => {
    await start('edge.example.net');
    await api.apply(released);
    await expect(start(next)).resolves.toBeDefined();
  });

  test('keeps the operator from starting while hosts are held, with their number and what to do', async () => {
    await start('edge.example.net');
    await api.apply(CLAIM);
    const refused = await start(next).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(PlatformKeyError);
    expect(String(refused)).toContain('has changed from edge.example.net to edge2.example.net, and 1 held host');
    await expect(start(next, 'edge3.example.net'), 'another one is confirmed').rejects.toThrow('confirmTargetDomain');
    await expect(start('edge.example.net'), 'the former one').resolves.toBeDefined();
  });

  test('takes effect once the configuration confirms it, and is then the one in force', async () => {
    await start('edge.example.net');
    await api.apply(CLAIM);
    await expect(start(next, next)).resolves.toBeDefined();
    await expect(start(next)).resolves.toBeDefined();
    await expect(start('edge.example.net')).rejects.toThrow('has changed from edge2.example.net to edge.example.net');
  });

  test('is not noticed on a Secret without the record, as of a version before it', async () => {
    await start('edge.example.net');
    await api.kubectl('annotate', 'secret', '-n', namespace, name, 'nameplate.dev/target-domain-');
    await api.apply(CLAIM);
    await expect(start(next)).resolves.toBeDefined();
  });
});

test('replicas that start at the same time share one key', async () => {
  const [first, ...others] = await Promise.all(inStep(3).map(each => load(each)));
  expect(first).toHaveLength(32);
  for (const key of others) expect(key).toEqual(first);
});

test('an existing key is read, and never changed', async () => {
  await api.kubectl(
    'create',
    'secret',
    'generic',
    name,
    '-n',
    namespace,
    `--from-literal=platform.key=${'k'.repeat(40)}`,
  );
  const before = await stored();
  await api.apply(CLAIM);
  expect(Buffer.from((await load()) ?? []).toString()).toBe('k'.repeat(40));
  expect((await stored()).data).toEqual(before.data);
});

test('a Secret without a whole key stops the operator, and keeps its content', async () => {
  await api.kubectl('create', 'secret', 'generic', name, '-n', namespace, '--from-literal=platform.key=short');
  await expect(load()).rejects.toThrow(
    `The platform key, the Secret ${namespace}/${name}, cannot be used:\n  platform.key has 5 bytes`,
  );
  expect((await stored()).data).toEqual({'platform.key': Buffer.from('short').toString('base64')});
});

test('where DomainClaims exist, the operator stops until the key is restored from its backup', async () => {
  const key = await load();
  const backup = join(folder, 'platform-key.yaml');
  await writeFile(backup, await api.kubectl('get', 'secret', '-n', namespace, name, '-o', 'yaml'));
  await api.apply(CLAIM);
  await api.kubectl('delete', 'secret', '-n', namespace, name);
  const {exited, logFile} = await spawnOperator({folder, name: 'lost', config, kubeconfig});
  expect(await exited).toBe(2);
  const said = await readFile(logFile, 'utf8');
  const [, command = ''] = /Restore the key from your backup: kubectl (.*)$/m.exec(said) ?? [];
  expect(command).toBe(`apply -n ${namespace} -f platform-key.yaml`);
  await expect(stored()).rejects.toThrow(/not found/);
  await api.kubectl(...command.replace('platform-key.yaml', backup).split(' '));
  expect(await load()).toEqual(key);
});

test('where a Project was published, the operator creates no other key, even without claims', async () => {
  await load();
  await api.kubectl('delete', 'secret', '-n', namespace, name);
  const status = {observedGeneration: 1, defaultHost: 'shop-default-aaaaaaaaaa.apps.example.net'};
  await api.apply(PUBLISHED);
  const patch = JSON.stringify({status});
  await api.kubectl('patch', 'project', 'shop', '--subresource=status', '--type=merge', '-p', patch);
  await expect(load()).rejects.toThrow('Restore the key from your backup');
  await api.kubectl('delete', 'project', 'shop');
  expect(await load()).toHaveLength(32);
});

test('while the API server does not answer, the operator waits, and ends when it is asked to', async () => {
  const end = new AbortController();
  const silent = {get: () => Promise.reject(new TransportError('GET', 'no answer'))} as unknown as KubeClient;
  const loading = load(silent, end.signal);
  end.abort();
  expect(await loading).toBeUndefined();
});
