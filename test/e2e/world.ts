/** What every e2e test reaches: the cluster, its API, its ingress; and new tenants in it. */

import {connect} from '../cluster/cluster.ts';
import {createVisitor} from '../support/http.ts';
import {createTestClient} from '../support/kube.ts';
import {createTenant, type Tenant, type TenantOptions} from '../support/tenant.ts';

export const cluster = await connect();
export const client = createTestClient(cluster.info.kubeconfig);
export const visitor = await createVisitor(cluster.info);

/** In the cluster's network, and refusing http: where a test sends the CA to make it fail at once. */
export const UNREACHABLE = cluster.info.dns.root;

/** `name` begins the names of its namespace and of its zone. */
export function newTenant(name: string, options: TenantOptions = {}): Promise<Tenant> {
  return createTenant(cluster, client, name, options);
}
