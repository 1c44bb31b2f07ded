/**
 * Creates a user for the dry runs, because the API server checks RBAC before it evaluates the policies, and they exempt
 * whoever runs the review: a user that may create the kinds and that the policies do not trust. Nobody has credentials
 * for its name or can guess it. A killed review leaves its right behind; the next one removes it.
 */
import {randomBytes} from 'node:crypto';
import type {KubeClient} from '../../runtime/kube/client.ts';
import {type KubeObject, type ResourceType, resourceType} from '../../runtime/kube/object.ts';

const NAME = 'nameplate-review';
const GROUP = 'rbac.authorization.k8s.io';
const CLUSTER_ROLE = resourceType(`${GROUP}/v1`, 'ClusterRole', 'clusterroles', 'cluster');
const BINDING = resourceType(`${GROUP}/v1`, 'ClusterRoleBinding', 'clusterrolebindings', 'cluster');

type AccessReview = KubeObject & {status?: {allowed: boolean}};
const ACCESS = 'authorization.k8s.io/v1';
const ACCESS_REVIEW = resourceType<AccessReview>(ACCESS, 'SubjectAccessReview', 'subjectaccessreviews', 'cluster');

/** The trust that the policies query. */
const TRUST = {group: 'nameplate.dev', resource: 'routes', verb: 'manage'};

/** Returns the user. Throws an error if the policies trust every user. */
export async function lendRights(client: KubeClient, kinds: readonly ResourceType[], signal: AbortSignal) {
  const user = `${NAME}-${randomBytes(16).toString('hex')}`;
  const spec = {user, groups: ['system:authenticated'], resourceAttributes: TRUST};
  const access = {apiVersion: ACCESS, kind: 'SubjectAccessReview', metadata: {name: ''}, ...{spec}};
  const {status} = await client.create(ACCESS_REVIEW, access, {signal});
  if (status?.allowed) {
    throw new Error(
      'a ClusterRoleBinding grants `manage` on routes.nameplate.dev to every user, so the policies reject nothing. Find it with: kubectl get clusterrolebindings -o wide',
    );
  }
  const rules = kinds.map(({group, plural}) => ({apiGroups: [group], resources: [plural], verbs: ['create']}));
  const metadata = {name: NAME};
  const roleRef = {apiGroup: GROUP, kind: 'ClusterRole', name: NAME};
  const subjects = [{apiGroup: GROUP, kind: 'User', name: user}];
  const of = (kind: string) => ({apiVersion: `${GROUP}/v1`, kind, metadata});
  await removeRights(client);
  await client.create(CLUSTER_ROLE, {...of('ClusterRole'), ...{rules}}, {signal});
  await client.create(BINDING, {...of('ClusterRoleBinding'), ...{roleRef, subjects}}, {signal});
  return user;
}

/** Those of this and of any other review. Does not use the review's signal, which may have aborted. */
export async function removeRights(client: KubeClient): Promise<void> {
  for (const resource of [BINDING, CLUSTER_ROLE]) await client.delete(resource, {name: NAME});
}
