/** A tenant of the platform in the e2e tests: a namespace with an account, its own zone, and what runs in it. */
import {randomBytes} from 'node:crypto';
import {findCondition} from '../../src/api/conditions.ts';
import type {ProjectSpec} from '../../src/api/generated/project.ts';
import {objectNameOf} from '../../src/api/host-names.ts';
import {ANNOTATION, LABEL} from '../../src/api/names.ts';
import type {DomainConditionType} from '../../src/operator/domain/reasons.ts';
import type {DomainState} from '../../src/operator/domain/summary.ts';
import {CLIENT_TRAFFIC_POLICY, HTTP_ROUTE, LISTENER_SET} from '../../src/operator/edge/gateway-kinds.ts';
import {MIDDLEWARE} from '../../src/operator/edge/traefik.ts';
import * as kinds from '../../src/operator/kinds/kinds.ts';
import type {KubeClient} from '../../src/runtime/kube/client.ts';
import type {KubeObject, ResourceType} from '../../src/runtime/kube/object.ts';
import type {Cluster} from '../cluster/cluster.ts';
import {until} from '../cluster/wait.ts';
import type {Visitor} from './http.ts';
import {follow, listAll, untilObject} from './kube.ts';
import {domain, project, tenantNamespace} from './objects.ts';
import * as workload from './workload.ts';

type ProjectDomains = NonNullable<ProjectSpec['domains']>;

export interface ClusterTenantOptions {
  /** Label of the namespace; '' for none. Default: pro. */
  readonly plan?: string;
  /** Whether Service `web` runs from the start. Default: true. */
  readonly deployed?: boolean;
  /** Label of the namespace. Absent: the namespace is its own account. */
  readonly account?: string;
}

/** What is expected of a Domain: its state, reasons by condition type, and a part of Ready's message. */
export type ExpectedDomain = Partial<Record<DomainConditionType, string>> & {
  readonly state?: DomainState;
  readonly says?: string;
};

const WAIT = {intervalMs: 400};

/** The names of objects that were created to get certificates. */
export interface Attempts {
  names(): Record<'certificates' | 'requests' | 'orders', string[]>;
  stop(): Promise<void>;
}

/** What a tenant needs for its actions. */
export interface Reach {
  readonly cluster: Cluster;
  readonly client: KubeClient;
  readonly visitor: Visitor;
}

export async function createClusterTenant(
  reach: Reach,
  name: string,
  {plan = 'pro', deployed = true, account}: ClusterTenantOptions = {},
): Promise<ClusterTenant> {
  const tenant = new ClusterTenant(reach, `${name}-${randomBytes(3).toString('hex')}`);
  const {cluster, client} = reach;
  const zone = cluster.zones.addZone(tenant.zone);
  const {metadata, ...rest} = tenantNamespace(tenant.namespace, {plan, account});
  const labels = {...metadata.labels, [workload.TENANT_LABEL]: 'true'};
  await client.apply(kinds.NAMESPACE, {...rest, metadata: {...metadata, labels}});
  await Promise.all([zone, deployed && tenant.deploy('web')]);
  return tenant;
}

export class ClusterTenant {
  readonly namespace: string;
  /** A registrable domain. Hosts are its subdomains; `zone` itself is an apex. */
  readonly zone: string;
  readonly #cluster: Cluster;
  readonly #client: KubeClient;
  readonly #visitor: Visitor;

  constructor({cluster, client, visitor}: Reach, name: string) {
    this.namespace = name;
    this.zone = `${name}.test`;
    this.#cluster = cluster;
    this.#client = client;
    this.#visitor = visitor;
  }

  host(label: string): string {
    return `${label}.${this.zone}`;
  }

  /** Creates a Service and a Deployment whose pods answer with this status. Resolves once a pod is ready. */
  async deploy(service: string, status?: number): Promise<void> {
    const {namespace} = this;
    await this.#client.apply(kinds.SERVICE, workload.runningService(namespace, service));
    await this.#client.apply(workload.DEPLOYMENT, workload.deployment(namespace, service, status));
    const complaint = (found?: workload.Deployment) => (found?.status?.readyReplicas ? undefined : 'no pod is ready');
    await untilObject(this.#client, workload.DEPLOYMENT, {namespace, name: service}, complaint);
  }

  async applyProject(
    domains: ProjectDomains | undefined,
    {name = 'shop', service = 'web', port = 'http'} = {},
  ): Promise<void> {
    await this.#client.apply(kinds.PROJECT, project(this.namespace, name, domains, {name: service, port}));
  }

  /** Creates a Domain manually. */
  async applyDomain(host: string, projectName = 'shop'): Promise<void> {
    await this.#client.apply(kinds.DOMAIN, domain(this.namespace, host, projectName));
  }

  domain(host: string): Promise<kinds.Domain | undefined> {
    return this.#client.get(kinds.DOMAIN, {namespace: this.namespace, name: objectNameOf(host)});
  }

  async project(name = 'shop'): Promise<kinds.Project | undefined> {
    return this.#client.get(kinds.PROJECT, {namespace: this.namespace, name});
  }

  /** The default host in the Project's status, once it is there. */
  async defaultHost(name = 'shop'): Promise<string> {
    const shown = async () => (await this.project(name))?.status?.defaultHost;
    return until(`${this.namespace}: Project ${name} has a default host`, shown, WAIT);
  }

  async claim(host: string): Promise<kinds.DomainClaim | undefined> {
    return this.#client.get(kinds.DOMAIN_CLAIM, {name: objectNameOf(host)});
  }

  /** Waits until the Domain is as expected for its current spec. Otherwise fails with its actual state. */
  async sees(host: string, expected: ExpectedDomain): Promise<kinds.Domain> {
    const complaint = (domain: kinds.Domain | undefined) => {
      if (domain && isAs(domain, expected)) return undefined;
      return `wanted ${JSON.stringify(expected)}, but ${domain ? describe(domain) : 'it does not exist'}`;
    };
    const key = {namespace: this.namespace, name: objectNameOf(host)};
    try {
      return await untilObject(this.#client, kinds.DOMAIN, key, complaint);
    } catch (error) {
      const resources = 'domains,certificates,certificaterequests,orders,challenges';
      const now = await this.#cluster.kubectl('get', resources, '-n', this.namespace, '-o', 'wide').catch(String);
      throw new Error(`${(error as Error).message}\nNow:\n${now}`, {cause: error});
    }
  }

  /** Waits until the Project's conditions have these reasons. */
  async seesProject(name: string, reasons: Readonly<Record<string, string>>): Promise<void> {
    const probe = async () => {
      const {status} = (await this.project(name)) ?? {};
      const reasonOf = (type: string) => findCondition(status?.conditions, type)?.reason;
      return Object.entries(reasons).every(([type, reason]) => reasonOf(type) === reason);
    };
    await until(`${this.namespace}: Project ${name} is ${JSON.stringify(reasons)}`, probe, WAIT);
  }

  /** Waits until the Project shows this address, which lags slightly behind the Domain's state. */
  async seesUrl(url: string, name = 'shop'): Promise<void> {
    const probe = async () => (await this.project(name))?.status?.url === url;
    await until(`${this.namespace}: Project ${name} has the address ${url}`, probe, WAIT);
  }

  /** The records in status.dns.required, once there are any. */
  async records(host: string): Promise<kinds.RequiredRecord[]> {
    const required = async () => (await this.domain(host))?.status?.dns?.required;
    return until(`${this.namespace}: ${host} shows its records`, required, WAIT);
  }

  /** Creates the records in status.dns.required, as a tenant does at the DNS provider; of alternatives, the first. */
  async createRecords(host: string, isWanted: (type: string) => boolean = () => true): Promise<void> {
    const {zones, info} = this.#cluster;
    for (const {type, name, value, insteadOf} of await this.records(host)) {
      if (!isWanted(type) || insteadOf !== undefined) continue;
      // An ALIAS is internal to the provider: everyone else sees the target's addresses.
      await (type === 'ALIAS' ? zones.set(name, 'A', info.ingress.address) : zones.set(name, type, value));
    }
  }

  /** Applies the Project with these domains, creates their records, and waits until each is live and answers. */
  async goLive(domains: ProjectDomains, options: {service?: string} = {}): Promise<void> {
    await this.applyProject(domains, options);
    const {primary, aliases = [], redirects = []} = domains;
    const hosts = [...(primary ? [primary] : []), ...aliases, ...redirects.map(({from}) => from)];
    await Promise.all(
      hosts.map(async host => {
        await this.createRecords(host);
        await this.sees(host, {state: 'Live'});
        await this.#visitor.untilServed(host);
        await this.seesNoIssuing(host);
      }),
    );
  }

  /** Requests a check as documented, and waits until it is done. */
  async reverify(host: string): Promise<void> {
    const token = new Date().toISOString();
    const patch = {metadata: {annotations: {[ANNOTATION.verifyRequestedAt]: token}}};
    await this.#client.patch(kinds.DOMAIN, {namespace: this.namespace, name: host}, patch);
    const isHandled = async () => (await this.domain(host))?.status?.lastHandledVerifyRequest === token;
    await until(`the verify request of ${host} is handled`, isHandled, WAIT);
  }

  /** Starts a renewal as `cmctl renew` does. Returns how often the certificate had been issued before. */
  async renew(host: string): Promise<number> {
    const {metadata, status} = (await this.certificate(host)) ?? fail(`no certificate for ${host}`);
    const others = status?.conditions?.filter(({type}) => type !== 'Issuing') ?? [];
    const issuing = {type: 'Issuing', status: 'True', reason: 'ManuallyTriggered', message: 'by a test'};
    const key = {namespace: this.namespace, name: metadata.name};
    const patch = {status: {conditions: [...others, {...issuing, lastTransitionTime: new Date().toISOString()}]}};
    await this.#client.patch(kinds.CERTIFICATE, key, patch, {subresource: 'status'});
    return status?.revision ?? 0;
  }

  /** Waits until cert-manager is done. Sometimes it reads a cache without its own new Secret, and issues once more. */
  async seesNoIssuing(host: string): Promise<void> {
    const isDone = async () =>
      !(await this.certificate(host))?.status?.conditions?.some(({type}) => type === 'Issuing');
    await until(`${this.namespace}: cert-manager is done with ${host}`, isDone, WAIT);
  }

  /** Waits until the certificate was issued more often than this. */
  async seesReissued(host: string, revision: number): Promise<void> {
    const isThere = async () => ((await this.certificate(host))?.status?.revision ?? 0) > revision;
    await until(`${this.namespace}: a certificate of ${host} after revision ${revision}`, isThere, WAIT);
  }

  /** Leaves what a restore from a backup without status leaves: no status and no claims. */
  async wipe(...hosts: string[]): Promise<void> {
    const {namespace} = this;
    for (const name of hosts) {
      await this.#client.patch(kinds.DOMAIN, {namespace, name}, {status: null}, {subresource: 'status'});
      await this.#client.delete(kinds.DOMAIN_CLAIM, {name});
    }
    await this.#client.patch(kinds.PROJECT, {namespace, name: 'shop'}, {status: null}, {subresource: 'status'});
  }

  async deleteDomain(host: string): Promise<void> {
    await this.#client.delete(kinds.DOMAIN, {namespace: this.namespace, name: host});
  }

  async deleteProject(name = 'shop'): Promise<void> {
    await this.#client.delete(kinds.PROJECT, {namespace: this.namespace, name});
  }

  /** The route objects of a host, without its Service. */
  async routes(host: string): Promise<KubeObject[]> {
    const selector = {namespace: this.namespace, labelSelector: `${LABEL.host}=${objectNameOf(host)}`};
    const onGateway = this.#cluster.info.edge === 'gateway';
    const resources = onGateway ? [LISTENER_SET, HTTP_ROUTE, CLIENT_TRAFFIC_POLICY] : [kinds.INGRESS, MIDDLEWARE];
    const found = resources.map(kind => listAll<KubeObject>(this.#client, kind, selector));
    return (await Promise.all(found)).flat();
  }

  async seesRoutes(host: string, isAsExpected: (routes: KubeObject[]) => boolean): Promise<void> {
    const probe = async () => isAsExpected(await this.routes(host));
    await until(`${this.namespace}: the routes of ${host} are as expected`, probe, WAIT);
  }

  /** The existing route objects by uid, which stay the same unless one was deleted. */
  async routeUids(...hosts: string[]): Promise<string[]> {
    const routes = await Promise.all(hosts.map(host => this.routes(host)));
    return routes.flat().map(({kind, metadata}) => `${kind} ${metadata.name} ${metadata.uid}`);
  }

  async certificate(host: string): Promise<kinds.Certificate | undefined> {
    const selector = {namespace: this.namespace, labelSelector: `${LABEL.host}=${objectNameOf(host)}`};
    return (await listAll(this.#client, kinds.CERTIFICATE, selector))[0];
  }

  /** Records every existing and future object that was created to get a certificate, even if it is soon deleted. */
  recordAttempts(): Attempts {
    const record = (kind: ResourceType) => {
      const names = new Map<string | undefined, string>();
      const {namespace} = this;
      const stop = follow(this.#client, kind, {namespace}, ({metadata: {uid, name}}) => names.set(uid, name));
      return {names: () => [...names.values()], stop};
    };
    const certificates = record(kinds.CERTIFICATE);
    const requests = record(workload.CERTIFICATE_REQUEST);
    const orders = record(workload.ORDER);
    return {
      names: () => ({certificates: certificates.names(), requests: requests.names(), orders: orders.names()}),
      stop: async () => {
        await Promise.all([certificates.stop(), requests.stop(), orders.stop()]);
      },
    };
  }

  /** Waits until nothing of a removed host is left but the retained Secret and a released claim. */
  async seesNothingOf(host: string): Promise<void> {
    const probe = async () => {
      const left = [await this.domain(host), ...(await this.routes(host)), await this.certificate(host)];
      const claim = await this.claim(host);
      const held = claim && !claim.spec.releasedAt ? claim : undefined;
      const names = [...left, held].flatMap(object => (object ? [`${object.kind} ${object.metadata.name}`] : []));
      if (names.length > 0) throw new Error(`left: ${names.join(', ')}`);
      return true;
    };
    await until(`${this.namespace}: nothing is left of ${host}`, probe, WAIT);
  }
}

function isAs({metadata, status}: kinds.Domain, {state, says = '', ...reasons}: ExpectedDomain): boolean {
  if (status?.observedGeneration !== metadata.generation || (state && status?.state !== state)) return false;
  if (!findCondition(status?.conditions, 'Ready')?.message.includes(says)) return false;
  return Object.entries(reasons).every(([type, reason]) => findCondition(status?.conditions, type)?.reason === reason);
}

function describe({status}: kinds.Domain): string {
  const lines = (status?.conditions ?? []).map(
    ({type, status: value, reason, message}) => `  ${type}=${value} ${reason}: ${message}`,
  );
  return [`it is ${status?.state ?? 'without a status'}`, ...lines].join('\n');
}

function fail(problem: string): never {
  throw new Error(problem);
}
