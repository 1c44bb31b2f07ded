/** What the tests of orders have in common: tenants that are about to order, and what the CA has seen of a host. */
import {CERTIFICATE_REQUEST, type CertificateRequest, type DomainClaim} from '../../../src/operator/kinds/kinds.ts';
import {type CaRequestSeen, type CaResource, withMembers} from '../../support/ca-proxy.ts';
import {type DomainTenant, newDomainTenant} from '../operator/domain-tenant.ts';
import type {CaWorld} from './ca-world.ts';

type Issuance = DomainClaim['spec']['issuance'];

/** With a Project whose records do not exist yet. */
export async function waitingTenant(
  world: CaWorld,
  name: string,
): Promise<{readonly tenant: DomainTenant; readonly host: string}> {
  const tenant = await newDomainTenant(world, name);
  const host = tenant.host('shop');
  await tenant.deployedProject({primary: host});
  await tenant.until('the records are shown', () => tenant.domain(host)?.status?.dns?.required);
  return {tenant, host};
}

export function claimWith(
  tenant: DomainTenant,
  host: string,
  is: (issuance: Issuance) => boolean,
): Promise<DomainClaim> {
  return tenant.until(`the claim of ${host}`, () => {
    const claim = tenant.claim(host);
    return claim && is(claim.spec.issuance) ? claim : undefined;
  });
}

/** The condition Ready of the last request. */
export function readiness(tenant: DomainTenant, host: string) {
  const last = tenant.certificateRequests(host).at(-1)?.object.metadata.name ?? '';
  return condition(tenant.get(CERTIFICATE_REQUEST, last), 'Ready');
}

export function condition(request: CertificateRequest | undefined, wanted: string) {
  return request?.status?.conditions?.find(({type}) => type === wanted);
}

/** The certificates that were ever published in the tenant's namespace, in base64. */
export function publishedTo({namespace, world: {history}}: DomainTenant): string[] {
  const versions = history.versions(CERTIFICATE_REQUEST).filter(({key}) => key.startsWith(`${namespace}/`));
  const statuses = versions.map(({object}) => (object.status ?? {}) as {readonly certificate?: string});
  return [...new Set(statuses.flatMap(({certificate}) => certificate ?? []))];
}

/**
 * Follows, from now on, which orders the CA creates: an order that it returns again is not created. Takes the place of
 * `switches.rewrite`.
 */
export function countOrders({proxy}: Pick<CaWorld, 'proxy'>) {
  const byHost = new Map<string, (readonly string[])[]>();
  /** The authorizations of each order. */
  const created = (host: string): readonly (readonly string[])[] => byHost.get(host) ?? [];
  proxy.switches.rewrite = (request, reply) => {
    if (request.resource === 'newOrder' && reply.status === 201) {
      const {authorizations} = JSON.parse(reply.body) as {authorizations: string[]};
      for (const host of namesIn(request)) byHost.set(host, [...created(host), authorizations]);
    }
    return reply;
  };
  return {created};
}

/** The orders that the CA was asked for. */
export function ordersFor({proxy}: Pick<CaWorld, 'proxy'>, host: string): CaRequestSeen[] {
  return proxy.seen.filter(request => request.resource === 'newOrder' && namesIn(request).includes(host));
}

export function namesIn({payload}: CaRequestSeen): string[] {
  const identifiers = (payload.identifiers ?? []) as readonly {readonly value: string}[];
  return identifiers.map(({value}) => value);
}

/** Only one host at a time has orders in these tests, apart from those that name it. */
export function isOf(resource: CaResource, request: CaRequestSeen, host: string): boolean {
  return request.resource === resource && (resource !== 'newOrder' || namesIn(request).includes(host));
}

/** Once a challenge was accepted, all orders are invalid. Takes the place of `switches.rewrite`. */
export function failEveryOrder(
  {proxy}: Pick<CaWorld, 'proxy'>,
  error: {readonly type: string; readonly detail: string},
): void {
  let isAccepted = false;
  proxy.switches.rewrite = (request, reply) => {
    if (request.resource === 'challenge') isAccepted = true;
    if (!isAccepted) return reply;
    if (request.resource === 'order') return withMembers(reply, {status: 'invalid', error});
    if (request.resource !== 'authorization') return reply;
    const {challenges} = JSON.parse(reply.body) as {challenges: object[]};
    return withMembers(reply, {
      status: 'invalid',
      challenges: challenges.map(it => ({...it, status: 'invalid', error})),
    });
  };
}
