/** A Gateway without an implementation: the test writes the statuses that its controller would write. */
import {
  GATEWAY,
  GATEWAY_CLASS,
  HTTP_ROUTE,
  type HttpRoute,
  LISTENER_SET,
} from '../../../src/operator/edge/gateway-kinds.ts';
import {NAMESPACE} from '../../../src/operator/model/kinds.ts';
import type {KubeClient} from '../../../src/runtime/kube/client.ts';
import {isNotFound} from '../../../src/runtime/kube/errors.ts';
import {type KubeObject, objectKey} from '../../../src/runtime/kube/object.ts';
import {untilEstablished} from '../../cluster/crds.ts';
import {ensurePrograms} from '../../cluster/programs.ts';
import {follow, listAll} from '../../support/kube.ts';
import type {OperatorWorld} from './operator-world.ts';

const CONTROLLER = 'example.com/edge';
export const GATEWAY_KEY = {namespace: 'edge', name: 'platform'};

export async function installGateway({api, client, history}: OperatorWorld): Promise<void> {
  const programs = await ensurePrograms(['gatewayapi']);
  await api.kubectl('apply', '--server-side', '-f', programs.asset('gateway-api-crds'));
  await untilEstablished(api.kubectl);
  for (const kind of [HTTP_ROUTE, LISTENER_SET]) await history.follow(kind);
  await client.apply(NAMESPACE, {apiVersion: 'v1', kind: 'Namespace', metadata: {name: GATEWAY_KEY.namespace}});
  const [apiVersion, spec] = ['gateway.networking.k8s.io/v1', {controllerName: CONTROLLER}];
  await client.apply(GATEWAY_CLASS, {apiVersion, kind: 'GatewayClass', metadata: {name: 'edge'}, ...{spec}});
  const listeners = [{name: 'http', port: 80, protocol: 'HTTP'}];
  const platform = {gatewayClassName: 'edge', listeners};
  await client.apply(GATEWAY, {apiVersion, kind: 'Gateway', metadata: GATEWAY_KEY, ...{spec: platform}});
}

export async function acceptRoutes(client: KubeClient, namespace: string): Promise<void> {
  for (const set of await listAll(client, LISTENER_SET, {namespace})) await acceptSet(client, set);
  for (const route of await listAll(client, HTTP_ROUTE, {namespace})) await acceptRoute(client, route);
}

/** Accepts every route as soon as it changes, until the returned function is called. */
export function acceptAlways(client: KubeClient): () => Promise<void> {
  const running = new Set<Promise<void>>();
  const act = (accept: () => Promise<void>) => {
    const task = accept().finally(() => running.delete(task));
    running.add(task);
  };
  const stops = [
    follow(client, LISTENER_SET, {}, (set, type) => type !== 'DELETED' && act(() => acceptSet(client, set))),
    follow(client, HTTP_ROUTE, {}, (route, type) => type !== 'DELETED' && act(() => acceptRoute(client, route))),
  ];
  return async () => {
    await Promise.all(stops.map(stop => stop()));
    await Promise.all(running);
  };
}

async function acceptSet(client: KubeClient, set: KubeObject): Promise<void> {
  const conditions = conditionsOf(set);
  const listener = {name: 'https', attachedRoutes: 1, supportedKinds: [], conditions};
  const {status} = set as {status?: {conditions?: {observedGeneration?: number}[]}};
  if (isCurrent(set, status?.conditions)) return;
  await client
    .patch(LISTENER_SET, objectKey(set), {status: {conditions, listeners: [listener]}}, {subresource: 'status'})
    .catch(unlessGone);
}

async function acceptRoute(client: KubeClient, route: HttpRoute): Promise<void> {
  if (isCurrent(route, route.status?.parents?.[0]?.conditions)) return;
  const [parentRef] = route.spec.parentRefs ?? [];
  const parents = parentRef ? [{parentRef, controllerName: CONTROLLER, conditions: conditionsOf(route)}] : [];
  await client.patch(HTTP_ROUTE, objectKey(route), {status: {parents}}, {subresource: 'status'}).catch(unlessGone);
}

function conditionsOf({metadata: {generation = 0}}: KubeObject) {
  const lastTransitionTime = new Date().toISOString();
  return ['Accepted', 'Programmed', 'ResolvedRefs'].map(type => ({
    ...{type, status: 'True', reason: type, message: '', lastTransitionTime, observedGeneration: generation},
  }));
}

function isCurrent({metadata}: KubeObject, conditions: readonly {observedGeneration?: number}[] | undefined): boolean {
  return conditions?.[0]?.observedGeneration === metadata.generation;
}

function unlessGone(error: unknown): void {
  if (!isNotFound(error)) throw error;
}
