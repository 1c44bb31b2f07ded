import {expect, test} from 'vitest';
import {DOMAIN} from '../../../src/operator/kinds/kinds.ts';
import {type DomainTenant, newDomainTenant} from './domain-tenant.ts';
import type {OperatorWorld} from './operator-world.ts';
import {hops, type Moment, moments} from './published.ts';

const PATH = '/a/b?c=d&e=https://evil.example.com/';

export function redirectSuite(world: () => OperatorWorld): void {
  test('a redirect is published only once its target is live', async () => {
    const tenant = await newDomainTenant(world(), 'target');
    const [target, from] = [tenant.host('shop'), tenant.host('www')];
    const approvals = world().certManager.approvals();
    approvals.hold(target);
    await tenant.deployedProject({primary: target, redirects: [{from}]});
    await tenant.createRecords(from);
    await tenant.becomes(from, {state: 'Verified', CertificateReady: 'Issued', Routed: 'TargetNotLive'}, [
      `Waiting for the target of the redirect to go live (kubectl describe domain -n ${tenant.namespace} ${target}).`,
    ]);
    expect(tenant.ingress(from)).toBeUndefined();
    await tenant.createRecords(target);
    await approvals.approve(target);
    await tenant.becomesLive(target);
    await tenant.becomes(from, {state: 'Live', Routed: 'Redirecting', Ready: 'Live'});
    for (const moment of routed(tenant, from)) expect(moment.get(`https://${target}/`).service).toBe('shop');
  });

  test('path and query survive, in one hop from http and from https; a serving host goes to https once', async () => {
    const tenant = await newDomainTenant(world(), 'hop');
    const [target, from] = [tenant.host('shop'), tenant.host('www')];
    await tenant.deployedProject({primary: target, redirects: [{from}]});
    await Promise.all([tenant.live(target), tenant.live(from)]);
    for (const scheme of ['http', 'https']) {
      expect(hops(now(tenant), `${scheme}://${from}${PATH}`)).toEqual([`https://${target}${PATH}`]);
    }
    expect(hops(now(tenant), `http://${target}${PATH}`)).toEqual([`https://${target}${PATH}`]);
    expect(hops(now(tenant), `https://${target}${PATH}`)).toEqual([]);
  });

  test('a chain of redirects is one hop, whichever of its hosts changes', async () => {
    const tenant = await newDomainTenant(world(), 'chain');
    const [a, b, c] = [tenant.host('a'), tenant.host('b'), tenant.host('c')];
    const chain = {
      redirects: [
        {from: a, to: b},
        {from: b, to: c},
      ],
    };
    await tenant.deployedProject({primary: c, ...chain});
    await Promise.all([a, b, c].map(host => tenant.live(host)));
    expect(hops(now(tenant), `https://${a}/`)).toEqual([`https://${c}/`]);
    await tenant.project({primary: c, aliases: [b], redirects: [{from: a, to: b}]});
    await tenant.becomes(b, {Routed: 'Serving', Ready: 'Live'});
    await tenant.until('the chain ends at b', () => now(tenant).get(`https://${a}/`).location === `https://${b}/`);
    await tenant.project({primary: c, ...chain});
    await tenant.becomes(b, {Routed: 'Redirecting', Ready: 'Live'});
    await tenant.until('the chain ends at c', () => now(tenant).get(`https://${a}/`).location === `https://${c}/`);
  });

  test('a redirect that begins to serve keeps the labels and annotations that its tenant wrote', async () => {
    const tenant = await newDomainTenant(world(), 'kept');
    const [target, from] = [tenant.host('shop'), tenant.host('www')];
    await tenant.deployedProject({primary: target, redirects: [{from, status: 302}]});
    await tenant.until('the redirect exists', () => tenant.domain(from)?.spec.redirect?.to === target);
    const own = {labels: {team: 'shop'}, annotations: {note: 'x'.repeat(10_000)}};
    await world().client.patch(DOMAIN, {namespace: tenant.namespace, name: from}, {metadata: own});
    await tenant.project({primary: target, aliases: [from]});
    await tenant.until('it serves', () => tenant.domain(from)?.spec.redirect === undefined);
    expect(tenant.domain(from)?.metadata).toMatchObject(own);
  });

  test('primary and redirect swapped, there and back: never a loop, never nothing', async () => {
    const tenant = await newDomainTenant(world(), 'swap');
    const [a, b] = [tenant.host('a'), tenant.host('b')];
    await tenant.deployedProject({primary: a, redirects: [{from: b}]});
    await Promise.all([tenant.live(a), tenant.live(b)]);
    const [start = 0] = moments(world().history, tenant.namespace)
      .map(({at}) => at)
      .slice(-1);
    for (const [primary, from] of [
      [b, a],
      [a, b],
    ] as const) {
      await tenant.project({primary, redirects: [{from}]});
      await tenant.becomes(primary, {state: 'Live', Routed: 'Serving', Ready: 'Live'});
      await tenant.becomes(from, {state: 'Live', Routed: 'Redirecting', Ready: 'Live'});
      expect(hops(now(tenant), `https://${from}/`)).toEqual([`https://${primary}/`]);
    }
    const since = moments(world().history, tenant.namespace).filter(({at}) => at >= start);
    for (const moment of since) {
      for (const url of [`https://${a}/`, `https://${b}/`]) expect(hops(moment, url).length).toBeLessThan(2);
      for (const url of [`http://${a}/`, `http://${b}/`]) expect(hops(moment, url).length).toBeGreaterThan(0);
    }
    expect(since.length).toBeGreaterThan(4);
  });

  test('a host moved from primary to redirects serves until the new primary is live', async () => {
    const tenant = await newDomainTenant(world(), 'moved');
    const [old, fresh] = [tenant.host('old'), tenant.host('new')];
    await tenant.deployedProject({primary: old});
    await tenant.live(old);
    const uid = tenant.domain(old)?.metadata.uid;
    await tenant.project({primary: fresh, redirects: [{from: old}]});
    await tenant.becomes(old, {state: 'Degraded', Routed: 'TargetNotLive'});
    expect(now(tenant).get(`https://${old}/`)).toEqual({service: 'shop'});
    await tenant.live(fresh);
    await tenant.becomes(old, {state: 'Live', Routed: 'Redirecting', Ready: 'Live'});
    expect(tenant.domain(old)?.metadata.uid).toBe(uid);
    expect(hops(now(tenant), `http://${old}/`)).toEqual([`https://${fresh}/`]);
    for (const moment of routed(tenant, old)) expect(hops(moment, `https://${old}/`).length).toBeLessThan(2);
  });
}

/** The moments since the host was first routed. */
function routed(tenant: DomainTenant, host: string): Moment[] {
  const all = moments(tenant.world.history, tenant.namespace);
  const answers = ({get}: Moment) => Object.keys(get(`https://${host}/`)).length > 0;
  return all.slice(Math.max(all.findIndex(answers), 0));
}

function now(tenant: DomainTenant): Moment {
  const last = moments(tenant.world.history, tenant.namespace).at(-1);
  if (!last) throw new Error('nothing has been routed yet');
  return last;
}
