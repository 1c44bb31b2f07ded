/** What affects the whole world, one test after another: silent DNS, restarts, a dead operator, a wiped status. */
import {expect, test} from 'vitest';
import {findCondition} from '../../../src/api/conditions.ts';
import {ANNOTATION} from '../../../src/api/names.ts';
import {routeName} from '../../../src/operator/kinds/derived-names.ts';
import * as kinds from '../../../src/operator/kinds/kinds.ts';
import {LEASE} from '../../../src/runtime/kube/leader-election.ts';
import type {ResourceType} from '../../../src/runtime/kube/object.ts';
import {until} from '../../cluster/wait.ts';
import {RELEASE} from '../../support/install.ts';
import type {OperatorProcess} from '../../support/operator-process.ts';
import {type DomainTenant, newDomainTenant, newLiveTenant} from './domain-tenant.ts';
import {askLiar, certify, refuse} from './lying-issuer.ts';
import type {OperatorWorld} from './operator-world.ts';

export function disturbanceSuite(world: () => OperatorWorld): void {
  test('a new process comes to the conclusions of the one before: no change went unnoticed', async () => {
    await quiet(world());
    const before = conclusions(world());
    await restart(world(), 'second');
    await quiet(world());
    expect(conclusions(world())).toEqual(before);
    expect(before.size).toBeGreaterThan(50);
  });

  test('a steady state writes nothing', async () => {
    expect(await writesInOneRound(world())).toEqual([]);
  });

  test('a restart writes nothing', async () => {
    const before = (await world().audit.writes()).length;
    expect(await restart(world(), 'third')).toBe(0);
    await until('it has reconciled everything', () => hasSettled(world()));
    expect(shown(await world().audit.writes()).slice(before)).toEqual([]);
  });

  test('the summary of a Project, which changes with each of its Domains, triggers none of them', async () => {
    const tenant = await newDomainTenant(world(), 'summary', {plan: 'free'});
    const hosts = Array.from({length: 40}, (_, n) => tenant.host(`h${n}`));
    await tenant.deployedProject({aliases: hosts});
    await Promise.all(hosts.map(host => tenant.becomes(host, {state: 'Blocked', Accepted: 'PlanRequired'})));
    await quiet(world());
    const calls = (controller: string) => world().operator().metric('workqueue_adds_total', {name: controller});
    const counted = async () => Promise.all(['domain', 'managed-domain'].map(calls));
    const before = await counted();
    const key = {namespace: tenant.namespace, name: 'shop'};
    const wipe = {status: {conditions: null}};
    const wiped = await world().client.patch(kinds.PROJECT, key, wipe, {subresource: 'status'});
    await tenant.until('it is summarized again', () => {
      const {metadata, status} = tenant.get(kinds.PROJECT, 'shop') ?? {};
      const isLater = Number(metadata?.resourceVersion) > Number(wiped.metadata.resourceVersion);
      return isLater && status?.conditions !== undefined;
    });
    const after = await counted();
    expect(Math.min(...before)).toBeGreaterThan(0);
    expect(Math.max(...after.map((now, n) => now - (before[n] ?? 0)))).toBeLessThan(hosts.length / 2);
    await tenant.project();
    await tenant.until('its Domains are gone', () => hosts.every(host => tenant.domain(host) === undefined));
  });

  test('the Issuer of one tenant triggers no Domain of another', async () => {
    const [tenant, other] = [await newDomainTenant(world(), 'issuing'), await newDomainTenant(world(), 'issuer')];
    const hosts = Array.from({length: 20}, (_, n) => tenant.host(`h${n}`));
    const approvals = world().certManager.approvals();
    for (const host of hosts) approvals.hold(host);
    await tenant.deployedProject({aliases: hosts});
    await Promise.all(hosts.map(host => tenant.createRecords(host)));
    await Promise.all(hosts.map(host => tenant.becomes(host, {CertificateReady: 'Issuing'})));
    await quiet(world());
    const added = () => world().operator().metric('workqueue_adds_total', {name: 'domain'});
    const before = await added();
    const key = {namespace: other.namespace, name: 'own'};
    const issuer = {apiVersion: 'cert-manager.io/v1', kind: 'Issuer', metadata: key, spec: {ca: {secretName: 'none'}}};
    await world().client.apply(kinds.ISSUER, issuer);
    const isJudged = async () => (await world().client.get(kinds.ISSUER, key))?.status?.conditions?.length;
    await until('cert-manager has judged the Issuer', isJudged);
    await world().client.patch(kinds.ISSUER, key, {metadata: {labels: {team: 'mine'}}});
    await other.deployedProject({primary: other.host('shop')});
    await other.live(other.host('shop')); // after the events of the Issuer
    expect((await added()) - before).toBeLessThan(2 * hosts.length);
    await other.delete(kinds.ISSUER, key.name);
    for (const host of hosts) await approvals.approve(host);
    await Promise.all(hosts.map(host => tenant.becomesLive(host)));
  });

  test('name servers that do not answer demote nothing, and a verify request waits for its attempt', async () => {
    const tenant = await newDomainTenant(world(), 'silence');
    const host = tenant.host('shop');
    await tenant.deployedProject({primary: host});
    const since = Number((await tenant.live(host)).metadata.resourceVersion);
    const before = states(world());
    world().dns.silence();
    try {
      await tenant.annotate(kinds.DOMAIN, host, {[ANNOTATION.verifyRequestedAt]: 'in the silence'});
      await tenant.until('the silence is seen', () => Number(tenant.domain(host)?.metadata.resourceVersion) > since);
    } finally {
      world().dns.speak();
    }
    await tenant.verify(host, 'after it');
    const later = world()
      .history.versions(kinds.DOMAIN)
      .filter(({at}) => at > since);
    for (const {key, object} of later) expect(`${key} ${object.status?.state}`).toBe(`${key} ${before.get(key)}`);
  });

  // promise: outage
  test('changes during an operator outage are caught up on, and no existing route is interrupted', async () => {
    const [gone, orphan, edited, restored] = await Promise.all(
      ['gone', 'orphan', 'edited', 'restored'].map(name => newDomainTenant(world(), name)),
    );
    if (!gone || !orphan || !edited || !restored) throw new Error('four tenants');
    const host = (tenant: DomainTenant) => tenant.host('shop');
    const www = restored.host('www');
    for (const tenant of [gone, edited]) await tenant.deployedProject({primary: host(tenant)});
    await orphan.deployedProject();
    await orphan.apply(host(orphan));
    await restored.deployedProject({primary: host(restored), aliases: [restored.zone], redirects: [{from: www}]});
    await Promise.all([gone, orphan, edited, restored].map(tenant => tenant.live(host(tenant))));
    await Promise.all([restored.live(restored.zone), restored.live(www)]);
    await quiet(world());
    const hosts = [host(restored), restored.zone, www];
    const requests = hosts.map(each => restored.certificateRequests(each));

    await world().operator().kill();
    const wiped = await wipe(restored, hosts);
    await world().client.delete(kinds.NAMESPACE, {name: gone.namespace});
    await orphan.world.client.delete(
      kinds.DOMAIN,
      {namespace: orphan.namespace, name: host(orphan)},
      {propagationPolicy: 'Orphan'},
    );
    await edited.project();
    const isGone = () => !world().history.get(kinds.NAMESPACE, gone.namespace) && !orphan.domain(host(orphan));
    await until('the namespace and the Domain are deleted without an operator', isGone);
    expect(orphan.ingress(host(orphan)), 'nobody has swept yet').toBeDefined();

    await world().startOperator('successor');
    for (const tenant of [gone, orphan, edited]) {
      await tenant.until(`${host(tenant)} is released`, () => tenant.claim(host(tenant))?.spec.releasedAt);
      expect(tenant.ingress(host(tenant))).toBeUndefined();
      await tenant.until('the certificate is gone', () => tenant.certificate(host(tenant)) === undefined);
    }
    for (const each of hosts) {
      await restored.becomes(each, {state: 'Live', Claimed: 'Claimed', Ready: 'Live'});
      const seen = restored.trace(each).filter(({at, resource}) => at > wiped && resource !== kinds.DOMAIN_CLAIM);
      expect(seen.map(({type, resource}) => `${type} ${resource.kind}`)).toEqual([]);
      expect(restored.claim(each)?.spec.namespace).toBe(restored.namespace);
    }
    expect(hosts.map(each => restored.certificateRequests(each))).toEqual(requests);
  });

  test('status and claims wiped while the operator runs: nothing blinks either', async () => {
    const {tenant, host} = await newLiveTenant(world(), 'wiped');
    const requests = tenant.certificateRequests(host);
    const wiped = await wipe(tenant, [host]);
    await tenant.until('the host is claimed again', () => tenant.claim(host));
    await tenant.becomesLive(host);
    const seen = tenant.trace(host).filter(({at, resource}) => at > wiped && resource !== kinds.DOMAIN_CLAIM);
    expect(seen).toEqual([]);
    expect(tenant.certificateRequests(host)).toEqual(requests);
  });

  test('a standby takes over from a killed leader', async () => {
    const leader = world().operator();
    const standby = await world().startOperator('standby');
    const leads = (operator: OperatorProcess) => operator.metric('leader_election_master_status');
    expect([await leads(leader), await leads(standby)]).toEqual([1, 0]);
    await leader.kill();
    const tenant = await newDomainTenant(world(), 'handover');
    const host = tenant.host('shop');
    await tenant.deployedProject({primary: host});
    await until('the standby leads', async () => (await leads(standby)) === 1);
    await tenant.live(host);
  });

  test('a leader that stops hands over immediately; what is no longer needed is removed later', async () => {
    await world().operator().stop();
    const certificates = {...(world().config.certificates as object), secretRetentionSeconds: 1};
    const changes = {certificates, claims: {lingerSeconds: 1}, defaultHost: {tls: 'certificate'}};
    const lease = await world().client.get(LEASE, {namespace: RELEASE.namespace, name: RELEASE.name});
    expect(lease?.spec?.holderIdentity ?? '', 'the lease is given back').toBe('');
    await world().startOperator('impatient', changes);
    const released = () =>
      world()
        .history.list(kinds.DOMAIN_CLAIM)
        .filter(({spec}) => spec.releasedAt !== undefined);
    await until('the released claims are gone', () => released().length === 0);
    const retained = () =>
      world()
        .history.list(kinds.SECRET)
        .filter(({metadata}) => metadata.annotations?.[ANNOTATION.retainedSince]);
    await until('the retained Secrets are gone', () => retained().length === 0);
    for (const {metadata, status} of world().history.list(kinds.DOMAIN)) {
      const {namespace = '', name} = metadata;
      const secret = world().history.get(kinds.SECRET, `${namespace}/${routeName(namespace, name)}`);
      if (status?.state === 'Live') expect(secret, name).toBeDefined();
    }
  });

  test("a default host with its own certificate, but not with one that names another tenant's host", async () => {
    const tenant = await newDomainTenant(world(), 'own', {plan: 'free'});
    await tenant.deployedProject();
    const {status} = await tenant.projectBecomes('shop', {Ready: 'Published'});
    const host = status?.defaultHost ?? '';
    const name = routeName(tenant.namespace, host);
    expect(tenant.ingress(host)?.spec.tls).toEqual([{hosts: [host], secretName: name}]);
    expect(tenant.certificate(host)?.spec.dnsNames).toEqual([host]);

    await askLiar(tenant, host);
    // A renewal can start only when no issuance is in progress. cert-manager may have begun a second one by mistake.
    const isIssuing = () => findCondition(tenant.certificate(host)?.status?.conditions, 'Issuing')?.status === 'True';
    const readiness = () => findCondition(tenant.get(kinds.PROJECT, 'shop')?.status?.conditions, 'Ready')?.reason;
    const isWithdrawn = () => tenant.ingress(host) === undefined && readiness() === 'CertificateNotReady';
    await certify(tenant, host, ['DNS:victim.test'], () => isWithdrawn() && !isIssuing());
    await tenant.renew(host);
    const isPublished = () => readiness() === 'Published' && !isIssuing();
    await certify(tenant, host, [`DNS:${host}`], isPublished);
    await tenant.until('its route exists', () => tenant.ingress(host));
    expect(tenant.ingress(host)?.spec.tls).toEqual([{hosts: [host], secretName: name}]);

    await tenant.delete(kinds.SECRET, name);
    const failed = () => readiness() === 'CertificateFailed';
    await refuse(tenant, host, 'not today', failed);
    const {message} = findCondition(tenant.get(kinds.PROJECT, 'shop')?.status?.conditions, 'Ready') ?? {};
    expect(message).toMatch(/not today\. The next attempt is at .*: cmctl renew /);
    await tenant.renew(host);
    await certify(tenant, host, [`DNS:${host}`], isPublished);
  });
}

/** Deletes status and claims, as if they were missing after a restore. Returns the last resourceVersion before that. */
async function wipe(tenant: DomainTenant, hosts: readonly string[]): Promise<number> {
  const {client, history} = tenant.world;
  const all: ResourceType[] = [kinds.INGRESS, kinds.DOMAIN, kinds.CERTIFICATE, kinds.SECRET];
  const last = Math.max(...all.flatMap(kind => history.versions(kind)).map(({at}) => at));
  for (const name of hosts) {
    await client.patch(kinds.DOMAIN, {namespace: tenant.namespace, name}, {status: null}, {subresource: 'status'});
    await client.delete(kinds.DOMAIN_CLAIM, {name});
  }
  return last;
}

function states(world: OperatorWorld): Map<string, string | undefined> {
  const domains = world.history.list(kinds.DOMAIN);
  return new Map(domains.map(({metadata, status}) => [`${metadata.namespace}/${metadata.name}`, status?.state]));
}

/** The outcome for each object, without the parts that only time changes. */
function conclusions({history}: OperatorWorld): Map<string, string> {
  const objects = [...history.list(kinds.DOMAIN), ...history.list(kinds.PROJECT)];
  return new Map(
    objects.map(({kind, metadata, status}) => {
      const steps = (status?.conditions ?? []).filter(({type}) => type !== 'Reconciling' && type !== 'Stalled');
      const shown = steps.map(({type, status: state, reason}) => `${type} ${state} ${reason}`);
      return [`${kind} ${metadata.namespace}/${metadata.name}`, shown.join(', ')];
    }),
  );
}

/** Restarts the operator with SIGTERM. Returns the exit code of the stopped process. */
async function restart(world: OperatorWorld, name: string): Promise<number | string> {
  const stopped = world.operator();
  await stopped.stop();
  await world.startOperator(name);
  return stopped.exited;
}

/**
 * Whether the queues are empty, and every watched name has been checked since the process started, most of them twice.
 */
async function hasSettled(world: OperatorWorld): Promise<boolean> {
  const verdicts = await world.operator().metric('nameplate_dns_verdicts_total');
  const depth = await world.operator().metric('workqueue_depth');
  return depth === 0 && verdicts >= 1.5 * world.history.list(kinds.DOMAIN).length;
}

/** The writes while every watched name is checked, most of them twice. */
async function writesInOneRound(world: OperatorWorld): Promise<string[]> {
  const before = (await world.audit.writes()).length;
  const verdicts = () => world.operator().metric('nameplate_dns_verdicts_total');
  const enough = (await verdicts()) + 1.5 * world.history.list(kinds.DOMAIN).length;
  await until('a round of checks has passed', async () => (await verdicts()) >= enough);
  return shown(await world.audit.writes()).slice(before);
}

/** Waits until the operator writes nothing for a round of checks. */
export async function quiet(world: OperatorWorld): Promise<void> {
  await until('nothing is written anymore', async () => (await writesInOneRound(world)).length === 0);
}

function shown(writes: Awaited<ReturnType<OperatorWorld['audit']['writes']>>): string[] {
  return writes.map(({verb, objectRef: {resource, namespace, name, subresource} = {resource: ''}}) =>
    [verb, resource, subresource, `${namespace ?? ''}/${name ?? ''}`].filter(Boolean).join(' '),
  );
}
