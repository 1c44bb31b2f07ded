/**
 * A client that acts as a tenant: as a service account with the role admin in its namespace, with a token from the
 * TokenRequest API.
 */
import {mkdtemp, readFile, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {parse} from 'yaml';
import {SERVICE} from '../../src/operator/kinds/kinds.ts';
import type {KubeClient} from '../../src/runtime/kube/client.ts';
import type {KubeObject, ResourceType} from '../../src/runtime/kube/object.ts';
import type {Cluster} from '../cluster/cluster.ts';
import {until} from '../cluster/wait.ts';
import {createTestClient, listAll} from './kube.ts';
import {kindOf} from './workload.ts';

export const ACCOUNT = 'tenant';
const GROUP = 'rbac.authorization.k8s.io';
const SERVICE_ACCOUNT = kindOf('', 'ServiceAccount');
export const ROLE = kindOf(GROUP, 'Role');
export const ROLE_BINDING = kindOf(GROUP, 'RoleBinding');
const CLUSTER_ROLE: ResourceType = {...kindOf(GROUP, 'ClusterRole'), namespaced: false};

/**
 * What a platform may grant in a tenant's namespace in addition to `admin`: the edge's kinds (Traefik's chart can add
 * its own to `admin`), what Kubernetes and cert-manager have removed from the role over the years, and the namespace
 * itself.
 */
const EXTRAS = {
  apiVersion: `${GROUP}/v1`,
  kind: 'ClusterRole',
  metadata: {name: 'tenant-extras'},
  rules: [
    {apiGroups: ['traefik.io', 'gateway.networking.k8s.io', 'acme.cert-manager.io'], resources: ['*'], verbs: ['*']},
    {apiGroups: ['cert-manager.io'], resources: ['certificates/status'], verbs: ['patch']},
    {apiGroups: ['networking.k8s.io'], resources: ['ingresses/status'], verbs: ['patch']},
    {apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['*']},
    {apiGroups: [''], resources: ['endpoints'], verbs: ['*']},
    {apiGroups: [''], resources: ['namespaces'], verbs: ['update', 'patch']},
  ],
};

export async function tenantClient(cluster: Cluster, admin: KubeClient, namespace: string): Promise<KubeClient> {
  await admin.apply(CLUSTER_ROLE, EXTRAS);
  const account: KubeObject = {apiVersion: 'v1', kind: 'ServiceAccount', metadata: {name: ACCOUNT, namespace}};
  await admin.apply(SERVICE_ACCOUNT, account);
  for (const role of ['admin', EXTRAS.metadata.name]) await admin.apply(ROLE_BINDING, binding(namespace, role));
  const token = await cluster.kubectl('create', 'token', ACCOUNT, '--namespace', namespace, '--duration', '2h');
  const client = await clientOf(cluster.info.kubeconfig, token.trim());
  const mayRead = async () => Array.isArray(await listAll(client, SERVICE, {namespace}));
  await until(`the rights of ${namespace} are in force`, mayRead);
  return client;
}

function binding(namespace: string, role: string) {
  return {
    apiVersion: `${GROUP}/v1`,
    kind: 'RoleBinding',
    metadata: {name: role, namespace},
    roleRef: {apiGroup: GROUP, kind: 'ClusterRole', name: role},
    subjects: [{kind: 'ServiceAccount', name: ACCOUNT, namespace}],
  };
}

/** The cluster of the kubeconfig, with the token instead of its user. */
async function clientOf(kubeconfig: string, token: string): Promise<KubeClient> {
  const config = parse(await readFile(kubeconfig, 'utf8')) as {users: {name: string}[]};
  const users = config.users.map(({name}) => ({name, user: {token}}));
  const folder = await mkdtemp(join(tmpdir(), 'nameplate-tenant-'));
  try {
    const path = join(folder, 'kubeconfig');
    await writeFile(path, JSON.stringify({...config, users}), {mode: 0o600});
    return createTestClient(path, ACCOUNT);
  } finally {
    await rm(folder, {recursive: true});
  }
}
