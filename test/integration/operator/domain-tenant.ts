/** One tenant of the shared world: a namespace, a DNS zone, and a tenant's actions with them. */
import {isDeepStrictEqual} from 'node:util';
import {expect} from 'vitest';
import type {ProjectSpec} from '../../../src/api/generated/project.ts';
import {objectNameOf} from '../../../src/api/host-names.ts';
import {ANNOTATION} from '../../../src/api/names.ts';
import type {DomainConditionType} from '../../../src/operator/domain/reasons.ts';
import type {DomainState} from '../../../src/operator/domain/summary.ts';
import {MIDDLEWARE} from '../../../src/operator/edge/traefik.ts';
import {routeName} from '../../../src/operator/kinds/derived-names.ts';
import * as kinds from '../../../src/operator/kinds/kinds.ts';
import type {KubeObject, ResourceType} from '../../../src/runtime/kube/object.ts';
import {until} from '../../cluster/wait.ts';
import * as objects from '../../support/objects.ts';
import type {Version} from './history.ts';
import {INGRESS_ADDRESS, type OperatorWorld} from './operator-world.ts';

/** The parts of the world that a tenant's actions need. */
export interface DomainTenantWorld extends Pick<OperatorWorld, 'client' | 'history'> {
  readonly dns: Pick<OperatorWorld['dns'], 'addZone' | 'set'>;
}

/** With a field that the operator does not use. */
type CertificateStatus = NonNullable<kinds.Certificate['status']> & {readonly nextPrivateKeySecretName?: string};

export interface DomainTenantOptions {
  readonly plan?: string;
  readonly account?: string;
}

/** The state, and the reasons of the given conditions. `says`: parts of these conditions' messages. */
export type Want = {readonly state?: DomainState} & {readonly [type in DomainConditionType]?: string};

let count = 0;

export async function newDomainTenant(
  world: DomainTenantWorld,
  name: string,
  {plan = 'pro', account}: DomainTenantOptions = {},
): Promise<DomainTenant> {
  const tenant = new DomainTenant(world, `${name}-${++count}`);
  await world.dns.addZone(tenant.zone);
  await world.client.apply(kinds.NAMESPACE, objects.tenantNamespace(tenant.namespace, {plan, account}));
  return tenant;
}

/** A tenant with a Project whose one host, `shop`, is live. */
export async function newLiveTenant(world: DomainTenantWorld, name: string) {
  const tenant = await newDomainTenant(world, name);
  const host = tenant.host('shop');
  await tenant.deployedProject({primary: host});
  return {tenant, host, domain: await tenant.live(host)};
}

export class DomainTenant {
  readonly world: DomainTenantWorld;
  readonly namespace: string;
  readonly zone: string;

  constructor(world: DomainTenantWorld, name: string) {
    this.world = world;
    this.namespace = name;
    this.zone = `${name}.test`;
  }

  host(label: string): string {
    return `${label}.${this.zone}`;
  }

  /** A namespace label that the platform sets. */
  async label(labels: Record<string, string | null>): Promise<void> {
    await this.world.client.patch(kinds.NAMESPACE, {name: this.namespace}, {metadata: {labels}});
  }

  /** Creates a Service with an endpoint, as after a deployment. */
  async deploy(name = 'shop', {ready = true} = {}): Promise<void> {
    const {client} = this.world;
    await client.apply(
      kinds.SERVICE,
      objects.service(this.namespace, name, [{name: objects.PORT.name, port: objects.PORT.number}]),
    );
    await client.apply(kinds.ENDPOINT_SLICE, objects.endpointSlice(this.namespace, name, ready));
  }

  /** Applies a Project. Whatever is not given is removed from it. */
  async project(domains?: ProjectSpec['domains'], name = 'shop', service?: ProjectSpec['service']): Promise<void> {
    await this.world.client.apply(kinds.PROJECT, objects.project(this.namespace, name, domains, service));
  }

  /** Creates a deployed Project. */
  async deployedProject(domains?: ProjectSpec['domains'], name = 'shop'): Promise<void> {
    await this.deploy(name);
    await this.project(domains, name);
  }

  /** Waits until later Projects count as younger, because creationTimestamps are in whole seconds. */
  async becomesOlder(name: string): Promise<void> {
    const made = () => Date.parse(this.get(kinds.PROJECT, name)?.metadata.creationTimestamp ?? '');
    await this.until(`a second has passed since Project ${name}`, () => Date.now() >= made() + 1000);
  }

  /** Manually applies a Domain. */
  async apply(host: string, projectName = 'shop', redirect?: kinds.Domain['spec']['redirect']): Promise<void> {
    await this.world.client.apply(kinds.DOMAIN, objects.domain(this.namespace, host, projectName, redirect));
  }

  async delete(resource: ResourceType, name: string): Promise<void> {
    await this.world.client.delete(resource, {namespace: this.namespace, name});
  }

  async annotate(resource: ResourceType, name: string, annotations: Record<string, string | null>): Promise<void> {
    await this.world.client.patch(resource, {namespace: this.namespace, name}, {metadata: {annotations}});
  }

  /** Requests a check and waits until it is done. */
  async verify(host: string, token: string): Promise<void> {
    await this.annotate(kinds.DOMAIN, host, {[ANNOTATION.verifyRequestedAt]: token});
    await this.until(
      `the request ${token} is handled`,
      () => this.domain(host)?.status?.lastHandledVerifyRequest === token,
    );
  }

  /** Requests a new certificate from cert-manager, as `cmctl renew` does. */
  async renew(host: string): Promise<void> {
    const {metadata, status} = this.certificate(host) ?? {};
    const others = status?.conditions?.filter(({type}) => type !== 'Issuing') ?? [];
    const issuing = {type: 'Issuing', status: 'True', reason: 'ManuallyTriggered', message: 'by a test'};
    const patch = {status: {conditions: [...others, {...issuing, lastTransitionTime: new Date().toISOString()}]}};
    const key = {namespace: this.namespace, name: metadata?.name ?? ''};
    await this.world.client.patch(kinds.CERTIFICATE, key, patch, {subresource: 'status'});
  }

  domain(host: string): kinds.Domain | undefined {
    return this.get(kinds.DOMAIN, objectNameOf(host));
  }

  get<T extends KubeObject>(resource: ResourceType<T>, name: string): T | undefined {
    return this.world.history.get(resource, `${this.namespace}/${name}`);
  }

  claim(host: string): kinds.DomainClaim | undefined {
    return this.world.history.get(kinds.DOMAIN_CLAIM, objectNameOf(host));
  }

  /** The https Ingress of a host. */
  ingress(host: string): kinds.Ingress | undefined {
    return this.get(kinds.INGRESS, routeName(this.namespace, host));
  }

  /** The name of the Service that a host is routed to. */
  backendName(host: string): string {
    return this.ingress(host)?.spec.rules[0]?.http?.paths[0]?.backend.service.name ?? '';
  }

  /** The Service that a host is routed to. */
  backend(host: string) {
    return this.get(kinds.SERVICE, this.backendName(host))?.spec;
  }

  certificate(host: string): kinds.Certificate | undefined {
    return this.get(kinds.CERTIFICATE, routeName(this.namespace, host));
  }

  /** The requests that cert-manager has created for a host. */
  certificateRequests(host: string) {
    const prefix = `${routeName(this.namespace, host)}-`;
    const all = this.world.history.versions(kinds.CERTIFICATE_REQUEST).filter(({type}) => type === 'ADDED');
    return all.filter(
      ({object}) => object.metadata.namespace === this.namespace && object.metadata.name.startsWith(prefix),
    );
  }

  /** The versions of a host's objects (routes, certificate, Secret, claim), in the order in which they were stored. */
  trace(host: string): Version[] {
    const {history} = this.world;
    const name = routeName(this.namespace, host);
    // Other Secrets that begin with the name hold a private key while cert-manager issues.
    const isOurs = ({key, resource}: Version) =>
      resource === kinds.SECRET ? key === `${this.namespace}/${name}` : key.startsWith(`${this.namespace}/${name}`);
    const all: ResourceType[] = [kinds.INGRESS, MIDDLEWARE, kinds.CERTIFICATE, kinds.SECRET];
    const ours = all.flatMap(resource => history.versions(resource).filter(isOurs));
    return [...ours, ...history.versions(kinds.DOMAIN_CLAIM, host)].sort((a, b) => a.at - b.at);
  }

  /** Changes to a host, after a version of its Domain, that a visitor or a certificate authority could notice. */
  disturbances(host: string, since: kinds.Domain): Version[] {
    const after = Number(since.metadata.resourceVersion);
    const everyChange: ResourceType[] = [kinds.INGRESS, MIDDLEWARE, kinds.DOMAIN_CLAIM];
    const later = this.trace(host).filter(({at}) => at > after);
    return later.filter(({resource, type}) => everyChange.includes(resource) || type !== 'MODIFIED');
  }

  /** Creates the records exactly as `status.dns.required` shows them. */
  async createRecords(host: string): Promise<void> {
    const records = await this.until(
      `the records of ${host} are shown`,
      () => this.domain(host)?.status?.dns?.required,
    );
    for (const {type, name, value} of records) await this.createRecord(type, name, value);
  }

  async createRecord(type: string, name: string, value: string): Promise<void> {
    if (type === 'ALIAS') await this.world.dns.set(name, 'A', [INGRESS_ADDRESS]);
    else await this.world.dns.set(name, type, [value]);
  }

  /** Waits until the Domain has the expected status for its current spec. */
  async becomes(host: string, want: Want, says: readonly string[] = []): Promise<kinds.Domain> {
    return this.until(host, () => this.#if(host, want, says)).catch(() => {
      const found = this.domain(host);
      expect(shown(found, want), messagesOf(found, want)).toEqual(want);
      for (const text of says) expect(messagesOf(found, want)).toContain(text);
      throw new Error(`${host} did not become ${JSON.stringify(want)}; its status speaks of an earlier spec`);
    });
  }

  async becomesLive(host: string): Promise<kinds.Domain> {
    return this.becomes(host, {state: 'Live', Ready: 'Live'});
  }

  /**
   * The state in which most tests begin. If a CA answers within milliseconds, cert-manager sometimes reads a cache
   * without its own new Secret and issues a second time. This waits for that, too, and for the cleanup.
   */
  async live(host: string): Promise<kinds.Domain> {
    await this.createRecords(host);
    await this.becomesLive(host);
    const isDone = () => {
      const status: CertificateStatus = this.certificate(host)?.status ?? {};
      const {conditions, nextPrivateKeySecretName} = status;
      return conditions?.every(({type}) => type !== 'Issuing') && nextPrivateKeySecretName === undefined;
    };
    await this.until(`cert-manager is done with ${host}`, isDone);
    return this.becomesLive(host);
  }

  async projectBecomes(name: string, want: Readonly<Record<string, string>>): Promise<kinds.Project> {
    const reasons = (project: kinds.Project | undefined) => reasonsOf(project?.status?.conditions, want);
    const probe = () => {
      const found = this.get(kinds.PROJECT, name);
      const current = found?.status?.observedGeneration === found?.metadata.generation;
      return current && isDeepStrictEqual(reasons(found), want) ? found : undefined;
    };
    return this.until(name, probe).catch(() => {
      expect(reasons(this.get(kinds.PROJECT, name))).toEqual(want);
      throw new Error(`Project ${name} did not become ${JSON.stringify(want)}; its status speaks of an earlier spec`);
    });
  }

  /** Waits for a condition. Afterwards, the objects of all kinds are at least as new as the condition. */
  async until<T>(what: string, probe: () => T): Promise<NonNullable<T>> {
    const found = (await until(what, probe, {intervalMs: 50})) as NonNullable<T>;
    await this.world.history.catchUp(this.namespace);
    return found;
  }

  /** Waits until the history contains what the test has written. */
  async seesOwnWrites(): Promise<void> {
    await this.world.history.catchUp(this.namespace);
  }

  #if(host: string, want: Want, says: readonly string[]): kinds.Domain | undefined {
    const found = this.domain(host);
    if (!found || found.status?.observedGeneration !== found.metadata.generation) return undefined;
    const isSo = isDeepStrictEqual(shown(found, want), want);
    return isSo && says.every(text => messagesOf(found, want).includes(text)) ? found : undefined;
  }
}

/** The parts of the status that have an expected value. */
function shown(domain: kinds.Domain | undefined, want: Want): Want {
  const {state, ...conditions} = want;
  return {...(state && {state: domain?.status?.state}), ...reasonsOf(domain?.status?.conditions, conditions)} as Want;
}

function reasonsOf(
  conditions: readonly {type: string; reason: string}[] | undefined,
  want: Readonly<Record<string, unknown>>,
): Record<string, string | undefined> {
  const reason = (type: string) => conditions?.find(condition => condition.type === type)?.reason;
  return Object.fromEntries(Object.keys(want).map(type => [type, reason(type)]));
}

function messagesOf(domain: kinds.Domain | undefined, want: Want): string {
  const conditions = domain?.status?.conditions ?? [];
  return conditions.flatMap(({type, message}) => (type in want ? [message] : [])).join('\n');
}
