/** Two accounts that want the same host. */
import {expect, it} from 'vitest';
import type {ClusterTenant} from '../support/cluster-tenant.ts';
import {cluster, newClusterTenant, visitor} from './world.ts';

export function racing(): void {
  it('if two namespaces add a host together, the one that its CNAME names gets it, whichever came first', async () => {
    const [loser, winner] = await Promise.all([newClusterTenant('race-a'), newClusterTenant('race-b')]);
    const host = loser.host('shop');
    await Promise.all([loser.applyProject({primary: host}), winner.applyProject({primary: host})]);
    await winner.createRecords(host);
    await winner.sees(host, {state: 'Live'});
    const says = `${host} CNAME ${await targetOf(loser, host)}`;
    await loser.sees(host, {state: 'Unverified', Claimed: 'HeldByAnotherAccount', says});
    expect(await loser.routes(host)).toEqual([]);
    expect(await loser.certificate(host)).toBeUndefined();
  });

  it('if two namespaces both have a proof for an apex, exactly one holds it', async () => {
    const tenants = await Promise.all([newClusterTenant('both-a'), newClusterTenant('both-b')]);
    const host = tenants[0].zone;
    await Promise.all(tenants.map(tenant => tenant.applyProject({primary: host})));
    const records = (await Promise.all(tenants.map(tenant => tenant.records(host)))).flat();
    const proofs = records.flatMap(({type, name, value}) => (type === 'TXT' ? [{name, value}] : []));
    expect(new Set(proofs.map(({value}) => value)).size).toBe(2);
    await cluster.zones.set(
      `_nameplate.${host}`,
      'TXT',
      proofs.map(({value}) => value),
    );
    await cluster.zones.set(host, 'A', cluster.info.ingress.address);
    const winner = await Promise.any(tenants.map(tenant => tenant.sees(host, {state: 'Live'}).then(() => tenant)));
    const loser = tenants.find(tenant => tenant !== winner);
    const stale = proofs[winner === tenants[0] ? 0 : 1]?.value;
    await loser?.sees(host, {Claimed: 'HeldByAnotherAccount', says: `delete the TXT record "${stale}"`});
    expect(await loser?.routes(host)).toEqual([]);
  });

  it('a host moves to the account that its CNAME is changed to', async () => {
    const [from, to] = await Promise.all([newClusterTenant('move-a'), newClusterTenant('move-b')]);
    const host = from.host('shop');
    await to.deploy('new');
    await from.goLive({primary: host});
    await to.applyProject({primary: host}, {service: 'new'});
    const says = `change its DNS to ${host} CNAME ${await targetOf(to, host)}`;
    await to.sees(host, {Claimed: 'HeldByAnotherAccount', Ready: 'HeldByAnotherAccount', says});
    await to.createRecords(host);
    await to.sees(host, {state: 'Live'});
    await visitor.untilAnswer(`https://${host}/`, ({status, body}) => status === 200 && body.includes('text=new'));
    await from.sees(host, {state: 'Unverified', Claimed: 'HeldByAnotherAccount'});
    expect(await from.routes(host)).toEqual([]);
  });
}

async function targetOf(tenant: ClusterTenant, host: string): Promise<string | undefined> {
  return (await tenant.records(host)).find(({type}) => type === 'CNAME')?.value;
}
