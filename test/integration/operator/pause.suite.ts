import {expect, test} from 'vitest';
import {findCondition} from '../../../src/api/conditions.ts';
import {ANNOTATION} from '../../../src/api/names.ts';
import {DOMAIN, INGRESS, NAMESPACE, PROJECT} from '../../../src/operator/model/kinds.ts';
import {type DomainTenant, newDomainTenant, newLiveTenant} from './domain-tenant.ts';
import type {OperatorWorld} from './operator-world.ts';

const ENTRY_POINT = 'traefik.ingress.kubernetes.io/router.entrypoints';
const KINDS = ['Namespace', 'Project', 'Domain'] as const;

export function pauseSuite(world: () => OperatorWorld): void {
  test('a paused namespace gets nothing; once the pause ends, its host becomes live', async () => {
    const tenant = await newDomainTenant(world(), 'paused');
    const host = tenant.host('shop');
    await pause(tenant, 'Namespace');
    await tenant.deployedProject({primary: host});
    const {status} = await tenant.projectBecomes('shop', {Ready: 'Paused', Deployed: 'NoReadyEndpoint'});
    expect(findCondition(status?.conditions, 'Ready')?.message).toContain(`the annotation ${ANNOTATION.paused}`);
    await tenant.apply(tenant.host('manual'));
    await tenant.createRecords(tenant.host('manual'));
    await tenant.becomes(tenant.host('manual'), {Accepted: 'NoSuccessfulDeploy'});
    expect(tenant.domain(host)).toBeUndefined();
    expect(world().history.list(INGRESS, tenant.namespace)).toEqual([]);

    await pause(tenant, 'Namespace', null);
    await tenant.live(host);
    await tenant.projectBecomes('shop', {Ready: 'Published'});
  });

  test.each(KINDS)('a paused %s leaves a live host as it is, and Ready, until the pause ends', async kind => {
    const {tenant, host} = await newLiveTenant(world(), `unchanged-${kind.toLowerCase()}`);
    await pause(tenant, kind);
    const {name = ''} = tenant.ingress(host)?.metadata ?? {};
    await tenant.annotate(INGRESS, name, {[ENTRY_POINT]: 'by-hand'});
    const want = {state: 'Live', Routed: 'Paused', Ready: 'Paused', Reconciling: 'Paused'} as const;
    const {status} = await tenant.becomes(host, want, ['paused and does not write the route']);
    expect(findCondition(status?.conditions, 'Ready')?.status).toBe('True');
    expect(tenant.ingress(host)?.metadata.annotations?.[ENTRY_POINT]).toBe('by-hand');

    await pause(tenant, kind, null);
    await tenant.becomesLive(host);
    expect(tenant.ingress(host)?.metadata.annotations?.[ENTRY_POINT]).not.toBe('by-hand');
  });

  test.each(KINDS)('a paused %s holds back no withdrawal, even if its Domain is about to change', async kind => {
    const {tenant: former, host, domain} = await newLiveTenant(world(), `lost-${kind.toLowerCase()}`);
    const next = await newDomainTenant(world(), `won-${kind.toLowerCase()}`);
    await pause(former, kind);
    await former.project({primary: former.host('other'), redirects: [{from: host}]});
    await next.deployedProject({primary: host});
    await next.live(host);
    await former.becomes(host, {state: 'Unverified', Claimed: 'HeldByAnotherAccount'});
    expect(former.ingress(host)).toBeUndefined();
    expect(former.certificate(host)).toBeUndefined();
    expect(former.domain(host)?.spec).toEqual(domain.spec); // the change is still held back
  });

  test('a pause holds back no removal that the owner requests', async () => {
    const {tenant, host} = await newLiveTenant(world(), 'requested');
    for (const kind of KINDS) await pause(tenant, kind);
    await tenant.project();
    await tenant.until('nothing is left but the claim', () => {
      const isGone = !tenant.domain(host) && !tenant.ingress(host) && !tenant.certificate(host);
      return isGone && tenant.claim(host)?.spec.releasedAt;
    });
  });
}

/** Pauses what has the one host `shop`; null ends the pause. */
async function pause(tenant: DomainTenant, kind: (typeof KINDS)[number], value: 'true' | null = 'true'): Promise<void> {
  const annotations = {[ANNOTATION.paused]: value};
  const {client} = tenant.world;
  if (kind === 'Namespace') await client.patch(NAMESPACE, {name: tenant.namespace}, {metadata: {annotations}});
  else if (kind === 'Project') await tenant.annotate(PROJECT, 'shop', annotations);
  else await tenant.annotate(DOMAIN, tenant.host('shop'), annotations);
}
