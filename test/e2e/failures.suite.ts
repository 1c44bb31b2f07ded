/** A test for each failure that a domain must survive. */
import {expect, it} from 'vitest';
import {findCondition} from '../../src/api/conditions.ts';
import {cluster, hideFromCa, newClusterTenant, showToCa, visitor} from './world.ts';

interface WrongRecord {
  readonly name: string;
  readonly type: string;
  readonly value: string;
  readonly reason: string;
  readonly says: string;
}

const WRONG_RECORDS: readonly WrongRecord[] = [
  {
    name: "another account's CNAME",
    type: 'CNAME',
    value: 'aaaaaaaaaaaaaaaaaaaa.edge.nameplate.test',
    reason: 'RecordMismatch',
    says: 'aaaaaaaaaaaaaaaaaaaa.edge.nameplate.test',
  },
  {
    name: 'an A record in the way of the CNAME',
    type: 'A',
    value: '192.0.2.7',
    reason: 'ConflictingRecord',
    says: '192.0.2.7',
  },
];

export function verificationKeepsFailing(): void {
  for (const {name, type, value, reason, says} of WRONG_RECORDS) {
    it(`${name} keeps a domain unverified, verify reports why, and the correct record fixes it`, async () => {
      const tenant = await newClusterTenant(reason === 'RecordMismatch' ? 'mismatch' : 'conflict');
      const host = tenant.host('shop');
      await cluster.zones.set(host, type, value);
      await tenant.applyProject({primary: host});
      const failed = await tenant.sees(host, {state: 'Unverified', DNSVerified: reason, Ready: reason, says});
      expect(failed.status?.dns?.observed).toContainEqual(expect.objectContaining({type, name: host}));
      await tenant.reverify(host);
      await tenant.sees(host, {state: 'Unverified', DNSVerified: reason});
      await cluster.zones.remove(host);
      await tenant.createRecords(host);
      await tenant.sees(host, {state: 'Live'});
    });
  }
}

export function certificateNotProvisioning(): void {
  it('a verified domain falls back when its record goes before the certificate is there', async () => {
    const tenant = await newClusterTenant('fallback');
    const host = tenant.host('shop');
    await hideFromCa(host);
    await tenant.applyProject({primary: host});
    await tenant.createRecords(host);
    await tenant.sees(host, {state: 'Verified', CertificateReady: 'Failed'});
    await cluster.zones.remove(host);
    await tenant.sees(host, {state: 'Unverified', DNSVerified: 'RecordMissing'});
    await showToCa(host);
    await tenant.createRecords(host);
    await tenant.reverify(host);
    await tenant.sees(host, {state: 'Live'});
  });

  it('a CAA record that forbids issuance is named, nothing is ordered, and a verify request continues once it is gone', async () => {
    const tenant = await newClusterTenant('caa');
    const host = tenant.host('shop');
    await cluster.zones.set(tenant.zone, 'CAA', '0 issue "other-ca.test"');
    await tenant.applyProject({primary: host});
    await tenant.createRecords(host);
    const says = 'issue "other-ca.test"';
    await tenant.sees(host, {state: 'Verified', CAAAllowed: 'Forbidden', Ready: 'Forbidden', says});
    expect(await tenant.certificate(host)).toBeUndefined();
    await cluster.zones.remove(tenant.zone, 'CAA');
    await tenant.reverify(host);
    await tenant.sees(host, {state: 'Live', CAAAllowed: 'Allowed'});
  });

  it('a certificate that the CA refused comes by re-verify, before the pause ends', async () => {
    const tenant = await newClusterTenant('refused');
    const host = tenant.host('shop');
    await hideFromCa(host);
    await tenant.applyProject({primary: host});
    await tenant.createRecords(host);
    const {status} = await tenant.sees(host, {state: 'Verified', CertificateReady: 'Failed', Ready: 'Failed'});
    const failedAt = findCondition(status?.conditions, 'CertificateReady')?.lastTransitionTime ?? '';
    const pauseMs = Date.parse(status?.certificate?.nextAttemptAt ?? '') - Date.parse(failedAt);
    expect(pauseMs).toBeGreaterThan(30_000);
    await showToCa(host);
    await tenant.reverify(host);
    await tenant.sees(host, {state: 'Live'});
  });
}

export function privateConnectionWarning(): void {
  it('before its certificate a host is not routed, and the default certificate is shown', async () => {
    const tenant = await newClusterTenant('private');
    const host = tenant.host('shop');
    await hideFromCa(host);
    await tenant.applyProject({primary: host});
    await tenant.createRecords(host);
    await tenant.sees(host, {state: 'Verified', CertificateReady: 'Failed', Routed: 'Waiting'});
    expect(await tenant.routes(host)).toEqual([]);
    await expect(visitor.request(`https://${host}/`)).rejects.toThrow(/does not match certificate's altnames/);
    const shown = await visitor.request(`https://${host}/`, {anyCertificate: true});
    expect(shown).toMatchObject({status: 404, certificate: {names: 'DNS:*.apps.nameplate.test'}});
    expect(await visitor.request(`http://${host}/`)).toMatchObject({status: 301, location: `https://${host}/`});
    await showToCa(host);
    await tenant.reverify(host);
    await tenant.sees(host, {state: 'Live'});
    const answer = await visitor.untilAnswer(`https://${host}/`, ({status}) => status === 200);
    expect(answer.certificate?.names).toBe(`DNS:${host}`);
  });
}

export function redirectsBreak(): void {
  it('a redirect takes one hop from http and https, and keeps path and query', async () => {
    const tenant = await newClusterTenant('redirect');
    const [host, old, other] = [tenant.host('shop'), tenant.host('old'), tenant.host('other')];
    await tenant.goLive({primary: host, redirects: [{from: old}, {from: other, to: host, status: 302}]});
    for (const scheme of ['http', 'https']) {
      const location = `https://${host}/a/b?c=d&e=%2F`;
      expect(await visitor.request(`${scheme}://${old}/a/b?c=d&e=%2F`)).toMatchObject({status: 301, location});
      expect(await visitor.request(`${scheme}://${other}/a/b?c=d&e=%2F`)).toMatchObject({status: 302, location});
      expect((await visitor.visit(`${scheme}://${old}/a/b?c=d&e=%2F`)).answers).toHaveLength(2);
    }
  });

  it('a chain of redirects is collapsed to one hop', async () => {
    const tenant = await newClusterTenant('chain');
    const [first, second, host] = [tenant.host('first'), tenant.host('second'), tenant.host('shop')];
    await tenant.goLive({
      primary: host,
      redirects: [
        {from: first, to: second},
        {from: second, to: host},
      ],
    });
    for (const scheme of ['http', 'https']) {
      const location = `https://${host}/x?y=z`;
      expect(await visitor.request(`${scheme}://${first}/x?y=z`)).toMatchObject({status: 301, location});
    }
  });

  it('a loop is refused and never published', async () => {
    const tenant = await newClusterTenant('loop');
    const [host, one, two] = [tenant.host('shop'), tenant.host('one'), tenant.host('two')];
    await tenant.goLive({primary: host});
    await tenant.applyProject({
      primary: host,
      redirects: [
        {from: one, to: two},
        {from: two, to: one},
      ],
    });
    for (const looping of [one, two]) {
      const says = `${one} -> ${two}`;
      await tenant.sees(looping, {state: 'Blocked', Accepted: 'RedirectLoop', Stalled: 'RedirectLoop', says});
      expect(await tenant.routes(looping)).toEqual([]);
    }
    expect(await visitor.request(`https://${host}/`)).toMatchObject({status: 200});
  });

  it('a redirect waits until its target is live', async () => {
    const tenant = await newClusterTenant('target');
    const [host, old] = [tenant.host('shop'), tenant.host('old')];
    await tenant.applyProject({primary: host, redirects: [{from: old}]});
    await tenant.createRecords(old);
    await tenant.sees(old, {state: 'Verified', CertificateReady: 'Issued', Routed: 'TargetNotLive'});
    expect(await tenant.routes(old)).toEqual([]);
    await tenant.createRecords(host);
    await tenant.sees(old, {state: 'Live', Routed: 'Redirecting'});
    await visitor.untilServed(old);
    expect(await visitor.visit(`http://${old}/`)).toMatchObject({last: {status: 200}});
  });
}
