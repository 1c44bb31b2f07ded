/** An API server that rejects writes: the object that they concern says so, and what is served stays Ready. */
import {expect, test} from 'vitest';
import {findCondition} from '../../../src/api/conditions.ts';
import {routeName} from '../../../src/operator/kinds/derived-names.ts';
import * as kinds from '../../../src/operator/kinds/kinds.ts';
import {type DomainTenant, newDomainTenant, newLiveTenant} from './domain-tenant.ts';
import type {OperatorWorld} from './operator-world.ts';
import {needsWrite} from './overload.ts';
import {beDown, DENIAL, denyWith} from './refusing-webhook.ts';

/** Not 403: at the end, no such answer may be in the audit log. */
const CODE = 503;

export function refusalSuite(world: () => OperatorWorld): void {
  test('a webhook that denies with 503 is a refusal: the first route waits, and an existing one stays Ready', async () => {
    const tenant = await newDomainTenant(world(), 'denied');
    const [served, fresh] = [tenant.host('served'), tenant.host('fresh')];
    await tenant.deployedProject({primary: served, aliases: [fresh]});
    await tenant.live(served);
    const refused = {namespace: tenant.namespace, apiGroup: 'networking.k8s.io', resource: 'ingresses'};
    const allow = await denyWith(CODE, world(), refused);
    try {
      await needsWrite(tenant, kinds.INGRESS, served);
      await staysReady(tenant, served, 'Routed', [DENIAL, 'Until then, the current route stays in place.']);
      await tenant.createRecords(fresh);
      const want = {state: 'Verified', CertificateReady: 'Issued', Routed: 'Refused', Ready: 'Refused'} as const;
      const {status} = await tenant.becomes(fresh, want, [DENIAL]);
      expect(findCondition(status?.conditions, 'Ready')?.status).toBe('False');
    } finally {
      await allow();
    }
    await Promise.all([served, fresh].map(host => tenant.becomesLive(host)));
  });

  test('a webhook that is down refuses a Certificate: the host stays Ready, even if its Certificate is deleted', async () => {
    const {tenant, host, domain} = await newLiveTenant(world(), 'down');
    const refused = {namespace: tenant.namespace, apiGroup: 'cert-manager.io', resource: 'certificates'};
    const restore = await beDown(world(), refused);
    const kept = 'Until then, the current certificate stays in use.';
    try {
      await needsWrite(tenant, kinds.CERTIFICATE, host);
      await staysReady(tenant, host, 'CertificateReady', ['failed calling webhook', kept]);
      await tenant.delete(kinds.CERTIFICATE, routeName(tenant.namespace, host));
      await staysReady(tenant, host, 'CertificateReady', ['the Certificate: POST /apis/cert-manager.io', kept]);
      const later = world().history.versions(kinds.DOMAIN, `${tenant.namespace}/${host}`);
      const isUnready = ({status}: kinds.Domain) => findCondition(status?.conditions, 'Ready')?.status !== 'True';
      const since = Number(domain.metadata.resourceVersion);
      expect(later.filter(({at, object}) => at > since && isUnready(object))).toEqual([]);
    } finally {
      await restore();
    }
    await tenant.becomesLive(host);
  });

  test('a route that a former holder must lose, but whose deletion is refused: its Domain reports both, and the new holder’s why it is not routed', async () => {
    const [{tenant: former, host}, next] = [
      await newLiveTenant(world(), 'undeletable'),
      await newDomainTenant(world(), 'newcomer'),
    ];
    const refused = {namespace: former.namespace, apiGroup: 'networking.k8s.io', resource: 'ingresses'};
    const allow = await denyWith(CODE, world(), {...refused, operations: ['DELETE']});
    try {
      await next.deployedProject({primary: host});
      await next.createRecords(host);
      const lost = {Claimed: 'HeldByAnotherAccount', Ready: 'HeldByAnotherAccount'} as const;
      const says = ['rejected the removal of the route', DENIAL, 'Ask the platform team to fix the cause.'];
      const {status} = await former.becomes(host, {state: 'Degraded', Routed: 'Refused', ...lost}, says);
      expect(findCondition(status?.conditions, 'Ready')?.status).toBe('False');
      const unrouted = {state: 'Verified', CertificateReady: 'Issued', Routed: 'Refused', Ready: 'Refused'} as const;
      const refusedTwice = await next.becomes(host, unrouted, ["the former holder's route", 'Ask the platform team']);
      expect(JSON.stringify(refusedTwice.status)).not.toContain(`namespaces/${former.namespace}`);
      expect(former.ingress(host)).toBeDefined();
      expect(next.ingress(host)).toBeUndefined();
    } finally {
      await allow();
    }
    await former.until('the former holder has nothing left', () => !former.ingress(host) && !former.certificate(host));
    await former.becomes(host, {state: 'Unverified', Claimed: 'HeldByAnotherAccount', Routed: 'Waiting'});
    await next.becomesLive(host);
  });

  test('a managed Domain that is refused: its Project says so, and not that a Domain that does not exist explains it', async () => {
    const tenant = await newDomainTenant(world(), 'unmanaged');
    const {namespace} = tenant;
    const allow = await denyWith(CODE, world(), {namespace, apiGroup: 'nameplate.dev', resource: 'domains'});
    try {
      await tenant.deployedProject({primary: tenant.host('shop')});
      const {status} = await tenant.projectBecomes('shop', {Ready: 'Published', DomainsReady: 'Refused'});
      const {status: isReady, message} = findCondition(status?.conditions, 'DomainsReady') ?? {};
      expect(isReady).toBe('False');
      expect(message).toContain(`The API server rejected Domain ${tenant.host('shop')}: `);
      expect(message).toContain(DENIAL);
      expect(message).not.toContain('kubectl describe domain');
    } finally {
      await allow();
    }
    await tenant.projectBecomes('shop', {DomainsReady: 'WaitingForDomains'});
  });

  test('a change of a managed Domain that is refused: its spec stays in force, so its route is recreated, and it says what differs and who refuses', async () => {
    const {tenant, host} = await newLiveTenant(world(), 'unchanged');
    const alias = tenant.host('www');
    await tenant.project({primary: host, aliases: [alias]});
    await tenant.live(alias);
    const refused = {namespace: tenant.namespace, apiGroup: 'nameplate.dev', resource: 'domains'};
    const allow = await denyWith(CODE, world(), refused);
    try {
      await tenant.project({primary: alias, redirects: [{from: host}]});
      const says = [
        `Project shop lists this host and redirects it to ${alias} with 301`,
        DENIAL,
        'current spec applies',
      ];
      const want = {state: 'Degraded', Accepted: 'Refused', Ready: 'Refused'} as const;
      const {status, spec} = await tenant.becomes(host, want, says);
      expect(findCondition(status?.conditions, 'Ready')?.status).toBe('True');
      expect(spec.redirect).toBeUndefined();
      const {uid} = tenant.ingress(host)?.metadata ?? {};
      await tenant.delete(kinds.INGRESS, routeName(tenant.namespace, host));
      await tenant.until('the route is recreated', () => (tenant.ingress(host)?.metadata.uid ?? uid) !== uid);
      await tenant.becomes(alias, {state: 'Live'});
      await tenant.projectBecomes('shop', {DomainsReady: 'Refused'});
    } finally {
      await allow();
    }
    await tenant.becomes(host, {state: 'Live', Accepted: 'Accepted', Routed: 'Redirecting'});
  });

  test('a swap of two hosts that is refused, and a deletion: each host serves what it served', async () => {
    const {tenant, host} = await newLiveTenant(world(), 'unswapped');
    const [www, gone] = [tenant.host('www'), tenant.host('gone')];
    await tenant.project({primary: host, aliases: [gone], redirects: [{from: www}]});
    for (const each of [www, gone]) await tenant.live(each);
    const operations = ['UPDATE', 'DELETE'];
    const refused = {namespace: tenant.namespace, apiGroup: 'nameplate.dev', resource: 'domains', operations};
    const allow = await denyWith(CODE, world(), refused);
    try {
      await tenant.project({primary: www, redirects: [{from: host}]});
      const want = {state: 'Degraded', Accepted: 'Refused', Ready: 'Refused'} as const;
      await tenant.becomes(host, {...want, Routed: 'Serving'});
      await tenant.becomes(www, {...want, Routed: 'Redirecting'});
      await tenant.becomes(gone, {...want, Routed: 'Serving'}, ['No Project lists this host anymore']);
      for (const each of [host, www, gone]) {
        const {uid} = tenant.ingress(each)?.metadata ?? {};
        await tenant.delete(kinds.INGRESS, routeName(tenant.namespace, each));
        await tenant.until('the route is recreated', () => (tenant.ingress(each)?.metadata.uid ?? uid) !== uid);
      }
    } finally {
      await allow();
    }
    await tenant.becomes(www, {state: 'Live', Accepted: 'Accepted', Routed: 'Serving'});
    await tenant.becomes(host, {state: 'Live', Accepted: 'Accepted', Routed: 'Redirecting'});
    await tenant.until('the host that no Project lists is gone', () => !tenant.domain(gone) && !tenant.ingress(gone));
  });

  test('the record of a first deploy that is refused: the Project is published, and says so', async () => {
    const tenant = await newDomainTenant(world(), 'undeployed');
    const {namespace} = tenant;
    const allow = await denyWith(CODE, world(), {namespace, apiGroup: 'nameplate.dev', resource: 'projects'});
    try {
      await tenant.deployedProject();
      const {status} = await tenant.projectBecomes('shop', {Ready: 'Published', Deployed: 'Refused'});
      expect(findCondition(status?.conditions, 'Deployed')?.message).toContain(DENIAL);
    } finally {
      await allow();
    }
    await tenant.projectBecomes('shop', {Ready: 'Published', Deployed: 'Deployed'});
  });
}

async function staysReady(
  tenant: DomainTenant,
  host: string,
  condition: 'Routed' | 'CertificateReady',
  says: readonly string[],
): Promise<void> {
  const want = {state: 'Degraded', [condition]: 'Refused', Ready: 'Refused'} as const;
  const {status} = await tenant.becomes(host, want, says);
  expect(findCondition(status?.conditions, condition)?.status).toBe('True');
  expect(findCondition(status?.conditions, 'Ready')?.status).toBe('True');
}
