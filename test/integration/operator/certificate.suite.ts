import {expect, test} from 'vitest';
import {findCondition} from '../../../src/api/conditions.ts';
import {ANNOTATION} from '../../../src/api/names.ts';
import {CERTIFICATE} from '../../../src/operator/kinds/kinds.ts';
import {type DomainTenant, newDomainTenant, newLiveTenant} from './domain-tenant.ts';
import {askLiar, certify} from './lying-issuer.ts';
import {CA_IDENTITY, type OperatorWorld} from './operator-world.ts';

export function certificateSuite(world: () => OperatorWorld): void {
  test('a CAA record that forbids issuance is named, and nothing is ordered; once it is gone, a verify request continues', async () => {
    const tenant = await newDomainTenant(world(), 'caa');
    const host = tenant.host('shop');
    await world().dns.set(tenant.zone, 'CAA', ['0 issue "other.example"']);
    await tenant.deployedProject({primary: host});
    await tenant.createRecords(host);
    const want = {state: 'Verified', CAAAllowed: 'Forbidden', CertificateReady: 'Waiting', Ready: 'Forbidden'} as const;
    await tenant.becomes(host, want, ['other.example', CA_IDENTITY]);
    expect(tenant.certificate(host)).toBeUndefined();
    await world().dns.set(tenant.zone, 'CAA', [`0 issue "${CA_IDENTITY}"`]);
    await tenant.verify(host, 'fixed');
    await tenant.becomesLive(host);
  });

  test('a refused certificate is reported with the next attempt, and a verify request starts a new one now', async () => {
    const tenant = await newDomainTenant(world(), 'refused');
    const host = tenant.host('shop');
    const approvals = world().certManager.approvals();
    approvals.refuse(host);
    await tenant.deployedProject({primary: host});
    await tenant.createRecords(host);
    const failed = await tenant.becomes(host, {state: 'Verified', CertificateReady: 'Failed', Ready: 'Failed'}, [
      'No certificate was issued',
      'The next attempt is at',
      `kubectl annotate --overwrite domain -n ${tenant.namespace} ${host} ${ANNOTATION.verifyRequestedAt}=`,
    ]);
    const lastFailure = Date.parse(tenant.certificate(host)?.status?.lastFailureTime ?? '');
    expect(Date.parse(failed.status?.certificate?.nextAttemptAt ?? '')).toBe(lastFailure + 3_600_000);
    await tenant.until('the failure is on the claim', () => failuresOn(tenant, host));
    expect(tenant.ingress(host)).toBeUndefined();

    await approvals.approve(host);
    await tenant.verify(host, 'fixed');
    const live = await tenant.becomesLive(host);
    expect(tenant.certificateRequests(host).length).toBeGreaterThan(1);
    expect(live.status?.certificate?.nextAttemptAt).toBeUndefined();
  });

  // attack: ca-limits
  test('removing a host and adding it again bypasses no backoff; a verify request makes one attempt', async () => {
    const tenant = await newDomainTenant(world(), 'readded');
    const host = tenant.host('shop');
    const approvals = world().certManager.approvals();
    approvals.refuse(host);
    await tenant.deployedProject({primary: host});
    await tenant.createRecords(host);
    await tenant.becomes(host, {CertificateReady: 'Failed'});
    const failures = await tenant.until('the failure is on the claim', () => failuresOn(tenant, host));
    const requests = tenant.certificateRequests(host);
    await tenant.project();
    await tenant.until('nothing is left but the claim', () => {
      return !tenant.domain(host) && !tenant.certificate(host) && tenant.claim(host)?.spec.releasedAt;
    });

    await tenant.project({primary: host});
    const failed = await tenant.becomes(host, {state: 'Verified', CertificateReady: 'Failed', Ready: 'Failed'}, [
      'the last attempts failed, before the host was removed and added again',
      `kubectl annotate --overwrite domain -n ${tenant.namespace} ${host} ${ANNOTATION.verifyRequestedAt}=`,
    ]);
    expect(Date.parse(failed.status?.certificate?.nextAttemptAt ?? '')).toBe(Date.parse(failures[0] ?? '') + 3_600_000);
    expect(tenant.certificate(host)).toBeUndefined();
    expect(tenant.certificateRequests(host)).toEqual(requests);

    await approvals.approve(host);
    await tenant.verify(host, 'fixed');
    await tenant.becomesLive(host);
  });

  // attack: ca-limits
  test('failed attempts of a former holder do not pause the next holder', async () => {
    const [former, next] = [await newDomainTenant(world(), 'failing'), await newDomainTenant(world(), 'unpaused')];
    const host = former.host('shop');
    const approvals = world().certManager.approvals();
    approvals.refuse(host);
    await former.deployedProject({primary: host});
    await former.createRecords(host);
    await former.becomes(host, {CertificateReady: 'Failed'});
    const failures = await former.until('the failure is on the claim', () => failuresOn(former, host));
    await approvals.approve(host);
    await next.deployedProject({primary: host});
    await next.live(host);
    const kept = expect.arrayContaining([...failures]); // cert-manager sometimes creates two requests
    expect(next.claim(host)?.spec).toMatchObject({namespace: next.namespace, failures: kept});
  });

  // attack: foreign-certificate
  test("a certificate that names another tenant's host is not presented, however the host was served before", async () => {
    const {tenant, host} = await newLiveTenant(world(), 'misnamed');
    await askLiar(tenant, host);
    const readiness = () => findCondition(tenant.domain(host)?.status?.conditions, 'CertificateReady')?.reason;
    await certify(tenant, host, [`DNS:${host}`, 'DNS:victim.test'], () => readiness() === 'WrongNames');
    await tenant.becomes(host, {state: 'Verified', CertificateReady: 'WrongNames', Routed: 'Waiting'}, [
      `Issuer liar issued a certificate for ${host},victim.test instead of for ${host} only.`,
      `kubectl annotate --overwrite domain -n ${tenant.namespace} ${host} ${ANNOTATION.verifyRequestedAt}=`,
    ]);
    await tenant.until('it is no longer routed', () => tenant.ingress(host) === undefined);

    await tenant.verify(host, 'fixed');
    await certify(tenant, host, [`DNS:${host}`], () => tenant.domain(host)?.status?.state === 'Live');
    await tenant.becomesLive(host);
  });

  test('a certificate that takes too long is Overdue, and a verify request starts a new attempt', async () => {
    const tenant = await newDomainTenant(world(), 'overdue');
    const host = tenant.host('shop');
    const approvals = world().certManager.approvals();
    approvals.hold(host);
    await tenant.deployedProject({primary: host});
    await tenant.createRecords(host);
    await tenant.becomes(host, {state: 'Verified', CertificateReady: 'Issuing'});
    const isIssuing = ({type}: {type: string}) => type === 'Issuing';
    const certificate = await tenant.until('cert-manager is working on it', () =>
      tenant.certificate(host)?.status?.conditions?.some(isIssuing) ? tenant.certificate(host) : undefined,
    );
    const longAgo = new Date(Date.now() - 31 * 60_000).toISOString().replace(/\.\d+/, '');
    const conditions = certificate.status?.conditions?.map(condition =>
      isIssuing(condition) ? {...condition, lastTransitionTime: longAgo} : condition,
    );
    const key = {namespace: tenant.namespace, name: certificate.metadata.name};
    await world().client.patch(CERTIFICATE, key, {status: {conditions}}, {subresource: 'status'});
    await tenant.becomes(host, {state: 'Verified', CertificateReady: 'Overdue', Ready: 'Overdue'}, [
      'No certificate after 30 minutes',
      'no CAA record that forbids',
      `kubectl annotate --overwrite domain -n ${tenant.namespace} ${host}`,
    ]);
    await approvals.approve(host);
    await tenant.verify(host, 'fixed');
    await tenant.becomesLive(host);
  });
}

/** The failed attempts that the host's claim remembers; undefined if there is none. */
function failuresOn(tenant: DomainTenant, host: string): readonly string[] | undefined {
  const {failures = []} = tenant.claim(host)?.spec ?? {};
  return failures.length > 0 ? failures : undefined;
}
