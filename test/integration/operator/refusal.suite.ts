/** An API server that rejects writes: the object that they concern says so, and what is served stays Ready. */
import {expect, test} from 'vitest';
import {findCondition} from '../../../src/api/conditions.ts';
import {routeName} from '../../../src/operator/model/derived-names.ts';
import * as kinds from '../../../src/operator/model/kinds.ts';
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

  test('a route that a former holder must lose, but whose deletion is refused: its Domain reports both', async () => {
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
      expect(former.ingress(host)).toBeDefined();
    } finally {
      await allow();
    }
    await former.until('the former holder has nothing left', () => !former.ingress(host) && !former.certificate(host));
    await former.becomes(host, {state: 'Unverified', Claimed: 'HeldByAnotherAccount', Routed: 'Waiting'});
    await next.becomesLive(host);
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
