import {readFile, writeFile} from 'node:fs/promises';
import {rootCertificates} from 'node:tls';
import {pino} from 'pino';
import {Registry} from 'prom-client';
import {expect, test} from 'vitest';
import type {PatchOperation, WriteRecord} from '../../../src/runtime/kube/calls.ts';
import {
  classifyFailure,
  FencedError,
  isAlreadyExists,
  isConflict,
  isForbidden,
  isInvalid,
  TransportError,
} from '../../../src/runtime/kube/errors.ts';
import {createKubeClient} from '../../../src/runtime/kube/http-client.ts';
import {until} from '../../cluster/wait.ts';
import {CONFIG_MAP, configMap} from './runtime-world.ts';
import {api, client, direct, errorOf, namespace, proxy, world} from './setup.ts';

test('what does not exist is undefined, and deleting it is fine', async () => {
  expect(await client.get(CONFIG_MAP, {namespace, name: 'nope'})).toBeUndefined();
  expect(await client.delete(CONFIG_MAP, {namespace, name: 'nope'})).toBe(false);
});

test('a write to an object or a namespace that is gone has lost a race; one to a kind that is missing is refused', async () => {
  const gone = {namespace, name: 'nope'};
  const written = [
    client.patch(CONFIG_MAP, gone, {data: {a: '1'}}),
    client.replace(CONFIG_MAP, {...configMap(namespace, 'nope'), metadata: {...gone, resourceVersion: '1'}}),
    client.create(CONFIG_MAP, configMap('no-namespace', 'x')),
  ];
  const kindsOf = await Promise.all(written.map(async write => classifyFailure(await errorOf(write))));
  expect(kindsOf).toEqual(['race', 'race', 'race']);
  const missing = {...CONFIG_MAP, group: 'missing.test', plural: 'missings', kind: 'Missing'};
  const refused = client.create(missing, {
    ...configMap(namespace, 'x'),
    apiVersion: 'missing.test/v1',
    kind: 'Missing',
  });
  expect(classifyFailure(await errorOf(refused))).toBe('refusal');
});

test('of several creators one wins', async () => {
  const results = await Promise.allSettled(
    [1, 2, 3, 4].map(() => client.create(CONFIG_MAP, configMap(namespace, 'x'))),
  );
  expect(results.filter(result => result.status === 'fulfilled')).toHaveLength(1);
  expect(results.filter(result => result.status === 'rejected' && isAlreadyExists(result.reason))).toHaveLength(3);
});

test('a replace at an old resourceVersion is a conflict', async () => {
  const first = await client.create(CONFIG_MAP, configMap(namespace, 'x'));
  const second = await client.replace(CONFIG_MAP, {...first, data: {a: '1'}});
  expect(second.data).toEqual({a: '1'});
  expect(isConflict(await errorOf(client.replace(CONFIG_MAP, {...first, data: {a: '2'}})))).toBe(true);
});

test('a delete with the uid of an earlier life is a conflict', async () => {
  const first = await client.create(CONFIG_MAP, configMap(namespace, 'x'));
  await client.delete(CONFIG_MAP, {namespace, name: 'x'});
  await client.create(CONFIG_MAP, configMap(namespace, 'x'));
  const uid = first.metadata.uid ?? '';
  expect(isConflict(await errorOf(client.delete(CONFIG_MAP, {namespace, name: 'x'}, {preconditions: {uid}})))).toBe(
    true,
  );
});

test('a list comes in pages, all of one moment', async () => {
  await Promise.all(Array.from({length: 25}, (_, i) => client.create(CONFIG_MAP, configMap(namespace, `x${i}`))));
  const sizes: number[] = [];
  const versions = new Set<string>();
  for await (const page of client.list(CONFIG_MAP, {namespace, pageSize: 10})) {
    sizes.push(page.items.length);
    versions.add(page.resourceVersion);
    for (const item of page.items) expect(item.kind).toBe('ConfigMap');
  }
  // Every namespace gets one ConfigMap automatically.
  expect(sizes.slice(0, 2)).toEqual([10, 10]);
  expect(versions.size).toBe(1);
});

test('a page that is too large is requested again with fewer objects, for a few pages; each object comes once', async () => {
  const names = Array.from({length: 130}, (_, i) => `x${String(i).padStart(3, '0')}`);
  const data = {large: 'x'.repeat(900 * 1024)};
  await Promise.all(names.map((name, i) => client.create(CONFIG_MAP, configMap(namespace, name, i < 10 ? data : {}))));
  const listed: string[] = [];
  const sizes: number[] = [];
  const versions = new Set<string>();
  for await (const page of client.list(CONFIG_MAP, {namespace})) {
    expect(JSON.stringify(page.items).length).toBeLessThan(8 * 1024 * 1024);
    listed.push(...page.items.map(({metadata}) => metadata.name));
    sizes.push(page.items.length);
    versions.add(page.resourceVersion);
  }
  expect(listed).toEqual(['kube-root-ca.crt', ...names]);
  expect(sizes).toEqual([8, 8, 8, 8, 8, 8, 8, 8, 64, 3]);
  expect(versions.size).toBe(1);
});

test('what the schema forbids is invalid, with the fields named', async () => {
  const error = await errorOf(client.create(CONFIG_MAP, configMap(namespace, 'NOT A NAME')));
  expect(isInvalid(error)).toBe(true);
  expect(error).toMatchObject({causes: [expect.objectContaining({field: 'metadata.name'})]});
});

test('a merge patch removes with null', async () => {
  await client.create(CONFIG_MAP, configMap(namespace, 'x', {a: '1', b: '2'}));
  const patched = await client.patch(CONFIG_MAP, {namespace, name: 'x'}, {data: {a: null}});
  expect(patched.data).toEqual({b: '2'});
});

test('a JSON patch applies only to what was read, whatever else has changed', async () => {
  await client.create(CONFIG_MAP, configMap(namespace, 'x', {a: '1'}));
  const aToTwo: readonly PatchOperation[] = [
    {op: 'test', path: '/data/a', value: '1'},
    {op: 'replace', path: '/data/a', value: '2'},
  ];
  await client.patch(CONFIG_MAP, {namespace, name: 'x'}, {data: {b: '1'}});
  const patched = await client.jsonPatch(CONFIG_MAP, {namespace, name: 'x'}, aToTwo);
  expect(patched.data).toEqual({a: '2', b: '1'});
  expect(isInvalid(await errorOf(client.jsonPatch(CONFIG_MAP, {namespace, name: 'x'}, aToTwo)))).toBe(true);
  expect((await client.get(CONFIG_MAP, {namespace, name: 'x'}))?.data).toEqual({a: '2', b: '1'});
});

test('a list continues where a page of an earlier one ended', async () => {
  const names = Array.from({length: 5}, (_, i) => `x${i}`);
  await Promise.all(names.map(name => client.create(CONFIG_MAP, configMap(namespace, name))));
  const firstPage = async (from: string | undefined) => {
    for await (const page of client.list(CONFIG_MAP, {namespace, pageSize: 4, continue: from})) return page;
    throw new Error('a list without a page');
  };
  const [one, two] = [await firstPage(undefined), await firstPage((await firstPage(undefined)).next)];
  const listed = [one, two].flatMap(({items}) => items.map(({metadata}) => metadata.name));
  expect([one.next === undefined, two.next]).toEqual([false, undefined]);
  expect(listed).toEqual(['kube-root-ca.crt', ...names]);
});

test('every call has a deadline, and gives up when its caller does', async () => {
  proxy.intercept = () => ({kind: 'silence'});
  const late = await errorOf(client.get(CONFIG_MAP, {namespace, name: 'x'}, {timeoutMs: 200}));
  expect(late).toBeInstanceOf(TransportError);
  expect(String(late)).toMatch(/no answer within 200 ms/);
  const abort = new AbortController();
  const abandoned = errorOf(client.get(CONFIG_MAP, {namespace, name: 'x'}, {signal: abort.signal}));
  abort.abort(new Error('enough'));
  expect(await abandoned).toMatchObject({message: 'enough'});
});

const get = (timeoutMs: number) => client.get(CONFIG_MAP, {namespace, name: 'x'}, {timeoutMs});

test('a call that waits behind hanging ones ends at its own deadline, and the next call does not wait', async () => {
  proxy.intercept = () => ({kind: 'silence'});
  let ended = 0;
  for (let i = 0; i < 8; i++) void errorOf(get(60_000)).finally(() => (ended += 1));
  await until('they hang', () => proxy.seen.length === 8);
  expect(String(await errorOf(get(300)))).toMatch(/no answer within 300 ms/);
  proxy.intercept = () => undefined;
  expect(await get(30_000)).toBeUndefined();
  expect(ended).toBe(0);
});

test('connections that died without a sign cost one deadline, not one each', async () => {
  const {promise: release, resolve: open} = Promise.withResolvers<void>();
  proxy.intercept = () => ({kind: 'hold', until: release});
  const warm = Array.from({length: 8}, () => get(30_000));
  await until('eight connections are open', () => proxy.connections() === 8);
  open();
  await Promise.all(warm);
  proxy.freeze();
  const early = await Promise.allSettled([get(300), get(300)]);
  expect(early.map(({status}) => status)).toEqual(['rejected', 'rejected']);
  expect(await Promise.all(Array.from({length: 8}, () => get(60_000)))).toEqual(Array(8).fill(undefined));
  await until('the dead ones are closed', () => proxy.connections() <= 8);
});

test('a slow call survives that others end at their deadlines', async () => {
  const {promise: release, resolve: open} = Promise.withResolvers<void>();
  proxy.intercept = ({path}) => (path.endsWith('/slow') ? {kind: 'hold', until: release} : {kind: 'silence'});
  const slow = direct
    .create(CONFIG_MAP, configMap(namespace, 'slow'))
    .then(() => client.get(CONFIG_MAP, {namespace, name: 'slow'}));
  await until('it has arrived', () => proxy.seen.length === 1);
  await errorOf(get(200));
  await errorOf(get(200));
  open();
  expect((await slow)?.metadata.name).toBe('slow');
});

test('a truncated response is no response', async () => {
  await client.create(CONFIG_MAP, configMap(namespace, 'x', {a: 'x'.repeat(10_000)}));
  proxy.intercept = () => ({kind: 'cut', afterBytes: 5_000});
  expect(await errorOf(client.get(CONFIG_MAP, {namespace, name: 'x'}))).toBeInstanceOf(TransportError);
});

test('a text response from a proxy becomes an error that shows it', async () => {
  proxy.intercept = () => ({kind: 'answer', status: 502, headers: {'retry-after': '7'}, body: 'bad gateway'});
  const error = await errorOf(client.get(CONFIG_MAP, {namespace, name: 'x'}));
  expect(error).toMatchObject({status: 502, retryAfterMs: 7_000, message: expect.stringContaining('bad gateway')});
});

test('many watches leave room for requests, and requests share a few connections', async () => {
  const watches = Array.from({length: 30}, () => world.cache(client, CONFIG_MAP, {namespace}));
  await Promise.all(watches);
  const options = {timeoutMs: 50_000};
  const calls = Array.from({length: 200}, (_, i) => client.get(CONFIG_MAP, {namespace, name: `x${i}`}, options));
  await Promise.all(calls);
  expect(proxy.connections() - 30).toBeLessThanOrEqual(8);
});

test('what the handler of a watch throws ends the watch and its connection', async () => {
  for (const name of ['x', 'y']) await client.create(CONFIG_MAP, configMap(namespace, name));
  const before = proxy.connections();
  const limits = {timeoutMs: 60_000, idleTimeoutMs: 60_000, signal: world.signal};
  let calls = 0;
  const watching = client.watch(CONFIG_MAP, {namespace, ...limits}, () => {
    calls += 1;
    throw new RangeError('a mistake');
  });
  expect(await errorOf(watching)).toMatchObject({name: 'RangeError', message: 'a mistake'});
  await until('its connection is closed', () => proxy.connections() === before);
  expect(calls).toBe(1);
});

test('a closed gate lets no write out, not even one that waited for a free connection', async () => {
  const {promise: release, resolve: open} = Promise.withResolvers<void>();
  proxy.intercept = seen => (seen.method === 'GET' ? {kind: 'hold', until: release} : undefined);
  let allowedMs = 60_000;
  client.setWriteGate(() => allowedMs);
  // Eight slow reads occupy the connections, so the write queues behind them.
  const reads = Array.from({length: 8}, () => client.get(CONFIG_MAP, {namespace, name: 'x'}));
  await until('they have arrived', () => proxy.seen.filter(seen => seen.method === 'GET').length === 8);
  const write = errorOf(client.create(CONFIG_MAP, configMap(namespace, 'late')));
  allowedMs = 0;
  open();
  await Promise.all(reads);
  expect(await write).toBeInstanceOf(FencedError);
  expect(await errorOf(client.create(CONFIG_MAP, configMap(namespace, 'later')))).toBeInstanceOf(FencedError);
  const writes = proxy.seen.filter(seen => seen.path.endsWith('/configmaps') && seen.method === 'POST');
  expect(writes).toEqual([]);
  // This does not apply to reads and the lease.
  expect(await client.get(CONFIG_MAP, {namespace, name: 'late'})).toBeUndefined();
  await client.forLease().create(CONFIG_MAP, configMap(namespace, 'lease'));
});

test('a recording client reports each successful write', async () => {
  const writes: WriteRecord[] = [];
  const recording = client.recording(write => writes.push(write));
  const created = await recording.create(CONFIG_MAP, configMap(namespace, 'x'));
  await errorOf(recording.create(CONFIG_MAP, configMap(namespace, 'x')));
  await recording.delete(CONFIG_MAP, {namespace, name: 'x'});
  await recording.delete(CONFIG_MAP, {namespace, name: 'x'});
  expect(writes).toEqual([
    {resource: CONFIG_MAP, key: `${namespace}/x`, object: created},
    {resource: CONFIG_MAP, key: `${namespace}/x`, deletedUid: created.metadata.uid},
  ]);
});

test('tokens of an exec plugin are fetched anew when they expire', async () => {
  const config = JSON.parse(await readFile(api.kubeconfig, 'utf8')) as {
    users: {name: string; user: {token?: string; exec?: object}}[];
  };
  const [entry] = config.users;
  if (!entry) throw new Error('the kubeconfig has a user');
  const file = `${api.kubeconfig}-token`;
  const credential = (token: string) =>
    JSON.stringify({
      apiVersion: 'client.authentication.k8s.io/v1',
      kind: 'ExecCredential',
      status: {token, expirationTimestamp: new Date(0).toISOString()},
    });
  await writeFile(file, credential('wrong'));
  const good = entry.user.token ?? '';
  entry.user = {exec: {apiVersion: 'client.authentication.k8s.io/v1', command: 'cat', args: [file]}};
  const kubeconfig = `${api.kubeconfig}-exec`;
  await writeFile(kubeconfig, JSON.stringify(config));
  const rotating = world.client(kubeconfig);
  expect(await errorOf(rotating.get(CONFIG_MAP, {namespace, name: 'x'}))).toMatchObject({status: 401});
  await writeFile(file, credential(good));
  expect(await rotating.get(CONFIG_MAP, {namespace, name: 'x'})).toBeUndefined();
});

test('a token that the server refuses is read again from its file', async () => {
  const config = JSON.parse(await readFile(api.kubeconfig, 'utf8')) as {users: {user: {token?: string}}[]};
  const [entry] = config.users;
  if (!entry) throw new Error('the kubeconfig has a user');
  const tokenFile = `${api.kubeconfig}-token-file`;
  const good = entry.user.token ?? '';
  Object.assign(entry, {user: {'auth-provider': {name: 'tokenFile', config: {tokenFile}}}});
  const kubeconfig = `${api.kubeconfig}-file`;
  await writeFile(kubeconfig, JSON.stringify(config));
  await writeFile(tokenFile, 'revoked');
  const rotating = world.client(kubeconfig);
  expect(await errorOf(rotating.get(CONFIG_MAP, {namespace, name: 'x'}))).toMatchObject({status: 401});
  await writeFile(tokenFile, good);
  expect(await rotating.get(CONFIG_MAP, {namespace, name: 'x'})).toBeUndefined();
});

test('a CA that is replaced on disk is trusted without a restart', async () => {
  const config = JSON.parse(await readFile(api.kubeconfig, 'utf8')) as {clusters: {cluster: Record<string, string>}[]};
  const ca = `${api.kubeconfig}-ca.crt`;
  for (const {cluster} of config.clusters) {
    delete cluster['certificate-authority-data'];
    cluster['certificate-authority'] = ca;
  }
  const kubeconfig = `${api.kubeconfig}-ca`;
  await writeFile(kubeconfig, JSON.stringify(config));
  await writeFile(ca, rootCertificates[0] ?? '');
  const trusting = world.client(kubeconfig);
  expect(String(await errorOf(trusting.get(CONFIG_MAP, {namespace, name: 'x'})))).toMatch(/self-signed certificate/);
  await writeFile(ca, api.ca);
  expect(await trusting.get(CONFIG_MAP, {namespace, name: 'x'})).toBeUndefined();
});

test('a service account may do what its roles allow, over TLS with the CA of the kubeconfig', async () => {
  await api.kubectl('create', 'serviceaccount', 'limited', '-n', namespace);
  const limited = world.client(await api.kubeconfigFor(namespace, 'limited'));
  expect(isForbidden(await errorOf(limited.get(CONFIG_MAP, {namespace, name: 'x'})))).toBe(true);
});

test('requests are counted under the name that dashboards know', async () => {
  const registry = new Registry();
  const options = {kubeconfig: api.kubeconfig, userAgent: 'test', fieldManager: 'test', registry};
  const counted = createKubeClient({...options, logger: pino({level: 'silent'})});
  await counted.get(CONFIG_MAP, {namespace, name: 'x'});
  await counted.close();
  const text = await registry.getSingleMetricAsString('rest_client_requests_total');
  expect(text).toMatch(/rest_client_requests_total\{code="404",method="GET",host="127.0.0.1:\d+"\} 1/);
});

test('a client acts with the credentials that it is given, and reports that they are refused', async () => {
  const refused: unknown[] = [];
  const credentials = {headers: {authorization: 'Bearer nobody'}, tls: {ca: api.ca}};
  const access = {
    server: api.url,
    proxyUrl: undefined,
    namespace: undefined,
    credentials: async () => credentials,
    refuse: (each: unknown) => refused.push(each),
  };
  const options = {access, userAgent: 'test', fieldManager: 'test', registry: new Registry()};
  const nobody = createKubeClient({...options, logger: pino({level: 'silent'})});
  expect(await errorOf(nobody.get(CONFIG_MAP, {namespace, name: 'x'}))).toMatchObject({status: 401});
  expect(refused).toContain(credentials);
  await nobody.close();
});
