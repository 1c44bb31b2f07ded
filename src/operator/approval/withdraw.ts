/**
 * Withdraws what was approved for a host that the namespace no longer holds: the request, its Orders and Challenges,
 * and the routes of their solvers. Nameplate deletes each one itself, because a finalizer on one would block the
 * garbage collector. Until then, cert-manager solves the former holder's challenge and does not start the new holder's
 * for the same name.
 */
import {timestamp} from '../../api/conditions.ts';
import {type DeepReadonly, type KubeObject, objectKey, type ResourceType} from '../../runtime/kube/object.ts';
import {CERTIFICATE_REQUEST, type CertificateRequest, CHALLENGE, type Challenge, ORDER} from '../model/kinds.ts';
import type {ApiAccess, Context} from '../state/context.ts';
import {openChallenges} from './open-challenges.ts';

const SOLVERS = {labelSelector: 'acme.cert-manager.io/http01-solver=true'};

/** Deletes the request first: while it exists, cert-manager replaces a deleted Order with a new one. */
export async function withdrawRequest(context: Context, request: DeepReadonly<CertificateRequest>): Promise<void> {
  await remove(context, CERTIFICATE_REQUEST, request);
  await withdrawOrders(context, request);
  for (const challenge of openChallenges(context, request)) await withdrawChallenge(context, challenge);
}

/**
 * The attempt fails as if the CA had refused it: cert-manager pauses, and the failure counts. `reconcileChallenge`
 * deletes its Order and Challenge when it sees that the request has failed.
 */
export async function failRequest(
  context: Context,
  request: DeepReadonly<CertificateRequest>,
  message: string,
): Promise<void> {
  const {name, namespace = '', resourceVersion = ''} = request.metadata;
  const lastTransitionTime = timestamp(context.clock.now());
  const approved = request.status?.conditions?.filter(({type}) => type === 'Approved') ?? [];
  const failed = {type: 'Ready', status: 'False', reason: 'Failed', message, lastTransitionTime};
  const identity = {apiVersion: 'cert-manager.io/v1', kind: 'CertificateRequest'};
  const status = {conditions: [...approved, failed], failureTime: lastTransitionTime};
  const metadata = {name, namespace, resourceVersion};
  await context.client.applyStatus(CERTIFICATE_REQUEST, {...identity, metadata, status}, {signal: context.signal});
}

/** Whether cert-manager has created an Order for the request. */
export async function hasOrder(api: ApiAccess, request: DeepReadonly<CertificateRequest>): Promise<boolean> {
  for await (const _ of ordersOf(api, request)) return true;
  return false;
}

/** Once the request has ended or is gone: until then, cert-manager replaces a deleted Order. */
export async function withdrawOrders(api: ApiAccess, request: DeepReadonly<CertificateRequest>): Promise<void> {
  for await (const order of ordersOf(api, request)) await withdrawOrder(api, order);
}

/** While the Order exists, cert-manager replaces a deleted Challenge with a new one. */
export async function withdrawOrder(api: ApiAccess, order: DeepReadonly<KubeObject>): Promise<void> {
  await remove(api, ORDER, order);
}

/**
 * Also deletes the solver's route. Its Service and pod are left to cert-manager, because without a route nothing
 * reaches them. Only cert-manager creates routes with this label, so one page holds them all.
 */
export async function withdrawChallenge(context: Context, challenge: DeepReadonly<Challenge>): Promise<void> {
  const {namespace = '', uid} = challenge.metadata;
  if (!challenge.metadata.deletionTimestamp) await remove(context, CHALLENGE, challenge);
  const options = {namespace, signal: context.signal, metadataOnly: true, ...SOLVERS} as const;
  for (const resource of context.edge.solverRoutes) {
    for await (const {items} of context.client.list(resource, options)) {
      const own = items.filter(({metadata}) => metadata.ownerReferences?.some(owner => owner.uid === uid));
      for (const route of own) await remove(context, resource, route);
      break;
    }
  }
}

/** For a challenge whose cleanup hangs: it no longer has a route, so only a DNS record or a pod is left to clean up. */
export async function releaseChallenge({client, signal}: ApiAccess, challenge: DeepReadonly<Challenge>): Promise<void> {
  const {resourceVersion} = challenge.metadata;
  await client.patch(CHALLENGE, objectKey(challenge), {metadata: {resourceVersion, finalizers: null}}, {signal});
}

async function* ordersOf(
  {client, signal}: ApiAccess,
  {metadata: {namespace = '', uid}}: DeepReadonly<CertificateRequest>,
): AsyncGenerator<KubeObject> {
  for await (const {items} of client.list(ORDER, {namespace, signal})) {
    yield* items.filter(({metadata}) => metadata.ownerReferences?.some(owner => owner.uid === uid));
  }
}

async function remove(
  {client, signal}: ApiAccess,
  kind: ResourceType,
  object: DeepReadonly<KubeObject>,
): Promise<void> {
  const {uid} = object.metadata;
  await client.delete(kind, objectKey(object), {...(uid && {preconditions: {uid}}), signal});
}
