import {expect, test} from 'vitest';
import {findCondition} from '../../../src/api/conditions.ts';
import {ANNOTATION} from '../../../src/api/names.ts';
import {hasPause} from '../../../src/operator/kinds/account.ts';
import {DOMAIN, INGRESS, NAMESPACE, PROJECT, SERVICE} from '../../../src/operator/kinds/kinds.ts';
import type {KubeObject} from '../../../src/runtime/kube/object.ts';
import {until} from '../../cluster/wait.ts';
import type {AuditEvent} from './audit.ts';
import {type DomainTenant, newDomainTenant, newLiveTenant} from './domain-tenant.ts';
import type {OperatorWorld} from './operator-world.ts';

const ENTRY_POINT = 'traefik.ingress.kubernetes.io/router.entrypoints';
/** No machine is so busy; whatever waits for a timer of the operator takes longer. */
const FAR_LATER_MS = 30_000;
const KINDS = ['Namespace', 'Project', 'Domain'] as const;

export function pauseSuite(world: () => OperatorWorld): void {
  test('a paused namespace gets nothing; once the pause ends, its host becomes live', async () => {
    const tenant = await newDomainTenant(world(), 'paused');
    const host = tenant.host('shop');
    await pause(world(), tenant, 'Namespace');
    await tenant.deployedProject({primary: host});
    const {status} = await tenant.projectBecomes('shop', {Ready: 'Paused', Deployed: 'NoReadyEndpoint'});
    expect(findCondition(status?.conditions, 'Ready')?.message).toContain(`the annotation ${ANNOTATION.paused}`);
    await tenant.apply(tenant.host('manual'));
    await tenant.createRecords(tenant.host('manual'));
    await tenant.becomes(tenant.host('manual'), {Accepted: 'NoSuccessfulDeploy'});
    expect(tenant.domain(host)).toBeUndefined();
    expect(world().history.list(INGRESS, tenant.namespace)).toEqual([]);

    await pause(world(), tenant, 'Namespace', null);
    await tenant.live(host);
    await tenant.projectBecomes('shop', {Ready: 'Published'});
  });

  test.each(KINDS)('a paused %s leaves a live host as it is, and Ready, until the pause ends', async kind => {
    const {tenant, host} = await newLiveTenant(world(), `unchanged-${kind.toLowerCase()}`);
    await pause(world(), tenant, kind);
    const {name = ''} = tenant.ingress(host)?.metadata ?? {};
    await tenant.annotate(INGRESS, name, {[ENTRY_POINT]: 'by-hand'});
    const want = {state: 'Live', Routed: 'Paused', Ready: 'Paused', Reconciling: 'Paused'} as const;
    const {status} = await tenant.becomes(host, want, ['paused and does not write the route']);
    expect(findCondition(status?.conditions, 'Ready')?.status).toBe('True');
    expect(tenant.ingress(host)?.metadata.annotations?.[ENTRY_POINT]).toBe('by-hand');

    await pause(world(), tenant, kind, null);
    await tenant.becomesLive(host);
    expect(tenant.ingress(host)?.metadata.annotations?.[ENTRY_POINT]).not.toBe('by-hand');
  });

  test('a paused redirect that has lost its Ingress for HTTPS is not Ready until the pause ends', async () => {
    const {tenant, host} = await newLiveTenant(world(), 'lost-ingress');
    const redirect = tenant.host('www');
    await tenant.project({primary: host, redirects: [{from: redirect}]});
    await tenant.live(redirect);
    await pause(world(), tenant, 'Project');
    await tenant.delete(INGRESS, tenant.ingress(redirect)?.metadata.name ?? '');
    const {status} = await tenant.becomes(redirect, {state: 'Verified', Routed: 'Paused', Ready: 'Paused'});
    expect(findCondition(status?.conditions, 'Ready')?.status).toBe('False');

    await pause(world(), tenant, 'Project', null);
    await tenant.becomesLive(redirect);
    expect(tenant.ingress(redirect)).toBeDefined();
  });

  test('a paused host whose Service of ours is gone is not Ready until the pause ends', async () => {
    const {tenant, host} = await newLiveTenant(world(), 'lost-backend');
    await pause(world(), tenant, 'Project');
    await tenant.delete(SERVICE, tenant.backendName(host));
    const {status} = await tenant.becomes(host, {state: 'Verified', Routed: 'Paused', Ready: 'Paused'});
    expect(findCondition(status?.conditions, 'Ready')?.status).toBe('False');

    await pause(world(), tenant, 'Project', null);
    await tenant.becomesLive(host);
    expect(tenant.backend(host)).toBeDefined();
  });

  test.each(KINDS)('a paused %s holds back no withdrawal, even if its Domain is about to change', async kind => {
    const {tenant: former, host, domain} = await newLiveTenant(world(), `lost-${kind.toLowerCase()}`);
    const next = await newDomainTenant(world(), `won-${kind.toLowerCase()}`);
    await pause(world(), former, kind);
    await former.project({primary: former.host('other'), redirects: [{from: host}]});
    await next.deployedProject({primary: host});
    await next.createRecords(host);
    await next.live(host);
    await former.becomes(host, {state: 'Unverified', Claimed: 'HeldByAnotherAccount'});
    expect(former.ingress(host)).toBeUndefined();
    expect(former.certificate(host)).toBeUndefined();
    expect(former.domain(host)?.spec).toEqual(domain.spec); // the change is still held back
  });

  test('a pause holds back no removal that the owner requests', async () => {
    const {tenant, host} = await newLiveTenant(world(), 'requested');
    for (const kind of KINDS) await pause(world(), tenant, kind);
    await tenant.project();
    await tenant.until('nothing is left but the claim', () => {
      const isGone = !tenant.domain(host) && !tenant.ingress(host) && !tenant.certificate(host);
      return isGone && tenant.claim(host)?.spec.releasedAt;
    });
  });
}

/** Tests that need the operator alone: they measure it or restart it. */
export function lonePauseSuite(world: () => OperatorWorld): void {
  test('a paused former holder is off the edge as fast as another one', async () => {
    const formers = [await newLiveTenant(world(), 'fast-paused'), await newLiveTenant(world(), 'fast-running')];
    const next = await newDomainTenant(world(), 'fast-next');
    const hosts = formers.map(({host}) => host);
    await pause(world(), formers[0]?.tenant as DomainTenant, 'Namespace');
    await next.deployedProject({aliases: hosts});
    await Promise.all(hosts.map(host => next.createRecords(host)));
    for (const {tenant, host} of formers) await tenant.until(`${host} is off`, () => !tenant.ingress(host));
    const writes = await world().audit.writes();
    const atMs = (is: (event: AuditEvent) => boolean) => Date.parse(writes.findLast(is)?.stageTimestamp ?? '');
    const [paused = Number.NaN, running = Number.NaN] = formers.map(({tenant: {namespace}, host}) => {
      const movedMs = atMs(
        ({verb, objectRef: it}) => verb === 'update' && it?.resource === 'domainclaims' && it.name === host,
      );
      const offMs = atMs(
        ({verb, objectRef: it}) => verb === 'delete' && it?.resource === 'ingresses' && it.namespace === namespace,
      );
      return offMs - movedMs;
    });
    console.info(`Off the edge after ${paused} ms while paused, after ${running} ms otherwise`);
    expect(paused - running).toBeLessThan(FAR_LATER_MS);
  });

  test('config.controller.paused holds back changes everywhere, and no removal that an owner requests', async () => {
    const [{tenant, host}, {tenant: leaving, host: left}] = [
      await newLiveTenant(world(), 'all-paused'),
      await newLiveTenant(world(), 'all-leaving'),
    ];
    await world().operator().stop();
    await world().startOperator('all-paused', {controller: {...(world().config.controller as object), paused: true}});
    const {name = ''} = tenant.ingress(host)?.metadata ?? {};
    await tenant.annotate(INGRESS, name, {[ENTRY_POINT]: 'by-hand'});
    const {status} = await tenant.becomes(host, {state: 'Live', Routed: 'Paused', Ready: 'Paused'});
    expect(findCondition(status?.conditions, 'Ready')?.status).toBe('True');
    expect(tenant.ingress(host)?.metadata.annotations?.[ENTRY_POINT]).toBe('by-hand');
    expect(await world().operator().readiness()).toContain('config.controller.paused is true');
    expect(await world().operator().metric('nameplate_paused', {kind: 'All'})).toBe(1);
    await leaving.project();
    await leaving.until('what its owner removes is gone', () => !leaving.domain(left) && !leaving.ingress(left));

    await world().operator().stop();
    await world().startOperator('no-longer-paused');
    await tenant.becomesLive(host);
    expect(tenant.ingress(host)?.metadata.annotations?.[ENTRY_POINT]).not.toBe('by-hand');
  });
}
/**
 * Pauses the object of the only host, `shop`; null ends the pause. Waits until the operator has seen it, because later
 * changes of other kinds reach it by other watches.
 */
export async function pause(
  {client, history, operator}: OperatorWorld,
  tenant: DomainTenant,
  kind: (typeof KINDS)[number],
  value: 'true' | null = 'true',
): Promise<void> {
  const annotations = {[ANNOTATION.paused]: value};
  const resource = {Namespace: NAMESPACE, Project: PROJECT, Domain: DOMAIN}[kind];
  const name = {Namespace: tenant.namespace, Project: 'shop', Domain: tenant.host('shop')}[kind];
  if (kind === 'Namespace') await client.patch(NAMESPACE, {name}, {metadata: {annotations}});
  else await tenant.annotate(resource, name, annotations);
  const key = kind === 'Namespace' ? name : `${tenant.namespace}/${name}`;
  await until(`the operator has seen the pause of ${key}`, async () => {
    const seen = await operator().metric('nameplate_paused', {kind});
    const object = history.get<KubeObject>(resource, key);
    const isCurrent = object && hasPause(object) === (value !== null);
    return isCurrent && seen === history.list<KubeObject>(resource).filter(hasPause).length;
  });
}
