import {expect, test} from 'vitest';
import {findCondition} from '../../../src/api/conditions.ts';
import {DOMAIN, INGRESS_CLASS} from '../../../src/operator/kinds/kinds.ts';
import {until} from '../../cluster/wait.ts';
import {type DomainTenant, newDomainTenant} from './domain-tenant.ts';
import {INGRESS_CLASS_NAME, installIngressClass, type OperatorWorld} from './operator-world.ts';

/** Each test installs what the previous one found missing. Nobody touches the Domain. */
export function platformSuite(world: () => OperatorWorld): void {
  let tenant: DomainTenant;
  let host: string;

  test('a default host that needs its own certificate reports that cert-manager is missing', async () => {
    await installIngressClass(world().client);
    const early = await world().startOperator('early', {defaultHost: {tls: 'certificate'}});
    tenant = await newDomainTenant(world(), 'platform');
    host = tenant.host('shop');
    await tenant.deployedProject({primary: host});
    const {status} = await tenant.projectBecomes('shop', {Ready: 'CertManagerMissing'});
    expect(findCondition(status?.conditions, 'Ready')?.message).toContain('The platform team must install it');
    await early.stop();
    await world().client.delete(INGRESS_CLASS, {name: INGRESS_CLASS_NAME});
  });

  test('a Project reports a missing IngressClass, and a Domain a missing cert-manager', async () => {
    await world().startOperator('first');
    await tenant.projectBecomes('shop', {Ready: 'IngressClassNotFound', Deployed: 'Deployed'});
    await tenant.createRecords(host);
    await tenant.becomes(host, {state: 'Verified', Claimed: 'Claimed', CertificateReady: 'CertManagerMissing'}, [
      'cert-manager is not installed in this cluster. The platform team must install it',
    ]);
  });

  test('once cert-manager is installed, a Domain reports that the issuer is missing', async () => {
    await world().certManager.installCrds();
    await world().certManager.start();
    await tenant.becomes(host, {state: 'Verified', CertificateReady: 'IssuerNotFound', Ready: 'IssuerNotFound'}, [
      'there is no ClusterIssuer integration',
    ]);
    expect(tenant.certificate(host)).toBeUndefined();
  });

  test('once the issuer is there, the certificate is issued and the IngressClass is what is missing', async () => {
    await world().certManager.installIssuer();
    const want = {state: 'Verified', CertificateReady: 'Issued', Routed: 'IngressClassNotFound'} as const;
    await tenant.becomes(host, want, ["The platform's IngressClass integration is missing"]);
    expect(tenant.world.history.list(DOMAIN, tenant.namespace)).toHaveLength(1);
  });

  test('once the IngressClass is there, the Project is published and the Domain live', async () => {
    await installIngressClass(world().client);
    await tenant.becomesLive(host);
    await tenant.projectBecomes('shop', {Ready: 'Published', DomainsReady: 'AllLive'});
  });

  test('an IngressClass that is deleted is one warning of the operator: routed hosts keep their state, new ones wait', async () => {
    const operator = world().operator();
    const isNamed = async () => (await operator.readiness()).includes(`IngressClass ${INGRESS_CLASS_NAME} is missing`);
    expect([await isNamed(), await operator.metric('nameplate_edge_usable')]).toEqual([false, 1]);
    await world().client.delete(INGRESS_CLASS, {name: INGRESS_CLASS_NAME});
    await until('the operator reports it', isNamed);
    expect(await operator.metric('nameplate_edge_usable')).toBe(0);
    const young = tenant.host('young');
    await tenant.apply(young);
    await tenant.createRecords(young);
    await tenant.becomes(young, {state: 'Verified', Routed: 'IngressClassNotFound'});
    await tenant.verify(host, 'after the deletion'); // a reconcile of the routed host
    await tenant.becomes(host, {state: 'Live', Routed: 'Serving', Ready: 'Live'});
    await tenant.projectBecomes('shop', {Ready: 'Published'});
    await installIngressClass(world().client);
    await tenant.becomesLive(young);
  });
}
