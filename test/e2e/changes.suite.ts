/**
 * Changes that a tenant makes: hosts that move, swap, leave, and come back while a visitor requests them continuously.
 */
import {expect, it} from 'vitest';
import {failuresOf, type Observation} from '../support/http.ts';
import {newClusterTenant, visitor} from './world.ts';

export function swapping(): void {
  it('primary and redirect are swapped: every visit meanwhile ends at the project, at most two redirects on', async () => {
    const tenant = await newClusterTenant('swap');
    const [one, two] = [tenant.host('one'), tenant.host('two')];
    await tenant.goLive({primary: one, redirects: [{from: two}]});
    const observed = visitor.observe(`https://${one}/`, `https://${two}/`, `http://${one}/`, `http://${two}/`);
    for (const [primary, from] of [
      [two, one],
      [one, two],
      [two, one],
    ] as const) {
      await tenant.applyProject({primary, redirects: [{from}]});
      await tenant.sees(primary, {state: 'Live', Routed: 'Serving'});
      await tenant.sees(from, {state: 'Live', Routed: 'Redirecting'});
      await visitor.untilAnswer(`https://${from}/`, ({location}) => location === `https://${primary}/`);
    }
    const observation = await observed.stop();
    expect(failuresOf(observation)).toEqual([]);
    expect(statusesOf(observation)).toEqual([200, 301]);
  });
}

export function changing(): void {
  it('a host moves from primary to redirects and never fails a request', async () => {
    const tenant = await newClusterTenant('demote');
    const [old, young] = [tenant.host('old'), tenant.host('young')];
    await tenant.goLive({primary: old});
    const observed = visitor.observe(`https://${old}/`, `http://${old}/`);
    await tenant.applyProject({primary: young, redirects: [{from: old}]});
    await tenant.sees(old, {state: 'Degraded', Routed: 'TargetNotLive'});
    expect(await visitor.request(`https://${old}/`)).toMatchObject({status: 200});
    await tenant.createRecords(young);
    await tenant.sees(old, {state: 'Live', Routed: 'Redirecting'});
    await visitor.untilAnswer(`https://${old}/a?b=c`, ({location}) => location === `https://${young}/a?b=c`);
    const observation = await observed.stop();
    expect(failuresOf(observation)).toEqual([]);
    expect(statusesOf(observation)).toEqual([200, 301]);
  });

  it('if two Projects list a host, the older one has it; when that is deleted, the other takes over without a gap', async () => {
    const tenant = await newClusterTenant('heir');
    const host = tenant.host('shop');
    await tenant.deploy('heir');
    await tenant.goLive({primary: host});
    await tenant.applyProject({primary: host}, {name: 'younger', service: 'heir'});
    await tenant.seesProject('younger', {DomainsReady: 'HostInOtherProject'});
    const observed = visitor.observe(`https://${host}/`);
    await tenant.deleteProject('shop');
    await visitor.untilAnswer(`https://${host}/`, ({body}) => body.includes('text=heir'));
    await tenant.sees(host, {state: 'Live'});
    await tenant.seesProject('younger', {DomainsReady: 'AllLive'});
    expect(failuresOf(await observed.stop())).toEqual([]);
  });

  it('a host that is taken out and added again gets its old certificate back without a new order', async () => {
    const tenant = await newClusterTenant('return');
    const host = tenant.host('shop');
    const attempts = tenant.recordAttempts();
    await tenant.goLive({primary: host});
    const {requests, orders} = attempts.names();
    const before = await visitor.request(`https://${host}/`);
    await tenant.applyProject(undefined);
    await tenant.seesNothingOf(host);
    await tenant.applyProject({primary: host});
    await tenant.sees(host, {state: 'Live'});
    const after = await visitor.untilAnswer(`https://${host}/`, ({status}) => status === 200);
    expect(after.certificate).toEqual(before.certificate);
    expect(attempts.names()).toMatchObject({requests, orders});
    await attempts.stop();
  });

  it('a host is removed from its Project, and its neighbor never fails a request', async () => {
    const tenant = await newClusterTenant('neighbour');
    const [host, neighbour] = [tenant.host('shop'), tenant.host('neighbour')];
    await tenant.goLive({primary: host, aliases: [neighbour]});
    const observed = visitor.observe(`https://${neighbour}/`, `http://${neighbour}/`);
    await tenant.applyProject({aliases: [neighbour]});
    await tenant.seesNothingOf(host);
    await visitor.untilGone(host);
    expect(failuresOf(await observed.stop())).toEqual([]);
  });

  it('a Project and a manually created Domain that are deleted together leave nothing behind', async () => {
    const tenant = await newClusterTenant('together');
    const [listed, made] = [tenant.host('listed'), tenant.host('made')];
    await tenant.goLive({primary: listed});
    await tenant.applyDomain(made);
    await tenant.createRecords(made);
    await tenant.sees(made, {state: 'Live'});
    await Promise.all([tenant.deleteProject(), tenant.deleteDomain(listed), tenant.deleteDomain(made)]);
    await Promise.all([tenant.seesNothingOf(listed), tenant.seesNothingOf(made)]);
    for (const host of [listed, made]) {
      await visitor.untilGone(host);
    }
  });
}

/** Every response status, once each. */
function statusesOf({visits}: Observation): number[] {
  const all = visits.flatMap(({outcome}) =>
    outcome instanceof Error ? [] : outcome.answers.map(({status}) => status),
  );
  return [...new Set(all)].sort();
}
