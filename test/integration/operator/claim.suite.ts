import {expect, test} from 'vitest';
import {LABEL} from '../../../src/api/names.ts';
import {DOMAIN, DOMAIN_CLAIM, INGRESS, PROJECT} from '../../../src/operator/kinds/kinds.ts';
import {type DomainTenant, newDomainTenant} from './domain-tenant.ts';
import {INGRESS_ADDRESS, type OperatorWorld} from './operator-world.ts';

export function claimSuite(world: () => OperatorWorld): void {
  // attack: squatting
  test('a host that another account holds is refused with the record that moves it; the record moves it', async () => {
    const [holder, other] = await tenants(world(), 'holder', 'other');
    const host = holder.host('shop');
    await holder.deployedProject({primary: host});
    await holder.live(host);
    await other.deployedProject({primary: host});
    const [record] = await other.until('its record is shown', () => other.domain(host)?.status?.dns?.required);
    await other.becomes(host, {state: 'Unverified', Claimed: 'HeldByAnotherAccount', Ready: 'HeldByAnotherAccount'}, [
      `Another account holds ${host}`,
      `${host} CNAME ${record?.value}`,
    ]);
    expect(other.certificate(host)).toBeUndefined();
    expect(other.ingress(host)).toBeUndefined();

    await other.createRecords(host);
    await other.becomesLive(host);
    await holder.becomes(host, {state: 'Unverified', Claimed: 'HeldByAnotherAccount'}, [
      'Nameplate will then move the host to this account',
    ]);
    await holder.until('the former holder has nothing left', () => !holder.ingress(host) && !holder.certificate(host));
    expect(holder.claim(host)?.spec.namespace).toBe(other.namespace);
    expect(claimsMade(world(), host)).toBe(1);
  });

  // attack: disputed-host
  test('two accounts that prove an apex at the same time: exactly one holds it, until its token is gone', async () => {
    const [one, two] = await tenants(world(), 'one', 'two');
    const host = one.zone;
    const tokens: string[] = [];
    for (const tenant of [one, two]) {
      await tenant.deployedProject({primary: host});
      const {status} = await tenant.becomes(host, {DNSVerified: 'RecordMissing'});
      tokens.push(status?.dns?.required?.find(({type}) => type === 'TXT')?.value ?? '');
    }
    await world().dns.set(`_nameplate.${host}`, 'TXT', tokens);
    await world().dns.set(host, 'A', [INGRESS_ADDRESS]);
    const holder = await one.until('one account holds it', () => one.claim(host)?.spec.namespace);
    const [winner, loser] = holder === one.namespace ? [one, two] : [two, one];
    await winner.becomesLive(host);
    const stale = tokens[winner === one ? 0 : 1] ?? '';
    await loser.becomes(host, {state: 'Unverified', DNSVerified: 'Verified', Claimed: 'HeldByAnotherAccount'}, [
      `delete the TXT record "${stale}" of _nameplate.${host}`,
    ]);
    expect(claimsMade(world(), host)).toBe(1);
    expect(loser.ingress(host)).toBeUndefined();
    expect(loser.certificate(host)).toBeUndefined();

    await world().dns.set(
      `_nameplate.${host}`,
      'TXT',
      tokens.filter(token => token !== stale),
    );
    await loser.becomesLive(host);
    await winner.becomes(host, {Claimed: 'HeldByAnotherAccount'});
    await winner.until('the former holder is not routed', () => !winner.ingress(host));
  });

  test('a host moves to another namespace of the same account once its Domain is removed', async () => {
    const account = `acme-${Date.now()}`;
    const first = await newDomainTenant(world(), 'sibling', {account});
    const second = await newDomainTenant(world(), 'sibling', {account});
    const host = first.host('shop');
    await first.deployedProject({primary: host});
    await first.live(host);
    await second.deployedProject({primary: host});
    await second.becomes(host, {state: 'Unverified', DNSVerified: 'Verified', Claimed: 'HeldByAnotherAccount'}, [
      `kubectl delete domain -n ${first.namespace} ${host}`,
    ]);
    await first.project();
    await second.becomesLive(host);
    expect(second.claim(host)?.spec).toMatchObject({account, namespace: second.namespace});
  });

  test('two Projects that list a host: the older has it, and after its end the younger, without a blink', async () => {
    const tenant = await newDomainTenant(world(), 'projects');
    const host = tenant.host('shop');
    await tenant.deployedProject({primary: host}, 'elder');
    const {metadata} = await tenant.live(host);
    const requests = tenant.certificateRequests(host);
    await tenant.becomesOlder('elder');
    await tenant.deployedProject({primary: host}, 'younger');
    await tenant.projectBecomes('younger', {DomainsReady: 'HostInOtherProject'});
    await tenant.until('both own the Domain', () => tenant.domain(host)?.metadata.ownerReferences?.length === 2);

    await tenant.delete(PROJECT, 'elder');
    await tenant.until('the younger serves the host', () => tenant.backend(host)?.selector?.app === 'younger');
    await tenant.becomesLive(host);
    await tenant.projectBecomes('younger', {DomainsReady: 'AllLive'});
    expect(tenant.domain(host)?.metadata.uid).toBe(metadata.uid);
    const gone = world()
      .history.versions(INGRESS)
      .filter(({type, key}) => type === 'DELETED' && key === keyOf(tenant, host));
    expect(gone).toEqual([]);
    expect(tenant.certificateRequests(host)).toEqual(requests);
  });

  test('a manually created Domain is not taken over; once it is deleted, the Project creates its own', async () => {
    const tenant = await newDomainTenant(world(), 'hand');
    const host = tenant.host('shop');
    await tenant.deployedProject(undefined, 'other');
    await tenant.apply(host, 'other');
    const {spec} = await tenant.becomes(host, {state: 'Unverified'});
    await tenant.deployedProject({primary: host});
    await tenant.projectBecomes('shop', {Ready: 'Published', DomainsReady: 'HostInOtherDomain'});
    expect(tenant.domain(host)?.spec).toEqual(spec);
    expect(tenant.domain(host)?.metadata.labels).toBeUndefined();
    expect(tenant.domain(host)?.metadata.ownerReferences).toBeUndefined();
    await tenant.delete(DOMAIN, host);
    const managed = () => tenant.domain(host)?.metadata.labels?.[LABEL.managed] === 'true';
    await tenant.until('the Project has its own Domain', managed);
    await tenant.becomes(host, {Accepted: 'Accepted'});
  });

  test('a managed Domain that is deleted or edited is restored from the Project', async () => {
    const tenant = await newDomainTenant(world(), 'managed');
    const host = tenant.host('shop');
    await tenant.deployedProject({primary: host});
    const {metadata} = await tenant.becomes(host, {state: 'Unverified'});
    await world().client.patch(DOMAIN, {namespace: tenant.namespace, name: host}, {spec: {projectRef: {name: 'evil'}}});
    await tenant.seesOwnWrites();
    await tenant.until('the edit is reverted', () => tenant.domain(host)?.spec.projectRef.name === 'shop');
    await tenant.delete(DOMAIN, host);
    const again = () => (tenant.domain(host)?.metadata.uid ?? metadata.uid) !== metadata.uid;
    await tenant.until('the Domain is back', again);
  });
}

async function tenants(world: OperatorWorld, first: string, second: string): Promise<[DomainTenant, DomainTenant]> {
  return [await newDomainTenant(world, first), await newDomainTenant(world, second)];
}

function claimsMade(world: OperatorWorld, host: string): number {
  return world.history.versions(DOMAIN_CLAIM, host).filter(({type}) => type === 'ADDED').length;
}

function keyOf(tenant: DomainTenant, host: string): string {
  return `${tenant.namespace}/${tenant.ingress(host)?.metadata.name}`;
}

/** A challenge whose cleanup waits for the test. */
