import {expect, test} from 'vitest';
import {CERTIFICATE, DOMAIN_CLAIM, INGRESS, SECRET} from '../../../src/operator/resources.ts';
import type {ResourceType} from '../../../src/runtime/kube/object.ts';
import {newTenant, type Tenant} from './tenant.ts';
import type {World} from './world.ts';

export function lifeRows(world: () => World): void {
  test('from nothing to live: proof, claim, certificate, route, in this order', async () => {
    const tenant = await newTenant(world(), 'order');
    const host = tenant.host('shop');
    world().certManager.approvals().hold(host);
    await tenant.deployedProject({primary: host});
    const want = {state: 'Unverified', DNSVerified: 'RecordMissing', Claimed: 'Waiting', CertificateReady: 'Waiting'};
    await tenant.becomes(host, {...want, state: 'Unverified', Routed: 'Waiting', Ready: 'RecordMissing'});
    expect(tenant.trace(host), 'nothing is made before the proof').toEqual([]);

    await tenant.createRecords(host);
    await tenant.becomes(host, {state: 'Verified', DNSVerified: 'Verified', Claimed: 'Claimed', Ready: 'Issuing'});
    await tenant.until('a certificate is asked for', () => tenant.certificateRequests(host).length === 1);
    expect(tenant.ingress(host), 'nothing is routed before its certificate').toBeUndefined();

    await world().certManager.approvals().approve(host);
    await tenant.becomes(host, {state: 'Live', CertificateReady: 'Issued', Routed: 'Serving', Ready: 'Live'});
    const first = (resource: ResourceType) => tenant.trace(host).find(version => version.resource === resource)?.at;
    const order = [DOMAIN_CLAIM, CERTIFICATE, SECRET, INGRESS].map(first);
    expect(order).toEqual([...order].sort((a = 0, b = 0) => a - b));
    expect(order).not.toContain(undefined);
  });
}

export type Row = (tenant: Tenant) => Promise<void>;
