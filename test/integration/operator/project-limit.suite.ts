/** How many of an account's Projects are published, no matter how many its tenants create. */
import {expect, test} from 'vitest';
import {findCondition} from '../../../src/api/conditions.ts';
import {LABEL} from '../../../src/api/names.ts';
import {DOMAIN, INGRESS, PROJECT} from '../../../src/operator/kinds/kinds.ts';
import {type DomainTenant, newDomainTenant} from './domain-tenant.ts';
import type {OperatorWorld} from './operator-world.ts';

/** Plan starter publishes two Projects. */
export function projectLimitSuite(world: () => OperatorWorld): void {
  // attack: too-many-projects
  test('a Project beyond the plan publishes nothing until another one of the account is deleted', async () => {
    const account = `crowd-${Date.now()}`;
    const [elder, younger] = await Promise.all(
      ['elder', 'younger'].map(name => newDomainTenant(world(), name, {plan: 'starter', account})),
    );
    if (!elder || !younger) throw new Error('two');
    await published(elder, 'first');
    await elder.becomesOlder('first');
    await published(younger, 'second');
    await younger.becomesOlder('second');
    const host = younger.host('shop');
    await younger.deployedProject({primary: host}, 'third');
    const waiting = {Ready: 'PlanLimitReached', Stalled: 'PlanLimitReached', DomainsReady: 'PlanLimitReached'};
    const {status} = await younger.projectBecomes('third', {...waiting, Deployed: 'PlanLimitReached'});
    const message = findCondition(status?.conditions, 'Ready')?.message;
    expect(message).toContain(
      'Plan starter allows 2 Projects per account, and other Projects already use the whole limit',
    );
    expect(message).toContain('Delete another Project, or ask the platform team for a larger plan');
    expect(younger.ingress(status?.defaultHost ?? '')).toBeUndefined();
    expect(younger.domain(host)).toBeUndefined();

    await elder.delete(PROJECT, 'first');
    await younger.projectBecomes('third', {Ready: 'Published', DomainsReady: 'WaitingForDomains'});
    expect(younger.ingress(status?.defaultHost ?? '')).toBeDefined();
    await younger.becomes(host, {state: 'Unverified', Accepted: 'Accepted'});
    expect(world().history.list(INGRESS, younger.namespace)).toHaveLength(2);
  });

  // attack: too-many-projects
  test('a larger plan publishes the waiting Projects; a smaller one unpublishes none, but accepts no new one', async () => {
    const tenant = await newDomainTenant(world(), 'plans', {plan: 'starter'});
    for (const name of ['a', 'b', 'c', 'd']) {
      await tenant.deployedProject(undefined, name);
      const reason = name < 'c' ? 'Published' : 'PlanLimitReached';
      await tenant.projectBecomes(name, {Ready: reason});
      await tenant.becomesOlder(name);
    }
    await tenant.label({[LABEL.plan]: 'pro'});
    for (const name of ['c', 'd']) await tenant.projectBecomes(name, {Ready: 'Published'});
    const routes = () => world().history.list(INGRESS, tenant.namespace);
    const before = routes();

    await tenant.label({[LABEL.plan]: 'starter'});
    const host = tenant.host('shop');
    await tenant.deployedProject({primary: host}, 'e');
    await tenant.projectBecomes('e', {Ready: 'PlanLimitReached'});
    await tenant.project({primary: host}, 'd');
    await tenant.becomes(host, {state: 'Unverified', Accepted: 'Accepted'});
    expect(tenant.domain(host)?.spec.projectRef.name).toBe('d');
    await tenant.projectBecomes('d', {Ready: 'Published'});
    expect(routes()).toEqual(before);

    for (const name of ['a', 'b', 'c']) await tenant.delete(PROJECT, name);
    await tenant.projectBecomes('e', {Ready: 'Published'});
  });

  // attack: unjudged-domain
  test('a former holder serves nothing, even if its Domain belongs to a Project that waits for the plan', async () => {
    const tenant = await newDomainTenant(world(), 'former', {plan: 'starter'});
    for (const name of ['a', 'b']) {
      await published(tenant, name);
      await tenant.becomesOlder(name);
    }
    const host = tenant.host('shop');
    await tenant.deployedProject({primary: host}, 'c');
    await tenant.projectBecomes('c', {Ready: 'PlanLimitReached'});
    await tenant.apply(host, 'a');
    await tenant.live(host);
    const waiting = {metadata: {labels: {[LABEL.managed]: 'true'}}, spec: {projectRef: {name: 'c'}}};
    await world().client.patch(DOMAIN, {namespace: tenant.namespace, name: host}, waiting);
    await tenant.until('it is managed', () => tenant.domain(host)?.metadata.ownerReferences?.[0]?.name === 'c');

    const next = await newDomainTenant(world(), 'next');
    await next.deployedProject({primary: host});
    await next.live(host);
    await tenant.until('the former holder has no route', () => tenant.ingress(host) === undefined);
    await tenant.until('nor a certificate', () => tenant.certificate(host) === undefined);
    await tenant.becomes(host, {state: 'Blocked', Accepted: 'PlanLimitReached'});
  });

  // attack: too-many-projects
  test('a Domain names two of the Projects that list its host, however many there are', async () => {
    const tenant = await newDomainTenant(world(), 'owners');
    const host = tenant.host('shop');
    const names = ['a', 'b', 'c', 'd'];
    await tenant.deploy();
    for (const name of names) await tenant.project({primary: host}, name, {name: 'shop', port: 'http'});
    for (const name of names.slice(1)) await tenant.projectBecomes(name, {DomainsReady: 'HostInOtherProject'});
    const owners = () => tenant.domain(host)?.metadata.ownerReferences?.map(({name}) => name);
    await tenant.until('it has two owners', () => owners()?.length === 2);
    const winner = tenant.domain(host)?.spec.projectRef.name ?? '';
    const heir = owners()?.find(name => name !== winner);
    await tenant.delete(PROJECT, winner);
    await tenant.until('the next Project has the host', () => tenant.domain(host)?.spec.projectRef.name === heir);
    await tenant.until('it has two owners again', () => owners()?.length === 2 && !owners()?.includes(winner));
    const versions = world().history.versions(DOMAIN, `${tenant.namespace}/${host}`);
    expect(versions.filter(({type}) => type === 'DELETED')).toEqual([]);
    expect(Math.max(...versions.map(({object}) => object.metadata.ownerReferences?.length ?? 0))).toBe(2);
  });
}

async function published(tenant: DomainTenant, name: string): Promise<void> {
  await tenant.deployedProject(undefined, name);
  await tenant.projectBecomes(name, {Ready: 'Published'});
}
