/**
 * Every reason why a Domain cannot start, with its message, and that the Domain continues automatically once it is
 * fixed.
 */

import {expect, test} from 'vitest';
import {findCondition} from '../../../src/api/conditions.ts';
import {ANNOTATION, LABEL} from '../../../src/api/names.ts';
import {DOMAIN, DOMAIN_CLAIM, NAMESPACE, PROJECT, SECRET} from '../../../src/operator/kinds/kinds.ts';
import {EVENT} from '../../../src/runtime/kube/events.ts';
import {BASE_DOMAIN, TARGET_DOMAIN} from '../../cluster/state.ts';
import {type DomainTenant, newDomainTenant} from './domain-tenant.ts';
import type {OperatorWorld} from './operator-world.ts';

interface Row {
  readonly reason: string;
  readonly case: string;
  readonly plan?: string;
  /** Returns the refused host. */
  given(tenant: DomainTenant): Promise<string>;
  readonly says: readonly string[];
  /** Problems that only a person can fix stall the Domain immediately. */
  readonly stalled: boolean;
  /** Absent if the host itself is invalid, which nothing can fix. */
  fix?(tenant: DomainTenant): Promise<void>;
}

const rows: readonly Row[] = [
  {
    reason: 'InvalidHost',
    case: 'a public suffix',
    given: async tenant => byHand(tenant, 'co.uk'),
    says: ['This cannot be a custom domain', 'co.uk'],
    stalled: true,
  },
  ...[`shop.${BASE_DOMAIN}`, `x.${TARGET_DOMAIN}`, 'nameplate.test', 'a.reserved.test'].map(
    (host): Row => ({
      // attack: name-collision
      reason: 'ReservedHost',
      case: host,
      given: tenant => byHand(tenant, host),
      says: [`${host} is reserved by the platform`],
      stalled: true,
    }),
  ),
  {
    reason: 'ProjectNotFound',
    case: 'a Domain without its Project',
    given: async tenant => {
      await tenant.deploy();
      await tenant.apply(tenant.host('a'));
      return tenant.host('a');
    },
    says: ['There is no Project shop in namespace', 'Create it'],
    stalled: false,
    fix: tenant => tenant.project(),
  },
  {
    reason: 'HostInOtherProject',
    case: 'a Domain of the younger of two Projects',
    given: async tenant => {
      const host = tenant.host('a');
      await tenant.apply(host, 'younger');
      await tenant.deployedProject({primary: host}, 'elder');
      await tenant.becomesOlder('elder');
      await tenant.deployedProject({primary: host}, 'younger');
      await tenant.projectBecomes('younger', {Deployed: 'Deployed'}); // nothing else happens from now on
      return host;
    },
    says: ['Project elder, which is older, also lists', 'Remove the host from one of the two'],
    stalled: true,
    fix: tenant => tenant.project(undefined, 'elder'),
  },
  {
    reason: 'PlanRequired',
    case: 'the free plan',
    plan: 'free',
    given: listed,
    says: [
      'Custom domains require a plan that allows them (starter, pro); this namespace is on plan free',
      `label ${LABEL.plan}`,
    ],
    stalled: true,
    fix: tenant => tenant.label({[LABEL.plan]: 'pro'}),
  },
  {
    reason: 'PlanRequired',
    case: 'a plan that the platform does not have',
    plan: 'gold',
    given: listed,
    says: ["its label names the plan 'gold', which does not exist"],
    stalled: true,
    fix: tenant => tenant.label({[LABEL.plan]: 'starter'}),
  },
  {
    reason: 'PlanLimitReached',
    // attack: squatting
    case: 'one domain too many',
    plan: 'starter',
    given: async tenant => {
      await tenant.deployedProject();
      await tenant.apply(tenant.host('first'));
      await tenant.becomes(tenant.host('first'), {Accepted: 'Accepted'});
      return byHand(tenant, tenant.host('second'));
    },
    says: ['Plan starter allows 1 custom domain per account'],
    stalled: true,
    fix: tenant => tenant.delete(DOMAIN, tenant.host('first')),
  },
  {
    reason: 'PlanLimitReached',
    case: 'a host of a Project, after a manually created one',
    plan: 'starter',
    given: async tenant => {
      await tenant.deployedProject();
      await tenant.apply(tenant.host('by-hand'));
      await tenant.becomes(tenant.host('by-hand'), {Accepted: 'Accepted'});
      await tenant.project({primary: tenant.host('listed')});
      return tenant.host('listed');
    },
    says: ['Plan starter allows 1 custom domain per account'],
    stalled: true,
    fix: tenant => tenant.delete(DOMAIN, tenant.host('by-hand')),
  },
  {
    reason: 'NoSuccessfulDeploy',
    case: 'no ready endpoint yet',
    given: async tenant => {
      await tenant.deploy('shop', {ready: false});
      await tenant.project({primary: tenant.host('a')});
      return tenant.host('a');
    },
    says: ['Service shop has never had a ready endpoint', 'Deploy it'],
    stalled: false,
    fix: tenant => tenant.deploy(),
  },
  {
    reason: 'RedirectLoop',
    // attack: bad-redirect
    case: 'two redirects in a loop',
    given: async tenant => {
      const [a, b] = [tenant.host('a'), tenant.host('b')];
      await tenant.deployedProject({
        redirects: [
          {from: a, to: b},
          {from: b, to: a},
        ],
      });
      return a;
    },
    says: ['These redirects form a loop: a.', 'Remove the redirect of one of these hosts'],
    stalled: true,
    fix: tenant => tenant.project({primary: tenant.host('b'), redirects: [{from: tenant.host('a')}]}),
  },
  {
    reason: 'RedirectTargetNotOurs',
    // attack: bad-redirect
    case: "a redirect to another tenant's host",
    given: async tenant => {
      await tenant.deployedProject();
      await tenant.apply(tenant.host('a'), 'shop', {to: 'www.example.com'});
      return tenant.host('a');
    },
    says: ['The redirect points to www.example.com, which is not a host of Project shop'],
    stalled: true,
    fix: async tenant => {
      await tenant.project({primary: tenant.host('b')});
      await tenant.apply(tenant.host('a'), 'shop', {to: tenant.host('b')});
    },
  },
  {
    reason: 'RedirectStatusUnsupported',
    case: 'a 308, which Traefik does not answer to GET',
    given: async tenant => {
      const [a, b] = [tenant.host('a'), tenant.host('b')];
      await tenant.deployedProject({primary: b, redirects: [{from: a, status: 308}]});
      return a;
    },
    says: ['Traefik', 'cannot respond to GET with 308. Use 301'],
    stalled: true,
    fix: tenant => tenant.project({primary: tenant.host('b'), redirects: [{from: tenant.host('a'), status: 301}]}),
  },
];

export function acceptSuite(world: () => OperatorWorld): void {
  test.each(rows)('$reason: $case', async row => {
    const tenant = await newDomainTenant(world(), 'accept', {plan: row.plan ?? 'pro'});
    const host = await row.given(tenant);
    const progress = row.stalled ? {Stalled: row.reason} : {Reconciling: row.reason};
    await tenant.becomes(host, {state: 'Blocked', Accepted: row.reason, Ready: row.reason, ...progress}, row.says);
    expect(tenant.trace(host)).toEqual([]);
    if (!row.fix) return;
    await row.fix(tenant);
    await tenant.becomes(host, {state: 'Unverified', Accepted: 'Accepted', DNSVerified: 'RecordMissing'});
  });

  test('a downgrade takes no host down, and refuses new ones and verify requests', async () => {
    const tenant = await newDomainTenant(world(), 'downgrade');
    const [held, fresh] = [tenant.host('held'), tenant.host('fresh')];
    await tenant.deployedProject({primary: held});
    const live = await tenant.live(held);

    await tenant.label({[LABEL.plan]: 'free'});
    await tenant.project({primary: held, aliases: [fresh]});
    await tenant.becomes(fresh, {state: 'Blocked', Accepted: 'PlanRequired'});
    await tenant.annotate(DOMAIN, held, {[ANNOTATION.verifyRequestedAt]: 'now'});
    await tenant.until(
      'the request is answered',
      () => tenant.domain(held)?.status?.lastHandledVerifyRequest === 'now',
    );
    await tenant.becomes(held, {state: 'Live', Accepted: 'Accepted', Ready: 'Live'});
    expect(findCondition(tenant.domain(held)?.status?.conditions, 'Accepted')?.message).toMatch(
      /Plan free does not include custom domains: Nameplate keeps serving this host .* upgrade the plan/,
    );
    expect(tenant.disturbances(held, live)).toEqual([]);
    const refused = 'The verify request was refused: plan free does not include custom domains';
    const events = () =>
      world()
        .history.list(EVENT, tenant.namespace)
        .filter(({note}) => note?.startsWith(refused));
    await tenant.until('an Event reports it', () => events().length > 0);
    expect(events(), 'the second counts into the first').toHaveLength(1);
  });

  test.each([
    ['moves to another account', tenant => tenant.label({[LABEL.account]: 'accept-moved'})],
    ['is deleted', tenant => tenant.world.client.delete(NAMESPACE, {name: tenant.namespace})],
  ] satisfies [string, (tenant: DomainTenant) => Promise<unknown>][])(
    'a place in a plan is free when a namespace %s',
    async (way, act) => {
      const account = `accept-${way.replaceAll(' ', '-')}`;
      const tenants = await Promise.all(
        ['first', 'second'].map(name => newDomainTenant(world(), name, {plan: 'starter', account})),
      );
      for (const tenant of tenants) {
        await byHand(tenant, tenant.host('a'));
        await tenant.becomes(tenant.host('a'), {Accepted: tenant === tenants[0] ? 'Accepted' : 'PlanLimitReached'});
      }
      const [first, second] = tenants;
      if (first) await act(first);
      await second?.becomes(second.host('a'), {state: 'Unverified', Accepted: 'Accepted'});
    },
  );

  test('a place in a plan is free when a host is held no longer', async () => {
    const tenant = await newDomainTenant(world(), 'places');
    const [waits, held] = [tenant.host('a'), tenant.host('b')];
    await byHand(tenant, waits);
    await tenant.becomes(waits, {state: 'Unverified'});
    await tenant.apply(held);
    await tenant.createRecords(held);
    await tenant.becomes(held, {state: 'Live'});
    await tenant.label({[LABEL.plan]: 'starter'});
    await tenant.becomes(waits, {state: 'Blocked', Accepted: 'PlanLimitReached'});
    await world().client.delete(DOMAIN_CLAIM, {name: held});
    await tenant.becomes(waits, {state: 'Unverified', Accepted: 'Accepted'});
  });

  test('one deploy is enough: an outage later refuses no new host', async () => {
    const tenant = await newDomainTenant(world(), 'outage');
    await tenant.deployedProject({primary: tenant.host('a')});
    await tenant.becomes(tenant.host('a'), {state: 'Unverified'});
    await tenant.deploy('shop', {ready: false});
    await tenant.project({primary: tenant.host('a'), aliases: [tenant.host('b')]});
    await tenant.becomes(tenant.host('b'), {state: 'Unverified', Accepted: 'Accepted'});
    expect(tenant.get(PROJECT, 'shop')?.metadata.annotations).toHaveProperty([ANNOTATION.firstDeployedAt]);
  });

  test('a free Project is published at its default host, and is gone with it', async () => {
    const tenant = await newDomainTenant(world(), 'default', {plan: 'free'});
    await tenant.deployedProject();
    const {status} = await tenant.projectBecomes('shop', {Ready: 'Published', DomainsReady: 'NoDomains'});
    const host = `shop-${tenant.namespace}-`;
    expect(status?.defaultHost).toMatch(new RegExp(`^${host}[a-z2-7]{10}\\.${BASE_DOMAIN}$`));
    expect(status?.url).toBe(`https://${status?.defaultHost}/`);
    expect(tenant.ingress(status?.defaultHost ?? '')?.spec.tls).toBeUndefined();
    expect(tenant.world.history.list(SECRET, tenant.namespace)).toEqual([]);
    await tenant.delete(PROJECT, 'shop');
    await tenant.until('the route is gone', () => tenant.ingress(status?.defaultHost ?? '') === undefined);
  });
}

/** Lists a host in a deployed Project. */
async function listed(tenant: DomainTenant): Promise<string> {
  await tenant.deployedProject({primary: tenant.host('a')});
  return tenant.host('a');
}

/** Manually applies a Domain of a deployed Project. */
async function byHand(tenant: DomainTenant, host: string): Promise<string> {
  await tenant.deployedProject();
  await tenant.apply(host);
  return host;
}
