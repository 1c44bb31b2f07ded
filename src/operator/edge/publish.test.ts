/**
 * One Service for all hosts of a project: how routes move to it, and when the others are deleted. Without an API
 * server.
 */
import {beforeEach, describe, expect, test} from 'vitest';
import {ON_GATEWAY} from '../../../test/support/edge.ts';
import {ManualClock} from '../../../test/support/manual-clock.ts';
import {apiOf, memoryOperator, reconcileContext} from '../../../test/support/memory-operator.ts';
import {operatorConfig} from '../../../test/support/operator-config.ts';
import {LABEL} from '../../api/names.ts';
import {withoutNulls} from '../../runtime/apply/merge-patch.ts';
import type {Store} from '../../runtime/cache/store.ts';
import {type KubeObject, keyOf, type ResourceType} from '../../runtime/kube/object.ts';
import {KnownSince} from '../caches/known-since.ts';
import {backendName, routeName} from '../kinds/derived-names.ts';
import type {EdgeProvider, HostRoute} from '../kinds/edge-provider.ts';
import {INGRESS, SERVICE, type Service} from '../kinds/kinds.ts';
import type {EdgeContext} from './context.ts';
import {gateway} from './gateway.ts';
import {HTTP_ROUTE, type HttpRoute} from './gateway-kinds.ts';
import {deleteRoutes, type Publication, publishedRoute, publishRoute, whileFormerServes} from './publish.ts';
import {traefik} from './traefik.ts';
import {reconcileUnusedService} from './unused-service.ts';

const NAMESPACE = 'acme';
const config = operatorConfig();
const edge = traefik(config.routing);

let clock: ManualClock;
let writes: string[];
let context: EdgeContext;
let put: (object: KubeObject) => void;
/** Objects on the API server that no cache shows. */
let unseen: readonly KubeObject[];
/** Runs the sweep once for a Service. */
let sweep: (name: string) => Promise<unknown>;

beforeEach(() => connect(edge));

function connect(to: EdgeProvider): void {
  clock = new ManualClock(Date.parse('2026-06-01T00:00:00Z'));
  writes = [];
  const caches = memoryOperator({config, clock, edge: to});
  let version = 1;
  put = object => {
    const metadata = {
      uid: keyOf(object),
      generation: 1,
      creationTimestamp: new Date(clock.now()).toISOString(),
      ...object.metadata,
      resourceVersion: `${++version}`,
    };
    caches.put({...object, metadata});
  };
  unseen = [];
  const client = {
    create: async ({kind}: ResourceType, object: KubeObject) => {
      writes.push(`create ${kind} ${object.metadata.name}`);
      put(object);
      return caches.store(kind)?.get(keyOf(object));
    },
    patch: async ({kind}: ResourceType, {name}: {name: string}, patch: KubeObject) => {
      writes.push(`patch ${kind} ${name}`);
      const before = caches.store(kind)?.get(`${NAMESPACE}/${name}`) as KubeObject;
      const after = patched(before, patch) as KubeObject;
      put({...after, metadata: {...after.metadata, generation: (before.metadata.generation ?? 0) + 1}});
      return caches.store(kind)?.get(`${NAMESPACE}/${name}`);
    },
    async *list({kind}: ResourceType) {
      yield {items: [...(caches.store(kind)?.list() ?? []), ...unseen.filter(object => object.kind === kind)]};
    },
    delete: async ({kind}: ResourceType, {name}: {name: string}) => {
      writes.push(`delete ${kind} ${name}`);
      caches.store(kind)?.remove(caches.store(kind)?.get(`${NAMESPACE}/${name}`) as KubeObject);
      return true;
    },
  };
  context = {...caches.operator, ...apiOf(client)};
  const reconcile = reconcileUnusedService(context);
  sweep = name => reconcile(`${NAMESPACE}/${name}`, reconcileContext(client));
}

/** RFC 7396. */
function patched(value: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const before = (value ?? {}) as Record<string, unknown>;
  const parts = Object.entries(patch).map(([key, part]) => [key, patched(before[key], part)]);
  return withoutNulls({...before, ...Object.fromEntries(parts)});
}

function publish(host: string, port = 80, redirect?: HostRoute['redirect']) {
  const name = routeName(NAMESPACE, host);
  const backend = {
    name: backendName(NAMESPACE, 'shop', {port}),
    project: 'shop',
    selector: {app: 'shop'},
    port: {port},
  };
  const owner = {apiVersion: 'nameplate.dev/v1alpha1', kind: 'Domain', name: host, uid: host};
  const route = {namespace: NAMESPACE, name, host, tlsSecret: name, backend, owner, ...(redirect && {redirect})};
  return publishRoute(context, route);
}

/** The route of a host whose Service had another port until now. Returns the name of the former Service. */
function putFormerRoute(host: string, at = edge): string {
  const name = routeName(NAMESPACE, host);
  const owner = {apiVersion: 'nameplate.dev/v1alpha1', kind: 'Domain', name: host, uid: host};
  const former = backendName(NAMESPACE, 'shop', {port: 8080});
  const backend = {name: former, project: 'shop', selector: {app: 'shop'}, port: {port: 8080}};
  const route = {namespace: NAMESPACE, name, host, tlsSecret: name, backend, owner};
  for (const {intent} of at.build(route)) put(withoutNulls(intent) as KubeObject);
  return former;
}

const ours = (kind: ResourceType) => context.stores.routes.find(({resource}) => resource === kind)?.store;
const ingressOf = (host: string) => ours(INGRESS)?.get(`${NAMESPACE}/${routeName(NAMESPACE, host)}`);
const backendOf = (host: string) => {
  const ingress = ingressOf(host);
  return ingress && edge.backends(ingress);
};
const services = () => [...(ours(SERVICE)?.list() ?? [])];

test('a hundred hosts of a project use one Service', async () => {
  for (let index = 0; index < 100; index++) await publish(`h${index}.example.com`);
  expect(services()).toHaveLength(1);
  expect(services()[0]?.metadata.labels?.[LABEL.backend]).toBe('shop');
  expect(services()[0]?.metadata.ownerReferences).toBeUndefined();
  expect(writes).toHaveLength(1 + 100);
});

test('an object that another program keeps changing is corrected a few times, and then only after a pause', async () => {
  const name = routeName(NAMESPACE, 'a.example.com');
  await publish('a.example.com');
  const ingress = ingressOf('a.example.com') as KubeObject;
  writes.length = 0;
  for (let edits = 0; edits < 10; edits++) {
    put({...ingress, ...{spec: {rules: []}}});
    await publish('a.example.com');
  }
  expect(writes).toEqual(Array(5).fill(`patch Ingress ${name}`));
  await clock.advance(1000);
  await publish('a.example.com');
  expect(writes).toHaveLength(6);
  expect(backendOf('a.example.com')).toHaveLength(1);
});

test('while an object that another program keeps deleting is not created again, the route says why', async () => {
  const name = routeName(NAMESPACE, 'a.example.com');
  const remove = () => (ours(INGRESS) as Store<KubeObject>).remove(ingressOf('a.example.com') as KubeObject);
  for (let deletions = 0; deletions < 6; deletions++) {
    await publish('a.example.com');
    remove();
  }
  writes.length = 0;
  const contested = expect.stringContaining(`deleting Ingress ${name}`);
  const wakeAtMs = clock.now() + 1000;
  expect(await publish('a.example.com')).toEqual({kind: 'waiting', on: `Ingress ${name}`, contested, wakeAtMs});
  expect(writes).toEqual([]);
  await clock.advance(1000);
  expect(await publish('a.example.com')).toMatchObject({kind: 'accepted', contested});
  expect(writes).toEqual([`create Ingress ${name}`]);
});

describe('a host that becomes a redirect', () => {
  const host = 'a.example.com';
  const name = routeName(NAMESPACE, host);
  const redirect = {to: 'b.example.com', status: 301} as const;
  const middlewareOf = () =>
    ingressOf(host)?.metadata.annotations?.['traefik.ingress.kubernetes.io/router.middlewares'];

  test('keeps serving until the edge has had time to read the Middleware', async () => {
    await publish(host);
    writes.length = 0;
    const waiting = {kind: 'waiting', on: `the edge to read Middleware ${name}-https`};
    expect(await publish(host, 80, redirect)).toEqual(waiting);
    await clock.advance(edge.settleMs - 1);
    expect(await publish(host, 80, redirect)).toEqual(waiting);
    expect(writes).toEqual([`create Middleware ${name}-https`]);
    expect(middlewareOf()).toBeUndefined();
    await clock.advance(1);
    expect(await publish(host, 80, redirect)).toEqual({kind: 'accepted'});
    expect(writes.slice(1)).toEqual([`patch Ingress ${name}`, `create Ingress ${name}-http`]);
    expect(middlewareOf()).toBe(`${NAMESPACE}-${name}-https@kubernetescrd`);
  });

  test('and serves again: the Middleware stays until the edge has had time to read that nothing needs it', async () => {
    await publish(host, 80, redirect);
    writes.length = 0;
    expect(await publish(host)).toEqual({kind: 'accepted', wakeAtMs: clock.now() + edge.settleMs});
    expect(writes).toEqual([`patch Ingress ${name}`, `delete Ingress ${name}-http`]);
    expect(middlewareOf()).toBeUndefined();
    await clock.advance(edge.settleMs - 1);
    expect(await publish(host)).toEqual({kind: 'accepted', wakeAtMs: clock.now() + 1});
    await clock.advance(1);
    expect(await publish(host)).toEqual({kind: 'accepted'});
    expect(writes.slice(2)).toEqual([`delete Middleware ${name}-https`]);
  });

  test('immediately, if it was not published', async () => {
    expect(await publish(host, 80, redirect)).toEqual({kind: 'accepted'});
    expect(writes.at(-1)).toBe(`create Ingress ${name}-http`);
  });
});

test('a redirect that has lost its Ingress for HTTPS is not published', async () => {
  const [host, to] = ['a.example.com', 'b.example.com'];
  const published = () => publishedRoute(context, `${NAMESPACE}/${routeName(NAMESPACE, host)}`);
  expect(published()).toBeUndefined();
  await publish(host);
  expect(published()).toEqual({kind: 'serve'});
  await publish(host, 80, {to, status: 301});
  await clock.advance(edge.settleMs);
  await publish(host, 80, {to, status: 301});
  expect(published()).toEqual({kind: 'redirect', to});
  (ours(INGRESS) as Store<KubeObject>).remove(ingressOf(host) as KubeObject);
  expect(published()).toBeUndefined();
});

test.each([
  {name: 'Traefik', on: edge},
  {name: 'a Gateway', on: gateway(ON_GATEWAY, 'challenges.example.com')},
])('on $name, a route whose Service is gone is not published; with another one that somebody named, it is', ({on}) => {
  connect(on);
  const host = 'a.example.com';
  const published = () => publishedRoute(context, `${NAMESPACE}/${routeName(NAMESPACE, host)}`);
  const former = putFormerRoute(host, on);
  expect(published()).toEqual({kind: 'serve'});
  const service = ours(SERVICE)?.get(`${NAMESPACE}/${former}`) as KubeObject;
  (ours(SERVICE) as Store<KubeObject>).remove(service);
  expect(published()).toBeUndefined();
  (context.stores.services as Store<Service>).upsert(service as Service);
  expect(published()).toEqual({kind: 'serve'});
});

test('an object that the operator has deleted itself is created again immediately', async () => {
  const {signal} = new AbortController();
  for (let deletions = 0; deletions < 10; deletions++) {
    expect((await publish('a.example.com')).kind).toBe('accepted');
    await deleteRoutes({...context, signal}, `${NAMESPACE}/${routeName(NAMESPACE, 'a.example.com')}`, async () => true);
  }
});

test('a route moves to a new Service once the edge has had time to read its endpoints, and stays published', async () => {
  const former = putFormerRoute('a.example.com');
  const shared = backendName(NAMESPACE, 'shop', {port: 80});
  const first = await publish('a.example.com');
  expect(first).toEqual({kind: 'accepted', wakeAtMs: clock.now() + edge.settleMs});
  expect(writes).toEqual([`create Service ${shared}`]);
  expect(backendOf('a.example.com')).toEqual([former]);
  await clock.advance(edge.settleMs);
  expect(await publish('a.example.com')).toEqual({kind: 'accepted'});
  expect(backendOf('a.example.com')).toEqual([shared]);
  expect(writes.filter(write => write.startsWith('delete'))).toEqual([]);
});

test('after a step of the clock back, a route moves as soon as ever', async () => {
  putFormerRoute('a.example.com');
  await publish('a.example.com');
  clock.step(-3_600_000);
  expect(await publish('a.example.com')).toEqual({kind: 'accepted', wakeAtMs: clock.now() + edge.settleMs});
  await clock.advance(edge.settleMs);
  expect(await publish('a.example.com')).toEqual({kind: 'accepted'});
  expect(backendOf('a.example.com')).toEqual([backendName(NAMESPACE, 'shop', {port: 80})]);
});

test('a Service is deleted once no route has used it for a minute', async () => {
  const former = putFormerRoute('a.example.com');
  expect(await sweep(former)).toEqual({kind: 'done'});
  await publish('a.example.com');
  await clock.advance(edge.settleMs);
  await publish('a.example.com');
  writes.length = 0;
  expect(await sweep(former)).toEqual({kind: 'after', ms: 60_000});
  await clock.advance(59_999);
  expect(await sweep(former)).toEqual({kind: 'after', ms: 1});
  expect(writes).toEqual([]);
  await clock.advance(1);
  await sweep(former);
  await sweep(backendName(NAMESPACE, 'shop', {port: 80}));
  expect(writes).toEqual([`delete Service ${former}`]);
});

test('a Service that a route uses according to the API server is not deleted, whatever the caches show', async () => {
  const unused = backendName(NAMESPACE, 'shop', {port: 81});
  put({apiVersion: 'v1', kind: 'Service', metadata: {name: unused, namespace: NAMESPACE}});
  const service = {name: unused, port: {number: 81}};
  const rules = [{host: 'a.example.com', http: {paths: [{path: '/', pathType: 'Prefix', backend: {service}}]}}];
  const metadata = {name: 'np-a', namespace: NAMESPACE};
  unseen = [{apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', metadata, spec: {rules}} as KubeObject];
  await sweep(unused);
  await clock.advance(60_000);
  expect(await sweep(unused)).toEqual({kind: 'after', ms: 1000});
  unseen = [];
  await sweep(unused);
  expect(writes.filter(write => write.startsWith('delete'))).toEqual([`delete Service ${unused}`]);
});

test('a Service that a route uses again is not deleted', async () => {
  const former = putFormerRoute('a.example.com');
  const [name] = services().map(({metadata}) => metadata.name);
  expect(name).toBe(former);
  const unused = backendName(NAMESPACE, 'shop', {port: 81});
  put({apiVersion: 'v1', kind: 'Service', metadata: {name: unused, namespace: NAMESPACE}});
  await sweep(unused);
  await clock.advance(59_000);
  await publish('b.example.com', 81);
  await clock.advance(2_000);
  expect(await sweep(unused)).toEqual({kind: 'done'});
  expect(writes.filter(write => write.startsWith('delete'))).toEqual([]);
});

describe('a default host on a Gateway', () => {
  const host = 'shop.apps.example.net';
  const name = routeName(NAMESPACE, host);
  const gatewayEdge = gateway(
    {
      ...config.routing,
      gateway: {...config.routing.gateway, namespace: 'edge', name: 'platform'},
    },
    'challenges.edge.test',
  );

  /**
   * Publishes a default host with its own certificate, or with that of the Gateway's listener for all default hosts.
   */
  function publishDefault(tls: 'certificate' | 'ingress-default') {
    const backend = {
      name: backendName(NAMESPACE, 'shop', {port: 80}),
      project: 'shop',
      selector: {app: 'shop'},
      port: {port: 80},
    };
    const owner = {apiVersion: 'nameplate.dev/v1alpha1', kind: 'Project', name: 'shop', uid: '1'};
    const tlsSecret = tls === 'certificate' ? {tlsSecret: name} : {};
    const route = {namespace: NAMESPACE, name, host, backend, owner, project: 'shop', ...tlsSecret};
    return publishRoute(context, route);
  }

  /** The Gateway's controller reports on a generation of the route, for the listener of all default hosts. */
  function report(observedGeneration: number) {
    const store = context.stores.routes.find(({resource}) => resource === HTTP_ROUTE)?.store;
    const route = store?.get(`${NAMESPACE}/${name}`) as HttpRoute;
    const conditions = [{type: 'Accepted', status: 'True', observedGeneration}];
    const parents = [{parentRef: route.spec.parentRefs?.at(-1), controllerName: 'example.com/edge', conditions}];
    put({...route, status: {parents}} as KubeObject);
  }

  beforeEach(() => {
    connect(gatewayEdge);
    const spec = {gatewayClassName: 'edge', controllerName: 'example.com/edge'};
    Object.assign(context.stores.platform, {get: () => ({spec})});
    put({apiVersion: 'v1', kind: 'Secret', metadata: {namespace: NAMESPACE, name}});
  });

  test('gets its ListenerSet once the Gateway knows that its route is on it, too', async () => {
    await publishDefault('ingress-default');
    report(1);
    writes.length = 0;
    expect(await publishDefault('certificate')).toMatchObject({kind: 'pending', what: `HTTPRoute ${name}`});
    expect(writes).toEqual([`patch HTTPRoute ${name}`]);
    expect(await publishDefault('certificate')).toMatchObject({kind: 'pending', what: `HTTPRoute ${name}`});
    report(2);
    await publishDefault('certificate');
    expect(writes).toEqual([`patch HTTPRoute ${name}`, `create ListenerSet ${name}`]);
  });

  test('gets it immediately if it is new', async () => {
    await publishDefault('certificate');
    expect(writes.at(-1)).toBe(`create ListenerSet ${name}`);
  });

  test('loses it before its route leaves it', async () => {
    await publishDefault('certificate');
    writes.length = 0;
    await publishDefault('ingress-default');
    expect(writes).toEqual([`delete ListenerSet ${name}`, `patch HTTPRoute ${name}`]);
  });
});

// attack: wildcard-over-host
test('a wildcard gets its ListenerSet once the Gateway certainly knows that it is served without HTTP/2', async () => {
  const host = '*.example.com';
  const name = routeName(NAMESPACE, host);
  const onGateway = gateway(
    {...ON_GATEWAY, gateway: {...ON_GATEWAY.gateway, clientTrafficPolicy: 'traffic'}},
    'challenges.edge.test',
  );
  connect(onGateway);
  Object.assign(context.stores.platform, {get: () => ({spec: {}})});
  put({apiVersion: 'v1', kind: 'Secret', metadata: {namespace: NAMESPACE, name}});
  const others = [`create Service ${backendName(NAMESPACE, 'shop', {port: 80})}`, `create HTTPRoute ${name}`];
  const wakeAtMs = clock.now() + onGateway.settleMs;
  const waiting = {kind: 'waiting', on: `the edge to read ClientTrafficPolicy ${name}`, wakeAtMs};
  expect(await publish(host)).toEqual(waiting);
  await clock.advance(onGateway.settleMs - 1);
  expect(await publish(host)).toEqual(waiting);
  expect(writes).toEqual([`create ClientTrafficPolicy ${name}`, ...others]);
  await clock.advance(1);
  await publish(host);
  expect(writes.slice(3)).toEqual([`create ListenerSet ${name}`]);

  writes.length = 0;
  await deleteRoutes(context, `${NAMESPACE}/${name}`, async () => true);
  const deleted = writes.map(write => write.split(' ')[1]);
  expect(deleted.indexOf('ListenerSet')).toBeLessThan(deleted.indexOf('ClientTrafficPolicy'));
  expect(deleted).toContain('ClientTrafficPolicy');
});

test('a host that was accepted counts as accepted for a minute after each change of its route', async () => {
  const clock = new ManualClock();
  const operator = {clock, knownSince: new KnownSince(clock)};
  const pending = (version: string) => ({kind: 'pending', what: 'HTTPRoute np-a', version}) as const;
  const kindOf = (publication: Publication, was = true) => whileFormerServes(operator, publication, was).kind;
  expect(kindOf(pending('a 2'), false)).toBe('pending');
  expect(whileFormerServes(operator, pending('a 2'), true)).toEqual({
    kind: 'accepted',
    wakeAtMs: clock.now() + 60_000,
  });
  await clock.advance(59_000);
  expect([kindOf(pending('a 2')), kindOf(pending('a 3'))]).toEqual(['accepted', 'accepted']);
  await clock.advance(1_000);
  expect([kindOf(pending('a 2')), kindOf(pending('a 3'))]).toEqual(['pending', 'accepted']);
  expect(kindOf({kind: 'rejected', what: 'HTTPRoute np-a', why: 'no'})).toBe('rejected');
});
