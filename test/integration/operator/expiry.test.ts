/**
 * The clock and the certificate in the Secret decide whether a host is served, not what cert-manager last reported:
 * certificates that live for seconds expire while it is down, and others stay valid although it cannot replace them.
 */
import {afterAll, beforeAll, expect, test} from 'vitest';
import {findCondition, timestamp} from '../../../src/api/conditions.ts';
import {CERTIFICATE, DOMAIN, INGRESS, PROJECT} from '../../../src/operator/kinds/kinds.ts';
import {until} from '../../cluster/wait.ts';
import {type DomainTenant, newDomainTenant, newLiveTenant} from './domain-tenant.ts';
import {askLiar, certify, refuse} from './lying-issuer.ts';
import {installIngressClass, type OperatorWorld, startOperatorWorld} from './operator-world.ts';

/** Renewed after two thirds, overdue after another tenth. Each part has to last until the test has seen it. */
const LIFETIME_SECONDS = 90;

let world: OperatorWorld;

beforeAll(async () => {
  world = await startOperatorWorld();
  await world.certManager.install();
  await installIngressClass(world.client);
  await world.startOperator('operator', {defaultHost: {tls: 'certificate'}});
});
afterAll(() => world?.stop());

function conditionOf(tenant: DomainTenant, host: string, type: string) {
  return findCondition(tenant.domain(host)?.status?.conditions, type);
}

/** From now on, the host has a certificate that expires soon. Returns when. */
async function livesShortly(tenant: DomainTenant, host: string): Promise<number> {
  const before = tenant.domain(host)?.status?.certificate?.notAfter ?? '';
  await askLiar(tenant, host);
  const notAfter = () => tenant.domain(host)?.status?.certificate?.notAfter ?? before;
  await certify(tenant, host, [`DNS:${host}`], () => notAfter() < before, LIFETIME_SECONDS);
  return Date.parse(notAfter());
}

test('while cert-manager is down, a renewal that is overdue and an expiry are reported on time; its return heals all', async () => {
  const tenant = await newDomainTenant(world, 'expiring');
  const [host, redirect] = [tenant.host('shop'), tenant.host('www')];
  await tenant.deployedProject({primary: host, redirects: [{from: redirect}]});
  await tenant.live(host);
  await tenant.live(redirect);
  await tenant.projectBecomes('shop', {Ready: 'Published', DomainsReady: 'AllLive'});
  const expiresMs = await livesShortly(tenant, host);
  await world.certManager.crash();
  const overdue = await tenant.becomes(host, {state: 'Degraded', CertificateReady: 'RenewalFailing'}, [
    `still valid until ${timestamp(expiresMs)}`,
    'cert-manager has not started the renewal',
  ]);
  expect(findCondition(overdue.status?.conditions, 'Ready')).toMatchObject({status: 'True', reason: 'RenewalFailing'});

  const want = {state: 'Degraded', CertificateReady: 'Expired', Ready: 'Expired'} as const;
  const expired = await tenant.becomes(host, want, [`expired at ${timestamp(expiresMs)}`]);
  expect(messagesOf(expired)).not.toContain('usually takes');
  const at = Date.parse(findCondition(expired.status?.conditions, 'Ready')?.lastTransitionTime ?? '');
  console.info(`The expiry was reported after ${(at - expiresMs) / 1000} s`);
  expect(at).toBeGreaterThanOrEqual(expiresMs);
  await tenant.becomes(redirect, {state: 'Degraded', CertificateReady: 'Issued', Ready: 'TargetNotLive'});
  const project = await tenant.projectBecomes('shop', {Ready: 'Published', DomainsReady: 'WaitingForDomains'});
  expect(project.status?.url).toBe(`https://${project.status?.defaultHost}/`);
  expect(tenant.ingress(host)).toBeDefined();

  await world.operator().stop();
  await world.startOperator('restarted', {defaultHost: {tls: 'certificate'}});
  await tenant.verify(redirect, 'after the restart');
  expect(conditionOf(tenant, host, 'Ready')?.reason).toBe('Expired');

  await world.certManager.restart();
  await certify(tenant, host, [`DNS:${host}`], () => tenant.domain(host)?.status?.state === 'Live');
  await tenant.becomesLive(host);
  await tenant.becomesLive(redirect);
  const later = world.history.versions(DOMAIN, `${tenant.namespace}/${host}`);
  const lies = later.filter(({object: {status}}) => {
    const ready = findCondition(status?.conditions, 'Ready');
    return (
      ready?.status === 'True' &&
      Date.parse(status?.certificate?.notAfter ?? '') <= Date.parse(ready.lastTransitionTime)
    );
  });
  expect(lies).toEqual([]);
});

function messagesOf(domain: {status?: {conditions?: {message: string}[]} | undefined}): string {
  return (domain.status?.conditions ?? []).map(({message}) => message).join('\n');
}

test('the certificate of a default host expires by the clock, too', async () => {
  const {tenant, host} = await newLiveTenant(world, 'default');
  await tenant.projectBecomes('shop', {Ready: 'Published'});
  const certificates = world.history
    .list(CERTIFICATE)
    .filter(
      ({metadata}) =>
        metadata.namespace === tenant.namespace && metadata.name !== tenant.certificate(host)?.metadata.name,
    );
  const [name = ''] = certificates.map(({metadata}) => metadata.name);
  expect(certificates).toHaveLength(1);
  await world.certManager.crash();
  const inSeconds = (seconds: number) => timestamp(Date.now() + seconds * 1000);
  const dates = {notBefore: inSeconds(-80), renewalTime: inSeconds(-5), notAfter: inSeconds(30)};
  const key = {namespace: tenant.namespace, name};
  await world.client.patch(CERTIFICATE, key, {status: dates}, {subresource: 'status'});
  await tenant.projectBecomes('shop', {Ready: 'RenewalFailing'});
  const expired = await tenant.projectBecomes('shop', {Ready: 'CertificateExpired'});
  expect(findCondition(expired.status?.conditions, 'Ready')).toMatchObject({
    status: 'False',
    message: expect.stringContaining('Ask the platform team to check cert-manager'),
  });
  await world.certManager.restart(); // and reads the dates from the Secret
  await tenant.projectBecomes('shop', {Ready: 'Published'});
});

test('a valid certificate stays in use while its issuer is replaced by one that is not able, and its route is created again', async () => {
  const {tenant, host, domain} = await newLiveTenant(world, 'reissued');
  await askLiar(tenant, host);
  await tenant.until('cert-manager reports it as not ready', () => {
    return findCondition(tenant.certificate(host)?.status?.conditions, 'Ready')?.status === 'False';
  });
  await refuse(tenant, host, 'the new issuer is not able', () => {
    return conditionOf(tenant, host, 'CertificateReady')?.reason === 'RenewalFailing';
  });
  await tenant.becomes(host, {state: 'Degraded', CertificateReady: 'RenewalFailing', Ready: 'RenewalFailing'}, [
    'the new issuer is not able',
  ]);
  await tenant.delete(INGRESS, tenant.ingress(host)?.metadata.name ?? '');
  await tenant.until('the route is there again', () => tenant.ingress(host) !== undefined);
  const after = Number(domain.metadata.resourceVersion);
  const versions = world.history.versions(DOMAIN, `${tenant.namespace}/${host}`).filter(({at}) => at > after);
  const notReady = versions.filter(({object}) => findCondition(object.status?.conditions, 'Ready')?.status !== 'True');
  expect(notReady.map(({object}) => object.status?.conditions)).toEqual([]);
});

test('while cert-manager is down, the operator says so, and each host that waits; they continue once it is back', async () => {
  const operator = world.operator();
  const isUp = () => operator.metric('nameplate_dependency_up', {dependency: 'cert-manager'});
  expect(await isUp()).toBe(1);
  const waiting = await newDomainTenant(world, 'waiting');
  const host = waiting.host('shop');
  await world.certManager.crash();
  await waiting.deployedProject({primary: host});
  await waiting.createRecords(host);
  const down = await waiting.becomes(host, {state: 'Verified', CertificateReady: 'CertManagerDown'}, [
    // The cert-manager of these tests holds no elections, so it has no Lease.
    'cert-manager is not running: it has not taken up any of the Certificates',
  ]);
  expect(messagesOf(down)).not.toContain('usually takes');
  await waiting.projectBecomes('shop', {Ready: 'CertificateNotReady'});
  expect(findCondition(waiting.get(PROJECT, 'shop')?.status?.conditions, 'Ready')?.message).toContain('not running');
  expect(await isUp()).toBe(0);
  expect(await operator.readiness()).toContain('cert-manager is not running');
  expect(await operator.ready()).toBe(true);

  await world.certManager.restart();
  await waiting.becomesLive(host);
  await until('the warning is gone', async () => (await isUp()) === 1);
});
