/**
 * Creates the temporary rights for dry runs. The API server checks RBAC before it evaluates the policies, so the
 * review must write as a user who may create the kinds but does not have Nameplate's trust. The review creates such a
 * user for itself: a name that nobody can guess and that has no credentials, with the single verb `create`, bound only
 * while the review runs. A killed review leaves a right for an unknown name behind; the next one removes it.
 */
import {randomBytes} from 'node:crypto';
import type {KubeClient} from '../runtime/kube/client.ts';
import {type KubeObject, type ResourceType, resourceType} from '../runtime/kube/object.ts';

const GROUP = 'rbac.authorization.k8s.io';
const CLUSTER_ROLE = resourceType(`${GROUP}/v1`, 'ClusterRole', 'clusterroles', 'cluster');
const CLUSTER_BINDING = resourceType(`${GROUP}/v1`, 'ClusterRoleBinding', 'clusterrolebindings', 'cluster');
const BINDING = resourceType(`${GROUP}/v1`, 'RoleBinding', 'rolebindings');

/** A label on everything that the review creates. */
const MARK = {'app.kubernetes.io/managed-by': 'nameplate-review'};
const CLEANUP_MS = 30_000;

/** Returns the user. `namespace`: the right holds only there. */
export async function lendRights(
  client: KubeClient,
  kinds: readonly ResourceType[],
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<string> {
  const name = `nameplate-review-${randomBytes(16).toString('hex')}`;
  const metadata = {name, labels: MARK};
  const apiVersion = `${GROUP}/v1`;
  const role = {apiVersion, kind: 'ClusterRole', metadata, rules: rulesOf(kinds)};
  const binding = {
    apiVersion,
    kind: namespace === undefined ? 'ClusterRoleBinding' : 'RoleBinding',
    metadata: {...metadata, namespace},
    roleRef: {apiGroup: GROUP, kind: 'ClusterRole', name},
    subjects: [{apiGroup: GROUP, kind: 'User', name}],
  };
  await client.create(CLUSTER_ROLE, role as KubeObject, {signal});
  await client.create(namespace === undefined ? CLUSTER_BINDING : BINDING, binding as KubeObject, {signal});
  return name;
}

function rulesOf(kinds: readonly ResourceType[]): readonly object[] {
  const byGroup = Map.groupBy(kinds, ({group}) => group);
  return [...byGroup].map(([group, types]) => ({
    apiGroups: [group],
    resources: types.map(({plural}) => plural),
    verbs: ['create'],
  }));
}

/**
 * Removes what this or any other review has created. Does not use the review's signal, which may have aborted. On
 * failure, throws an error that says how to do it manually.
 */
export async function removeRights(client: KubeClient): Promise<void> {
  try {
    await removeMarked(client);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    const command = 'kubectl delete clusterrolebindings,clusterroles -l app.kubernetes.io/managed-by=nameplate-review';
    throw new Error(`a temporary right to create objects may remain: ${why}. Remove it with: ${command}`, {cause});
  }
}

async function removeMarked(client: KubeClient): Promise<void> {
  const labelSelector = Object.entries(MARK)
    .map(([key, value]) => `${key}=${value}`)
    .join();
  for (const resource of [CLUSTER_BINDING, BINDING, CLUSTER_ROLE]) {
    const options = {timeoutMs: CLEANUP_MS};
    for await (const {items} of client.list(resource, {labelSelector, metadataOnly: true, ...options})) {
      for (const {metadata} of items) await client.delete(resource, metadata, options);
    }
  }
}
