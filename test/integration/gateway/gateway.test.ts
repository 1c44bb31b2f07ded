/** What the provider for Gateway API builds, on a real API server with the CRDs of the standard channel. */

import {join} from 'node:path';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {API_VERSION, LABEL} from '../../../src/api/names.ts';
import {KnownSince} from '../../../src/operator/caches/known-since.ts';
import {createStores} from '../../../src/operator/caches/stores.ts';
import type {OperatorConfig} from '../../../src/operator/config/config.ts';
import {dropOtherRoutes} from '../../../src/operator/domain/unpublish.ts';
import type {DomainView} from '../../../src/operator/domain/view.ts';
import type {EdgeContext} from '../../../src/operator/edge/context.ts';
import {HTTP_ROUTE, LISTENER_SET} from '../../../src/operator/edge/gateway-kinds.ts';
import {moving} from '../../../src/operator/edge/moving.ts';
import {deleteRoutes, publishRoute} from '../../../src/operator/edge/publish.ts';
import {MIDDLEWARE, traefik} from '../../../src/operator/edge/traefik.ts';
import type {EdgeProvider, HostRoute} from '../../../src/operator/kinds/edge-provider.ts';
import {DOMAIN_CLAIM, INGRESS} from '../../../src/operator/kinds/kinds.ts';
import {Corrections} from '../../../src/runtime/apply/corrections.ts';
import type {KubeClient} from '../../../src/runtime/kube/client.ts';
import type {KubeObject, ResourceType} from '../../../src/runtime/kube/object.ts';
import {type ApiServer, startApiServer} from '../../cluster/apiserver.ts';
import {ensurePrograms} from '../../cluster/programs.ts';
import {ON_GATEWAY} from '../../support/edge.ts';
import {listAll} from '../../support/kube.ts';
import {ManualClock} from '../../support/manual-clock.ts';
import {memoryCaches} from '../../support/memory-caches.ts';
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
  expect(edge.verdict(stored, {get: () => undefined, list: () => []})).toMatchObject({kind: 'pending'});
});

const config = {certificates: {approval: {enabled: false}}} as OperatorConfig;

/** Caches with a Secret for each route in `secrets`, and with these route objects. */
function contextWith(
  secrets: readonly HostRoute[],
  of: EdgeProvider = edge,
  objects: readonly KubeObject[] = [],
): EdgeContext {
  const caches = memoryCaches();
  const stores = createStores(caches.manager, config, {defaultHost: () => ''}, of);
  for (const {namespace, name} of secrets) caches.put({apiVersion: 'v1', kind: 'Secret', metadata: {namespace, name}});
  for (const object of objects) caches.put(object);
  const clock = new ManualClock(Date.now() + 3_600_000); // the Services have existed for long
  const [corrections, knownSince] = [new Corrections(clock), new KnownSince(clock)];
  const signal = AbortSignal.timeout(60_000);
  return {client, edge: of, stores, clock, corrections, knownSince, signal} as unknown as EdgeContext;
}

test('a ListenerSet waits for its Secret, and the next holder removes that of the former one', async () => {
  const host = 'moves.example.com';
  const [former, next] = [await routeIn(client, 'former', host), await routeIn(client, 'next', host)];
  const read = (route: HostRoute) => client.get(LISTENER_SET, {namespace: route.namespace, name: route.name});

  expect(await publishRoute(contextWith([]), former)).toEqual({kind: 'waiting', on: 'the certificate'});
  expect(await read(former)).toBeUndefined();
  expect((await publishRoute(contextWith([former]), former)).kind).toBe('pending');
  expect(await read(former)).toBeDefined();

  const spec = {account: 'next', namespace: 'next', since: new Date().toISOString()};
  await client.create(DOMAIN_CLAIM, {apiVersion: API_VERSION, kind: 'DomainClaim', metadata: {name: host}, spec});
  const context = await syncedContext(next, edge);
  expect(await dropOtherRoutes(context, {host, namespace: 'next'} as DomainView)).toBeUndefined();
  const left = await Promise.all(edge.resources.map(kind => listAll<KubeObject>(client, kind, {namespace: 'former'})));
  expect(left.flat().map(({kind}) => kind)).toEqual(['Service']);
  expect((await publishRoute(context, next)).kind).toBe('pending');
  expect(await read(next)).toBeDefined();
});

/** The same, with the objects on the API server in all namespaces. */
async function syncedContext(route: HostRoute, of: EdgeProvider): Promise<EdgeContext> {
  const labelSelector = `${LABEL.managedBy}=nameplate`;
  const found = of.resources.map(resource => listAll<KubeObject>(client, resource, {labelSelector}));
  return contextWith([route], of, (await Promise.all(found)).flat());
}

test('a host that moves to this edge stays on the former one, until it is removed', async () => {
  const former = traefik(ON_GATEWAY);
  const both = moving(edge, former, {...ON_GATEWAY, edgeAddresses: ['192.0.2.20']});
  const route = await routeIn(client, 'moving', 'moving.example.com');
  const routeKey = `${route.namespace}/${route.name}`;
  const publish = async (of: EdgeProvider) => publishRoute(await syncedContext(route, of), route);
  const objects = async () => {
    const kinds = [INGRESS, MIDDLEWARE, LISTENER_SET, HTTP_ROUTE] as ResourceType<KubeObject>[];
    const found = await Promise.all(kinds.map(kind => listAll(client, kind, {namespace: route.namespace})));
    return found.flat().map(({kind, metadata}) => `${kind} ${metadata.name} ${metadata.uid}`);
  };

  expect((await publish(former)).kind).toBe('accepted');
  const onFormer = await objects();
  expect(onFormer).toHaveLength(1);
  // The Gateway decides whether the host is live, and no controller runs here.
  expect((await publish(both)).kind).toBe('pending');
  expect(await objects()).toEqual([
    ...onFormer,
    expect.stringContaining('ListenerSet'),
    expect.stringContaining('HTTPRoute'),
  ]);
  const onBoth = await objects();
  // The same if the move is declared finished too early.
  expect((await publish(edge)).kind).toBe('pending');
  expect(await objects()).toEqual(onBoth);

  await deleteRoutes(await syncedContext(route, both), routeKey, async () => true);
  expect(await objects()).toEqual([]);
});
