/** A Gateway without an implementation: the test writes the statuses that its controller would write. */
import {
  GATEWAY,
  GATEWAY_CLASS,
  HTTP_ROUTE,
  type HttpRoute,
  LISTENER_SET,
} from '../../../src/operator/edge/gateway-kinds.ts';
import {NAMESPACE} from '../../../src/operator/kinds/kinds.ts';
import type {KubeClient} from '../../../src/runtime/kube/client.ts';
import {isNotFound} from '../../../src/runtime/kube/errors.ts';
import {type KubeObject, objectKey} from '../../../src/runtime/kube/object.ts';
import {untilEstablished} from '../../cluster/crds.ts';
import {ensurePrograms} from '../../cluster/programs.ts';
import {follow, listAll} from '../../support/kube.ts';
import type {OperatorWorld} from './operator-world.ts';

const CONTROLLER = 'example.com/edge';
const CLASS = 'edge';
const apiVersion = 'gateway.networking.k8s.io/v1';
export const GATEWAY_KEY = {namespace: 'edge', name: 'platform'};

export async function installGateway({api, client, history}: OperatorWorld): Promise<void> {
  const programs = await ensurePrograms(['gatewayapi']);
  await api.kubectl('apply', '--server-side', '-f', programs.asset('gateway-api-crds'));
  await untilEstablished(api.kubectl);
  for (const kind of [HTTP_ROUTE, LISTENER_SET]) await history.follow(kind);
  await client.apply(NAMESPACE, {apiVersion: 'v1', kind: 'Namespace', metadata: {name: GATEWAY_KEY.namespace}});
  const spec = {controllerName: CONTROLLER};
  await client.apply(GATEWAY_CLASS, {...{apiVersion, spec}, kind: 'GatewayClass', metadata: {name: CLASS}});
  await createGateway(client);
}

export async function createGateway(client: KubeClient): Promise<void> {
  const spec = {gatewayClassName: CLASS, listeners: [{name: 'http', port: 80, protocol: 'HTTP'}]};
  await client.apply(GATEWAY, {...{apiVersion, spec}, kind: 'Gateway', metadata: GATEWAY_KEY});
}

/** What the implementation lists as supported; nothing by default. */
export async function supportFeatures(client: KubeClient, names: readonly string[]): Promise<void> {
  const status = {supportedFeatures: names.map(name => ({name}))};
  await client.patch(GATEWAY_CLASS, {name: CLASS}, {status}, {subresource: 'status'});
}

export async function acceptRoutes(client: KubeClient, namespace: string): Promise<void> {
  for (const set of await listAll(client, LISTENER_SET, {namespace})) await acceptSet(client, set);
  for (const route of await listAll(client, HTTP_ROUTE, {namespace})) await acceptRoute(client, route);
}

export async function refuseRoutes(client: KubeClient, namespace: string, message: string): Promise<void> {
  const refusal = {type: 'Accepted', status: 'False', reason: 'NotAllowedByListeners', message};
  for (const route of await listAll(client, HTTP_ROUTE, {namespace})) {
    const conditions = conditionsOf(route).map(each => ({...each, ...(each.type === 'Accepted' && refusal)}));
    await client.patch(HTTP_ROUTE, objectKey(route), parentsOf(route, conditions), {subresource: 'status'});
  }
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
  const {status} = set as {status?: {conditions?: Reported[]}};
  if (isAccepted(set, status?.conditions)) return;
  await client
    .patch(LISTENER_SET, objectKey(set), {status: {conditions, listeners: [listener]}}, {subresource: 'status'})
    .catch(unlessGone);
}

async function acceptRoute(client: KubeClient, route: HttpRoute): Promise<void> {
  if (isAccepted(route, route.status?.parents?.[0]?.conditions)) return;
  await client
    .patch(HTTP_ROUTE, objectKey(route), parentsOf(route, conditionsOf(route)), {subresource: 'status'})
    .catch(unlessGone);
}

function parentsOf({spec}: HttpRoute, conditions: readonly object[]) {
  const [parentRef] = spec.parentRefs ?? [];
  return {status: {parents: parentRef ? [{parentRef, controllerName: CONTROLLER, conditions}] : []}};
}

function conditionsOf({metadata: {generation = 0}}: KubeObject) {
  const lastTransitionTime = new Date().toISOString();
  return ['Accepted', 'Programmed', 'ResolvedRefs'].map(type => ({
    ...{type, status: 'True', reason: type, message: '', lastTransitionTime, observedGeneration: generation},
  }));
}

interface Reported {
  readonly observedGeneration?: number;
  readonly status?: string;
}

function isAccepted({metadata}: KubeObject, conditions: readonly Reported[] | undefined): boolean {
  const [accepted] = conditions ?? [];
  return accepted?.status === 'True' && accepted.observedGeneration === metadata.generation;
}

function unlessGone(error: unknown): void {
  if (!isNotFound(error)) throw error;
}
