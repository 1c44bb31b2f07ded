/** A tenant of the platform in the e2e tests: a namespace with an account, a zone of its own, and what runs in it. */
import {randomBytes} from 'node:crypto';
import {findCondition} from '../../src/api/conditions.ts';
import type {ProjectSpec} from '../../src/api/generated/project.ts';
import {ANNOTATION, LABEL} from '../../src/api/names.ts';
import type {DomainConditionType} from '../../src/operator/domain/conditions.ts';
import type {DomainState} from '../../src/operator/domain/summary.ts';
import * as kinds from '../../src/operator/resources.ts';
import {MIDDLEWARE} from '../../src/operator/routing/traefik.ts';
import type {KubeClient} from '../../src/runtime/kube/client.ts';
import type {KubeObject} from '../../src/runtime/kube/object.ts';
import type {Cluster} from '../cluster/cluster.ts';
import {until} from '../cluster/wait.ts';
import {Created, listAll} from './kube.ts';
import {domain, namespace, project} from './objects.ts';
import * as workload from './workload.ts';

type ProjectDomains = NonNullable<ProjectSpec['domains']>;
export type IssuerKind = 'acme' | 'fast' | 'none';

export interface TenantOptions {
  /** Label of the namespace; '' for none. Default: pro. */
  readonly plan?: string;
  /** The tenant's own Issuer: by ACME from Pebble, or at once by a CA in the cluster. Default: fast. */
  readonly issuer?: IssuerKind;
  /** Whether Service `web` runs from the start. Default: true. */
  readonly deployed?: boolean;
}

/** What is expected of a Domain: its state, and reasons of conditions by type. */
export type ExpectedDomain = Partial<Record<DomainConditionType, string>> & {readonly state?: DomainState};

const TIMEOUT_MS = 150_000;

export async function createTenant(
  cluster: Cluster,
  client: KubeClient,
  name: string,
  {plan = 'pro', issuer = 'fast', deployed = true}: TenantOptions = {},
): Promise<Tenant> {
  const tenant = new Tenant(cluster, client, `${name}-${randomBytes(3).toString('hex')}`);
  const zone = cluster.zones.addZone(tenant.zone);
  const {metadata, ...rest} = namespace(tenant.namespace, {plan});
  const labels = {...metadata.labels, [workload.TENANT_LABEL]: 'true'};
  await client.apply(kinds.NAMESPACE, {...rest, metadata: {...metadata, labels}});
  await Promise.all([zone, tenant.setIssuer(issuer), deployed && tenant.deploy('web')]);
  return tenant;
}

export class Tenant {
  readonly namespace: string;
  /** A registrable domain; its hosts are subdomains, `zone` itself is an apex. */
  readonly zone: string;
  readonly #cluster: Cluster;
  readonly #client: KubeClient;

  constructor(cluster: Cluster, client: KubeClient, name: string) {
    this.namespace = name;
    this.zone = `${name}.test`;
    this.#cluster = cluster;
    this.#client = client;
  }

  host(label: string): string {
    return `${label}.${this.zone}`;
  }

  async setIssuer(kind: IssuerKind): Promise<void> {
    const {namespace} = this;
    if (kind === 'none') return;
    const spec = kind === 'acme' ? await this.#acmeIssuer() : await this.#fastIssuer();
    await this.#client.apply(kinds.ISSUER, workload.issuer(namespace, spec));
  }

  /** Service and Deployment; resolves once a pod is ready. */
  async deploy(service: string): Promise<void> {
    const {namespace} = this;
    await this.#client.apply(kinds.SERVICE, workload.runningService(namespace, service));
    await this.#client.apply(workload.DEPLOYMENT, workload.deployment(namespace, service));
    await until(
      `${namespace}: ${service} is ready`,
      async () => (await this.#client.get(workload.DEPLOYMENT, {namespace, name: service}))?.status?.readyReplicas,
      {timeoutMs: TIMEOUT_MS, intervalMs: 200},
    );
  }

  async applyProject(domains: ProjectDomains, {name = 'shop', service = 'web'} = {}): Promise<void> {
    await this.#client.apply(kinds.PROJECT, project(this.namespace, name, domains, {name: service, port: 'http'}));
  }

  /** A Domain made by hand. */
  async applyDomain(host: string, projectName = 'shop'): Promise<void> {
    await this.#client.apply(kinds.DOMAIN, domain(this.namespace, host, projectName));
  }

  domain(host: string): Promise<kinds.Domain | undefined> {
    return this.#client.get(kinds.DOMAIN, {namespace: this.namespace, name: host});
  }

  async project(name = 'shop'): Promise<kinds.Project | undefined> {
    return this.#client.get(kinds.PROJECT, {namespace: this.namespace, name});
  }

  async claim(host: string): Promise<kinds.DomainClaim | undefined> {
    return this.#client.get(kinds.DOMAIN_CLAIM, {name: host});
  }

  /** Waits until the Domain is as expected, and speaks of its present spec; fails with what it was instead. */
  async sees(host: string, expected: ExpectedDomain): Promise<kinds.Domain> {
    const probe = async () => {
      const domain = await this.domain(host);
      if (domain && isAs(domain, expected)) return domain;
      throw new Error(domain ? describe(domain) : 'it does not exist');
    };
    const options = {timeoutMs: TIMEOUT_MS, intervalMs: 200};
    return until(`${this.namespace}: ${host} is ${JSON.stringify(expected)}`, probe, options);
  }

  /** Does what status.dns.required says, as a tenant does at the DNS provider. */
  async createRecords(host: string, wanted: (type: string) => boolean = () => true): Promise<void> {
    const {zones, info} = this.#cluster;
    const domain = await until(
      `${this.namespace}: ${host} shows its records`,
      async () => ((await this.domain(host))?.status?.dns?.required ? this.domain(host) : undefined),
      {timeoutMs: TIMEOUT_MS, intervalMs: 200},
    );
    for (const {type, name, value} of domain?.status?.dns?.required ?? []) {
      if (!wanted(type)) continue;
      if (type === 'ALIAS') await zones.set(name, 'A', info.ingress.address);
      else await zones.set(name, type, value);
    }
  }

  /** The Project with these domains, their records, and every one of them live. */
  async goLive(domains: ProjectDomains): Promise<void> {
    await this.applyProject(domains);
    const {primary, aliases = [], redirects = []} = domains;
    const hosts = [...(primary ? [primary] : []), ...aliases, ...redirects.map(({from}) => from)];
    await Promise.all(
      hosts.map(async host => {
        await this.createRecords(host);
        await this.sees(host, {state: 'Live'});
      }),
    );
  }

  /** Asks for a check as the documentation says, and waits until it is handled. */
  async reverify(host: string): Promise<void> {
    const token = new Date().toISOString();
    const patch = {metadata: {annotations: {[ANNOTATION.verifyRequestedAt]: token}}};
    await this.#client.patch(kinds.DOMAIN, {namespace: this.namespace, name: host}, patch);
    const isHandled = async () => (await this.domain(host))?.status?.lastHandledVerifyRequest === token;
    await until(`the verify request of ${host} is handled`, isHandled, {timeoutMs: TIMEOUT_MS});
  }

  async deleteDomain(host: string): Promise<void> {
    await this.#client.delete(kinds.DOMAIN, {namespace: this.namespace, name: host});
  }

  async deleteProject(name = 'shop'): Promise<void> {
    await this.#client.delete(kinds.PROJECT, {namespace: this.namespace, name});
  }

  /** The route objects of a host: its Ingresses and Middlewares. */
  async routes(host: string): Promise<KubeObject[]> {
    const selector = {namespace: this.namespace, labelSelector: `${LABEL.host}=${host}`};
    const found = [kinds.INGRESS, MIDDLEWARE].map(kind => listAll<KubeObject>(this.#client, kind, selector));
    return (await Promise.all(found)).flat();
  }

  async certificate(host: string): Promise<kinds.Certificate | undefined> {
    const selector = {namespace: this.namespace, labelSelector: `${LABEL.host}=${host}`};
    return (await listAll(this.#client, kinds.CERTIFICATE, selector))[0];
  }

  /** Every attempt to get a certificate from now on, also of what is soon deleted; what exists counts too. */
  recordAttempts(): {readonly requests: Created; readonly orders: Created} {
    const {namespace} = this;
    return {
      requests: new Created(this.#client, workload.CERTIFICATE_REQUEST, namespace),
      orders: new Created(this.#client, workload.ORDER, namespace),
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
    await until(`${this.namespace}: nothing is left of ${host}`, probe, {timeoutMs: TIMEOUT_MS, intervalMs: 200});
  }

  async #acmeIssuer(): Promise<Record<string, unknown>> {
    const platform = await this.#client.get(kinds.CLUSTER_ISSUER, {name: this.#cluster.info.issuers.acme});
    const {acme} = (platform as unknown as {spec: {acme: Record<string, unknown>}}).spec;
    return {acme: {...acme, privateKeySecretRef: {name: 'acme-account'}}};
  }

  async #fastIssuer(): Promise<Record<string, unknown>> {
    const {fast} = this.#cluster.info.issuers;
    const {data} = (await this.#client.get(kinds.SECRET, {namespace: 'cert-manager', name: fast})) as KubeObject & {
      data?: Record<string, string>;
    };
    const metadata = {namespace: this.namespace, name: 'ca'};
    const secret = {apiVersion: 'v1', kind: 'Secret', metadata, type: 'kubernetes.io/tls', data};
    await this.#client.apply(kinds.SECRET, secret as KubeObject);
    return {ca: {secretName: 'ca'}};
  }
}

function isAs({metadata, status}: kinds.Domain, {state, ...reasons}: ExpectedDomain): boolean {
  if (status?.observedGeneration !== metadata.generation || (state && status?.state !== state)) return false;
  return Object.entries(reasons).every(([type, reason]) => findCondition(status?.conditions, type)?.reason === reason);
}

function describe({status}: kinds.Domain): string {
  const lines = (status?.conditions ?? []).map(
    ({type, status: value, reason, message}) => `  ${type}=${value} ${reason}: ${message}`,
  );
  return [`it is ${status?.state ?? 'without a status'}`, ...lines].join('\n');
}

/** The message of one of its conditions. */
export function messageOf({status}: kinds.Domain, type: DomainConditionType): string {
  return findCondition(status?.conditions, type)?.message ?? '';
}
