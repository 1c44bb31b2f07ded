/** Hosts that the CA validates over DNS, with the answers of the platform's own name server. */
import {expect, it} from 'vitest';
import {failuresOf} from '../support/http.ts';
import {cluster, newClusterTenant, visitor} from './world.ts';

/**
 * Envoy Gateway does not order its updates, so for milliseconds, Envoy may have the listener of a host that switches
 * without its route or backend.
 */
function isOfSwitch(failure: string, host: string): boolean {
  return cluster.info.edge === 'gateway' && [404, 503].some(status => failure === `https://${host}/: ${status}`);
}

export function servingWildcards(): void {
  it('a wildcard serves each name below it, except the specific host of another account while that exists', async () => {
    const [holder, other] = await Promise.all([newClusterTenant('wild'), newClusterTenant('specific')]);
    await other.deploy('other');
    const [wildcard, one, own] = [holder.host('*'), holder.host('one'), holder.host('own')];
    await holder.applyProject({aliases: [wildcard]});
    await holder.createRecords(wildcard);
    await holder.sees(wildcard, {
      state: 'Live',
      DNSVerified: 'Verified',
      Claimed: 'Claimed',
      CertificateReady: 'Issued',
    });
    for (const host of [one, own]) {
      await visitor.untilServed(host);
      const answer = await visitor.request(`https://${host}/`);
      expect(answer).toMatchObject({status: 200, certificate: {names: `DNS:${wildcard}`}});
      expect(answer.body).toContain('text=web');
    }
    const observed = visitor.observe(`https://${one}/`, `https://${own}/`);
    await other.goLive({primary: own}, {service: 'other'});
    const specific = await visitor.untilAnswer(`https://${own}/`, ({body}) => body.includes('text=other'));
    expect(specific.certificate?.names).toBe(`DNS:${own}`);
    expect((await visitor.request(`https://${one}/`)).body).toContain('text=web');
    await other.applyProject(undefined);
    await other.seesNothingOf(own);
    const again = await visitor.untilAnswer(`https://${own}/`, ({body}) => body.includes('text=web'));
    expect(again.certificate?.names).toBe(`DNS:${wildcard}`);
    expect(failuresOf(await observed.stop()).filter(failure => !isOfSwitch(failure, own))).toEqual([]);
    await holder.applyProject(undefined);
    await holder.seesNothingOf(wildcard);
    await visitor.untilGone(one);
  });

  it('an apex goes live by the delegated challenge instead of a TXT record', async () => {
    const tenant = await newClusterTenant('delegated');
    const apex = tenant.zone;
    await tenant.applyProject({primary: apex});
    const instead = (await tenant.records(apex)).find(({insteadOf}) => insteadOf === 'TXT');
    expect(instead).toMatchObject({type: 'CNAME', name: `_acme-challenge.${apex}`});
    await tenant.createRecords(apex, type => type === 'ALIAS');
    await tenant.sees(apex, {state: 'Unverified', DNSVerified: 'ProofMissing'});
    await cluster.zones.set(instead?.name ?? '', 'CNAME', instead?.value ?? '');
    await tenant.sees(apex, {state: 'Live'});
    await visitor.untilServed(apex);
    expect((await visitor.request(`https://${apex}/`)).certificate?.names).toBe(`DNS:${apex}`);
  });
}
