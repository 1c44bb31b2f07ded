import {expect, test} from 'vitest';
import {ANNOTATION, LABEL} from '../../../src/api/names.ts';
import {routeName} from '../../../src/operator/kinds/derived-names.ts';
import {
  CERTIFICATE,
  DOMAIN,
  DOMAIN_CLAIM,
  type DomainClaim,
  INGRESS,
  type Ingress,
  NAMESPACE,
  PROJECT,
  SECRET,
  SERVICE,
} from '../../../src/operator/kinds/kinds.ts';
import {EVENT} from '../../../src/runtime/kube/events.ts';
import type {ResourceType} from '../../../src/runtime/kube/object.ts';
import {type DomainTenant, newDomainTenant, newLiveTenant} from './domain-tenant.ts';
import type {Version} from './history.ts';
import type {OperatorWorld} from './operator-world.ts';

interface Row {
  readonly case: string;
  given(tenant: DomainTenant, host: string, world: OperatorWorld): Promise<unknown>;
}

/** The states from which a Domain can be removed. */
const states: readonly Row[] = [
  {case: 'Unverified', given: (tenant, host) => tenant.becomes(host, {state: 'Unverified'})},
  {
    case: 'Verified',
    given: async (tenant, host, world) => {
      world.certManager.approvals().hold(host);
      await tenant.createRecords(host);
      await tenant.becomes(host, {state: 'Verified', CertificateReady: 'Issuing'});
    },
  },
  {case: 'Live', given: (tenant, host) => tenant.live(host)},
];

export function removalSuite(world: () => OperatorWorld): void {
  test('route first, then certificate, then claim', async () => {
    const tenant = await newDomainTenant(world(), 'ordered');
    const host = tenant.host('shop');
    await tenant.deployedProject();
    await tenant.apply(host);
    await tenant.live(host);
    // A finalizer holds the Domain. Otherwise, the garbage collector would delete its objects at the same time, in any
    // order.
    const hold = (finalizers: readonly string[]) => holdDomain(tenant, host, finalizers);
    await hold([HOLD]);
    await tenant.delete(DOMAIN, host);
    const released = await releaseOf(tenant, host);
    await hold([]);
    const ends = tenant.trace(host).filter(({type}) => type === 'DELETED');
    const kindsInOrder = ends.map(({resource}) => resource.kind).filter(kind => kind !== SECRET.kind);
    expect(kindsInOrder).toEqual(['Ingress', 'Certificate']);
    expect(ends.at(-1)?.at).toBeLessThan(released.at);
  });

  test('a host that is removed from its Project is gone, and its neighbor never notices', async () => {
    const tenant = await newDomainTenant(world(), 'removed');
    const [host, neighbour] = [tenant.host('shop'), tenant.host('neighbour')];
    await tenant.deployedProject({primary: neighbour, aliases: [host]});
    const [, live] = await Promise.all([tenant.live(host), tenant.live(neighbour)]);
    await tenant.project({primary: neighbour});
    const released = await releaseOf(tenant, host);
    const routes = tenant.trace(host).filter(({resource, type}) => resource === INGRESS && type === 'DELETED');
    for (const {at} of routes) expect(at).toBeLessThan(released.at);
    expect(isGone(tenant, host)).toBe(true);
    expect(tenant.disturbances(neighbour, live)).toEqual([]);
  });

  test('a tenant’s Service whose name only starts like that of its route is not touched', async () => {
    const tenant = await newDomainTenant(world(), 'alike');
    const [host, neighbour] = [tenant.host('shop'), tenant.host('neighbour')];
    await tenant.deployedProject({primary: neighbour, aliases: [host]});
    await tenant.live(host);
    const name = `${routeName(tenant.namespace, host)}x`;
    const metadata = {name, namespace: tenant.namespace, labels: {[LABEL.managedBy]: 'nameplate'}};
    const spec = {selector: {app: 'shop'}, ports: [{port: 80}]};
    await world().client.create(SERVICE, {apiVersion: 'v1', kind: 'Service', metadata, spec});
    await tenant.project({primary: neighbour});
    await releaseOf(tenant, host);
    await tenant.until('its route is gone', () => isGone(tenant, host));
    const found = await world().client.get(SERVICE, {namespace: tenant.namespace, name});
    expect(found?.metadata.deletionTimestamp).toBeUndefined();
    expect(found).toBeDefined();
  });

  test('removed and added again: the Secret was kept, and nothing is ordered', async () => {
    const {tenant, host} = await newLiveTenant(world(), 'again');
    const requests = tenant.certificateRequests(host);
    const beforeMs = Date.now() - 1000; // the mark has whole seconds
    await tenant.project();
    await tenant.until('the claim is released', () => tenant.claim(host)?.spec.releasedAt);
    const secret = () => world().history.get(SECRET, `${tenant.namespace}/${routeName(tenant.namespace, host)}`);
    const mark = await tenant.until(
      'the Secret is marked',
      () => secret()?.metadata.annotations?.[ANNOTATION.retainedSince],
    );
    expect(Date.parse(mark)).toBeGreaterThan(beforeMs);
    const {uid} = secret()?.metadata ?? {};

    await tenant.project({primary: host});
    await tenant.becomesLive(host);
    expect(tenant.certificateRequests(host)).toEqual(requests);
    expect(secret()?.metadata.uid).toBe(uid);
    await tenant.until(
      'the mark is gone',
      () => secret()?.metadata.annotations?.[ANNOTATION.retainedSince] === undefined,
    );
    expect(tenant.claim(host)?.spec.releasedAt).toBeUndefined();
  });

  test.each(states)('removed while $case: nothing is left but a released claim', async ({given}) => {
    const tenant = await newDomainTenant(world(), 'state');
    const host = tenant.host('shop');
    await tenant.deployedProject();
    await tenant.apply(host);
    await given(tenant, host, world());
    await tenant.delete(DOMAIN, host);
    await tenant.until('nothing is left', () => isGone(tenant, host));
  });

  test('Project and Domain deleted together leave nothing', async () => {
    const tenant = await newDomainTenant(world(), 'together');
    const [managed, byHand] = [tenant.host('managed'), tenant.host('hand')];
    await tenant.deployedProject({primary: managed});
    await tenant.apply(byHand);
    await Promise.all([tenant.live(managed), tenant.live(byHand)]);
    await Promise.all([tenant.delete(PROJECT, 'shop'), tenant.delete(DOMAIN, byHand)]);
    await tenant.until('nothing is left', () => isGone(tenant, managed) && isGone(tenant, byHand));
    const routes = () => world().history.list(INGRESS, tenant.namespace);
    await tenant.until('the default host is gone too', () => routes().length === 0);
  });

  // attack: managed-objects
  test('a foreign finalizer keeps no route: its rules are emptied first, and an Event reports it', async () => {
    const tenant = await newDomainTenant(world(), 'kept');
    const host = tenant.host('shop');
    await tenant.deployedProject();
    await tenant.apply(host);
    await tenant.live(host);
    const finalize = (finalizers: string[] | null) => patchIngresses(tenant, host, {metadata: {finalizers}});
    await finalize([FINALIZER]);
    await holdDomain(tenant, host, [HOLD]); // otherwise, the garbage collector may delete the Ingresses first
    await tenant.delete(DOMAIN, host);
    const released = await releaseOf(tenant, host);
    await holdDomain(tenant, host, []);
    const found = () => versionsOf(tenant, host).filter(({object}) => object.metadata.deletionTimestamp);
    await tenant.until('its Ingress hangs', () => found().length > 0);
    const hanging = found();
    for (const {object} of hanging) expect(isServing(object)).toBe(false);
    for (const {at} of hanging) expect(at).toBeLessThan(released.at);
    const note = await tenant.until('it is reported', () => {
      const events = world().history.list(EVENT, tenant.namespace);
      return events.find(({reason}) => reason === 'KeptByFinalizer')?.note;
    });
    expect(note).toContain(
      `${host} is no longer routed, but finalizers block the deletion of this Ingress: ${FINALIZER}.`,
    );

    await tenant.until('the Domain is gone', () => !tenant.domain(host));
    await world().dns.set(host, 'CNAME', ['elsewhere.test']);
    await tenant.apply(host);
    await tenant.becomes(host, {state: 'Unverified', Routed: 'Waiting'}); // emptied routes count as none
    await tenant.delete(DOMAIN, host);
    await finalize(null);
    await tenant.until('nothing is left', () => isGone(tenant, host));
  });

  // attack: managed-objects
  test('an Ingress that hangs in its deletion serves the holder of the host, and nobody who has lost it', async () => {
    const [former, next] = [await newDomainTenant(world(), 'hanging'), await newDomainTenant(world(), 'next')];
    const host = former.host('shop');
    await former.deployedProject({primary: host});
    await former.live(host);
    await patchIngresses(former, host, {metadata: {finalizers: [FINALIZER]}});
    for (const {metadata} of ingressesOf(former, host)) await former.delete(INGRESS, metadata.name);
    const isHanging = () => ingressesOf(former, host).every(({metadata}) => metadata.deletionTimestamp);
    await former.until('its Ingress hangs', isHanging);
    await former.verify(host, 'while it hangs');
    expect(ingressesOf(former, host).map(isServing)).toEqual([true]);

    await next.deployedProject({primary: host});
    await next.live(host); // its record moves the host
    await former.until('the former holder serves nothing', () => !ingressesOf(former, host).some(isServing));
    await former.becomes(host, {Claimed: 'HeldByAnotherAccount', Routed: 'Waiting'});

    await next.project();
    await former.live(host); // and back
    await former.until('it serves again', () => ingressesOf(former, host).every(isServing));
    await patchIngresses(former, host, {metadata: {finalizers: null}});
    const isNew = () => ingressesOf(former, host).filter(each => !each.metadata.deletionTimestamp && isServing(each));
    await former.until('an Ingress that is not stuck replaces it', () => isNew().length === 1);
  });

  test('a released host immediately moves to the account that proves it', async () => {
    const [tenant, next] = [await newDomainTenant(world(), 'former'), await newDomainTenant(world(), 'next')];
    const host = tenant.host('shop');
    await tenant.deployedProject({primary: host});
    await tenant.live(host);
    await tenant.project();
    await tenant.until('the claim is released', () => tenant.claim(host)?.spec.releasedAt);
    await next.deployedProject({primary: host});
    await next.live(host);
    expect(next.claim(host)?.spec).toMatchObject({namespace: next.namespace});
    expect(next.claim(host)?.spec.releasedAt).toBeUndefined();
  });
}

/** Stops controllers of the cluster, which disturbs all, and waits until the operator's queues are empty. */
export function terminationSuite(world: () => OperatorWorld): void {
  // attack: endless-deletion
  test('in a terminating namespace, everything is taken down immediately, and nothing is put back', async () => {
    const {tenant, host} = await newLiveTenant(world(), 'ending');
    const {status} = await tenant.projectBecomes('shop', {Ready: 'Published'});
    const resume = world().api.pauseControllers(); // otherwise, it may end before the operator has seen it
    try {
      await world().client.delete(NAMESPACE, {name: tenant.namespace});
      const ends = () => world().history.get(NAMESPACE, tenant.namespace)?.metadata.deletionTimestamp;
      await tenant.until('its namespace ends', ends);
      const metric = (name: string, labels: Record<string, string>) => world().operator().metric(name, labels);
      const lookedAt = () => metric('controller_runtime_reconcile_total', {controller: 'project'});
      const before = await lookedAt();
      for (const {metadata} of [host, status?.defaultHost ?? ''].flatMap(each => ingressesOf(tenant, each))) {
        await tenant.delete(INGRESS, metadata.name);
      }
      await tenant.until(
        'the Project was reconciled, whose Ingress was deleted last',
        async () => (await lookedAt()) > before,
      );
      const busy = async () =>
        (await metric('workqueue_depth', {name: 'domain'})) +
        (await metric('controller_runtime_active_workers', {controller: 'domain'}));
      await tenant.until('the Domain was reconciled, too', async () => (await busy()) === 0);
      // A tenant's finalizer, for example on a Pod, could delay the deletion of the rest indefinitely.
      await releaseOf(tenant, host);
      expect(tenant.certificate(host)).toBeUndefined();
      expect([host, status?.defaultHost ?? ''].flatMap(each => ingressesOf(tenant, each))).toEqual([]);
    } finally {
      resume();
    }
    await tenant.until('its Domain is gone', () => !tenant.domain(host)); // later tests read all that are left
    const refused = (await world().audit.events())
      .filter(
        ({objectRef, responseStatus}) => objectRef?.namespace === tenant.namespace && responseStatus?.code === 403,
      )
      .map(({verb, objectRef}) => `${verb} ${objectRef?.resource}`);
    expect(refused.filter(request => request !== 'create events')).toEqual([]); // a late Event about an earlier change
  });
}

const FINALIZER = 'attacker.test/stay';
const HOLD = 'test.nameplate.dev/hold';

function holdDomain({world, namespace}: DomainTenant, host: string, finalizers: readonly string[]): Promise<unknown> {
  return world.client.patch(DOMAIN, {namespace, name: host}, {metadata: {finalizers}});
}

function ingressesOf(tenant: DomainTenant, host: string): Ingress[] {
  const name = routeName(tenant.namespace, host);
  return tenant.world.history.list(INGRESS, tenant.namespace).filter(({metadata}) => metadata.name.startsWith(name));
}

function versionsOf(tenant: DomainTenant, host: string): Version<Ingress>[] {
  const prefix = `${tenant.namespace}/${routeName(tenant.namespace, host)}`;
  return tenant.world.history.versions(INGRESS).filter(({key}) => key.startsWith(prefix));
}

async function patchIngresses(tenant: DomainTenant, host: string, patch: Record<string, unknown>): Promise<void> {
  for (const {metadata} of ingressesOf(tenant, host)) {
    await tenant.world.client.patch(INGRESS, {namespace: tenant.namespace, name: metadata.name}, patch);
  }
}

function isServing({spec}: Ingress): boolean {
  return spec.rules.some(({http}) => http);
}

function releaseOf(tenant: DomainTenant, host: string): Promise<Version<DomainClaim>> {
  const isRelease = ({object}: Version<DomainClaim>) => object.spec.releasedAt !== undefined;
  return tenant.until('the claim is released', () => tenant.world.history.versions(DOMAIN_CLAIM, host).find(isRelease));
}

/** Whether there is no Domain, route, certificate, or valid claim. */
function isGone(tenant: DomainTenant, host: string): boolean {
  const claim = tenant.claim(host);
  const kinds: ResourceType[] = [INGRESS, CERTIFICATE];
  const objects = kinds.flatMap(kind => tenant.world.history.list(kind, tenant.namespace));
  const left = objects.filter(({metadata}) => metadata.name.startsWith(routeName(tenant.namespace, host)));
  return !tenant.domain(host) && left.length === 0 && (!claim || claim.spec.releasedAt !== undefined);
}
