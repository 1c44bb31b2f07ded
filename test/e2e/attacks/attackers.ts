/**
 * The attackers in the e2e tests, which are tenants that use their own tokens, and their victim, which is served
 * throughout.
 */
import {INGRESS, NAMESPACE} from '../../../src/operator/kinds/kinds.ts';
import type {KubeClient} from '../../../src/runtime/kube/client.ts';
import type {KubeObject, ResourceType} from '../../../src/runtime/kube/object.ts';
import {ClusterTenant, type ClusterTenantOptions} from '../../support/cluster-tenant.ts';
import type {Observation} from '../../support/http.ts';
import {tenantClient} from '../../support/identity.ts';
import {listAll} from '../../support/kube.ts';
import {tenantNamespace} from '../../support/objects.ts';
import {TENANT_LABEL} from '../../support/workload.ts';
import {admin, cluster, newClusterTenant, visitor} from '../world.ts';

export const EDGE_CLASS = cluster.info.ingress.className;
/** How the policies refuse writes to managed objects, and how RBAC refuses missing rights. */
export const REFUSED_AS_MANAGED = /managed by Nameplate|Only Nameplate may write/;
/** Refuses a Certificate, a request, or an annotation for an issuer that the platform does not list. */
export const NOT_LISTED = 'Nameplate would not approve a certificate from';
export const REFUSED_BY_RBAC = /403 Forbidden: .* is forbidden: User "system:serviceaccount:/;

export interface Attacker {
  /** Acts with its own token. */
  readonly self: ClusterTenant;
  readonly client: KubeClient;
  /** The same tenant as the platform sees it. */
  readonly tenant: ClusterTenant;
}

export async function newAttacker(name: string, options: ClusterTenantOptions = {}): Promise<Attacker> {
  return attackerIn((await newClusterTenant(name, options)).namespace);
}

/** Creates a namespace with exactly this name, on a paid plan, as the platform does. */
export async function newNamespace(name: string): Promise<void> {
  const {metadata, ...rest} = tenantNamespace(name, {plan: 'pro'});
  await admin.apply(NAMESPACE, {
    ...rest,
    metadata: {...metadata, labels: {...metadata.labels, [TENANT_LABEL]: 'true'}},
  });
}

/** The tenant that holds the namespace now. */
export async function attackerIn(name: string): Promise<Attacker> {
  const client = await tenantClient(cluster, admin, name);
  const tenantBy = (by: KubeClient) => new ClusterTenant({cluster, visitor, client: by}, name);
  return {client, self: tenantBy(client), tenant: tenantBy(admin)};
}

/** Creates an object with the attacker's token, in its namespace. */
export function make(
  {client, self}: Pick<Attacker, 'client' | 'self'>,
  kind: ResourceType,
  name: string,
  content: object,
  metadata: object = {},
): Promise<KubeObject> {
  const apiVersion = kind.group ? `${kind.group}/${kind.version}` : kind.version;
  const object = {apiVersion, kind: kind.kind, metadata: {...metadata, name, namespace: self.namespace}, ...content};
  return client.create<KubeObject>(kind, object);
}

/** Like `make` before the policies existed. Uses the platform's own client, which they let pass. */
export function makeAsBefore({self}: Attacker, kind: ResourceType, name: string, content: object): Promise<KubeObject> {
  return make({self, client: admin}, kind, name, content);
}

export interface Victim {
  readonly tenant: ClusterTenant;
  readonly host: string;
  /** Its pods answer with the name of this Service. */
  readonly service: string;
  /** The answers to visitors since the host went live that were not the victim's own, one line each. */
  strangeAnswers(): Promise<string[]>;
}

const SERVICE = 'victims';

export async function liveVictim(): Promise<Victim> {
  const tenant = await newClusterTenant('victim', {deployed: false});
  await tenant.deploy(SERVICE);
  const host = tenant.host('shop');
  await tenant.goLive({primary: host}, {service: SERVICE});
  const observed = visitor.observe(`https://${host}/`, `https://${host}/login`, `http://${host}/`);
  return {tenant, host, service: SERVICE, strangeAnswers: async () => strangeIn(await observed.stop(), SERVICE)};
}

function strangeIn({visits}: Observation, service: string): string[] {
  return visits.flatMap(({url, outcome}) => {
    if (outcome instanceof Error) return [outcome.message];
    const {status, body} = outcome.last;
    return status === 200 && body.includes(`text=${service}`) ? [] : [`${url}: ${status} ${body}`];
  });
}

/** The Ingresses in a namespace with which the edge would serve the host. */
export async function ingressesFor(host: string, namespace: string): Promise<string[]> {
  const all = await listAll(admin, INGRESS, {namespace});
  const ofEdge = all.filter(({spec}) => spec.ingressClassName === cluster.info.ingress.className);
  return ofEdge.flatMap(({metadata, spec}) => (spec.rules.some(rule => rule.host === host) ? [metadata.name] : []));
}
