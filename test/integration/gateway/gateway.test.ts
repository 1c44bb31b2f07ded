/** What the provider for Gateway API builds, on a real API server with the CRDs of the standard channel. */

import {join} from 'node:path';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {HTTP_ROUTE, LISTENER_SET} from '../../../src/operator/edge/gateway-kinds.ts';
import {moving} from '../../../src/operator/edge/moving.ts';
import {deleteRoutes, publishRoute} from '../../../src/operator/edge/publish.ts';
import {MIDDLEWARE, traefik} from '../../../src/operator/edge/traefik.ts';
import type {EdgeProvider, HostRoute} from '../../../src/operator/model/edge-provider.ts';
import {INGRESS} from '../../../src/operator/model/kinds.ts';
import type {Context} from '../../../src/operator/state/context.ts';
import {INDEX} from '../../../src/operator/state/stores.ts';
import {Corrections} from '../../../src/runtime/apply/corrections.ts';
import {Store} from '../../../src/runtime/cache/store.ts';
import type {KubeClient} from '../../../src/runtime/kube/client.ts';
import {type KubeObject, keyOf, objectKey, type ResourceType} from '../../../src/runtime/kube/object.ts';
import {type ApiServer, startApiServer} from '../../cluster/apiserver.ts';
import {ensurePrograms} from '../../cluster/programs.ts';
import {ON_GATEWAY} from '../../support/edge.ts';
import {listAll} from '../../support/kube.ts';
import {ManualClock} from '../../support/manual-clock.ts';
import {clientOf, edge, routeIn, validObjects} from './valid.suite.ts';

let api: ApiServer;
let client: KubeClient;
beforeAll(async () => {
  const programs = await ensurePrograms(['gatewayapi', 'traefik']);
  const crds = [programs.asset('gateway-api-crds'), programs.asset('traefik-crds.yml')];
  api = await startApiServer({crds: [...crds, join(import.meta.dirname, '../../../crds')]});
  client = clientOf(api);
});
afterAll(() => api?.stop());

validObjects(() => client);

test('until its controller has seen it, an object is pending', async () => {
  const route = await routeIn(client, 'unseen', 'unseen.example.com');
  const stored = [];
  for (const {resource, intent} of edge.build(route)) stored.push(await client.apply(resource, intent));
  expect(edge.verdict(stored, {get: () => undefined})).toMatchObject({kind: 'pending'});
});

/** An empty cache for each kind, except for a Secret for each route in `secrets`. */
function contextWith(secrets: readonly HostRoute[], of: EdgeProvider = edge) {
  const routes = of.resources.map(resource => {
    const store = new Store<KubeObject>({onHandlerError: () => undefined});
    store.addIndex(INDEX.route, ({metadata: {namespace, name}}) => [`${namespace}/${name.replace(/-https?$/, '')}`]);
    return {resource, store};
  });
  const stores = {
    routes,
    secrets: new Map(secrets.map(({namespace, name}) => [`${namespace}/${name}`, {}])),
    platform: {get: () => undefined, stores: []},
  };
  const clock = new ManualClock(Date.now() + 3_600_000); // the Services have existed for long
  const corrections = new Corrections(clock);
  return {client, edge: of, stores, clock, corrections, signal: AbortSignal.timeout(60_000)} as unknown as Context;
}

test('a ListenerSet waits for its Secret, and for the former holder to be gone', async () => {
  const host = 'moves.example.com';
  const [former, next] = [await routeIn(client, 'former', host), await routeIn(client, 'next', host)];
  const publish = (route: HostRoute, context: Context) =>
    publishRoute(context, `${route.namespace}/${route.name}`, edge.build(route));
  const read = (route: HostRoute) => client.get(LISTENER_SET, {namespace: route.namespace, name: route.name});

  expect(await publish(former, contextWith([]))).toEqual({kind: 'waiting', on: 'the certificate'});
  expect(await read(former)).toBeUndefined();
  const context = contextWith([former, next]);
  expect((await publish(former, context)).kind).toBe('pending');

  const waiting = {kind: 'waiting', on: 'the route of the former holder to be removed'};
  expect(await publish(next, context)).toEqual(waiting);
  expect(await read(next)).toBeUndefined();
  expect(await client.get(HTTP_ROUTE, {namespace: 'next', name: next.name})).toBeUndefined();

  // A finalizer keeps it, but it no longer names the host.
  const held = await read(former);
  if (!held) throw new Error('the ListenerSet of the former holder is missing');
  await client.patch(LISTENER_SET, objectKey(held), edge.emptied(held) ?? {});
  expect((await publish(next, context)).kind).toBe('pending');
  expect(keyOf((await read(next)) ?? held)).toBe(`next/${next.name}`);
});

/** The same, with the objects on the API server. */
async function syncedContext(route: HostRoute, of: EdgeProvider): Promise<Context> {
  const context = contextWith([route], of);
  for (const {resource, store} of context.stores.routes) {
    const found = await listAll<KubeObject>(client, resource, {namespace: route.namespace});
    (store as Store<KubeObject>).replace(new Map(found.map(object => [keyOf(object), object])), '1');
  }
  return context;
}

test('a host that moves to this edge stays on the former one, until it is removed', async () => {
  const former = traefik(ON_GATEWAY);
  const both = moving(edge, former, {...ON_GATEWAY, edgeAddresses: ['192.0.2.20']});
  const route = await routeIn(client, 'moving', 'moving.example.com');
  const routeKey = `${route.namespace}/${route.name}`;
  const publish = async (of: EdgeProvider) => publishRoute(await syncedContext(route, of), routeKey, of.build(route));
  const objects = async () => {
    const kinds = [INGRESS, MIDDLEWARE, LISTENER_SET, HTTP_ROUTE] as ResourceType<KubeObject>[];
    const found = await Promise.all(kinds.map(kind => listAll(client, kind, {namespace: route.namespace})));
    return found.flat().map(({kind, metadata}) => `${kind} ${metadata.name} ${metadata.uid}`);
  };

  expect((await publish(former)).kind).toBe('accepted');
  const onFormer = await objects();
  expect(onFormer).toHaveLength(3);
  // The Gateway decides whether the host is live, and no controller runs here.
  expect((await publish(both)).kind).toBe('pending');
  expect(await objects()).toEqual([
    ...onFormer,
    expect.stringContaining('ListenerSet'),
    ...Array(2).fill(expect.stringContaining('HTTPRoute')),
  ]);
  const onBoth = await objects();
  // The same if the move is declared finished too early.
  expect((await publish(edge)).kind).toBe('pending');
  expect(await objects()).toEqual(onBoth);

  await deleteRoutes(await syncedContext(route, both), routeKey, async () => true);
  expect(await objects()).toEqual([]);
});
