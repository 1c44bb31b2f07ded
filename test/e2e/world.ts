/** What all e2e tests share: the cluster, its API, its ingress, and a way to create tenants. */

import {connect} from '../cluster/cluster.ts';
import {type ClusterTenant, type ClusterTenantOptions, createClusterTenant} from '../support/cluster-tenant.ts';
import {createVisitor} from '../support/http.ts';
import {createTestClient} from '../support/kube.ts';

export const cluster = await connect();
export const admin = createTestClient(cluster.info.kubeconfig);
export const visitor = await createVisitor(cluster.info);

/**
 * The CA finds no address for the host, no matter what the authoritative servers say, so its attempts fail immediately.
 */
export function hideFromCa(host: string): Promise<void> {
  return cluster.zones.set(host, 'TXT', 'nothing else here', {server: 'ca'});
}

export function showToCa(host: string): Promise<void> {
  return cluster.zones.remove(host, undefined, {server: 'ca'});
}

/** The names of the tenant's namespace and zone begin with `name`. */
export function newClusterTenant(name: string, options: ClusterTenantOptions = {}): Promise<ClusterTenant> {
  return createClusterTenant({cluster, client: admin, visitor}, name, options);
}
