/** The writes to a namespace's record, by clients without an API server. */
import {expect, test} from 'vitest';
import {ManualClock} from '../../../test/support/manual-clock.ts';
import type {KubeClient} from '../../runtime/kube/client.ts';
import type {DomainClaim, HeldHosts} from '../model/kinds.ts';
import type {Operator} from '../state/context.ts';
import {reconcileHeldHosts} from './held-hosts.ts';

test('a lost host leaves the record even if the API server refuses to add another one', async () => {
  const claim = {metadata: {name: 'new.test', uid: 'uid-new'}, spec: {account: 'uid-a', namespace: 'a'}} as DomainClaim;
  const record = {
    metadata: {namespace: 'a', name: 'nameplate', resourceVersion: '1'},
    spec: {hosts: {'lost.test': 'uid-lost'}},
  } as unknown as HeldHosts;
  const namespace = {metadata: {name: 'a', uid: 'uid-a'}};
  const state = 'synced';
  const stores = {
    claims: {state, byIndex: () => [claim], get: () => claim},
    projects: {state},
    namespaces: {state, get: () => namespace},
    heldHosts: {state, get: () => record},
  };
  const patches: unknown[] = [];
  const client = {
    get: async () => claim,
    patch: async (_kind: unknown, _key: unknown, {spec}: {spec: {hosts: object}}) => {
      patches.push(spec.hosts);
      if (Object.hasOwn(spec.hosts, 'new.test')) throw new Error('refused');
      return record;
    },
  };
  const config = {defaultHost: {tls: 'wildcard'}, plans: {pro: {}}, defaultPlan: 'pro'};
  const reconcile = reconcileHeldHosts({stores, config, clock: new ManualClock()} as unknown as Operator);
  const context = {client: client as unknown as KubeClient, signal: new AbortController().signal};
  await expect(reconcile('a', context as Parameters<typeof reconcile>[1])).rejects.toThrow('refused');
  expect(patches).toEqual([{'lost.test': null}, {'new.test': 'uid-new'}]);
});

test('claims that arrive within a second of each other cost two writes, and a removal does not wait', async () => {
  const clock = new ManualClock();
  const claims = new Map<string, DomainClaim>();
  let record: HeldHosts | undefined;
  const writes: object[] = [];
  const write = async ({spec}: {spec: {hosts: Record<string, string | null>}}) => {
    writes.push(spec.hosts);
    const hosts = Object.entries({...record?.spec.hosts, ...spec.hosts}).filter(([, uid]) => uid !== null);
    record = {metadata: {namespace: 'a', name: 'nameplate'}, spec: {hosts: Object.fromEntries(hosts)}} as HeldHosts;
    return record;
  };
  const client = {
    get: async (_kind: unknown, {name}: {name: string}) => claims.get(name),
    create: async (_kind: unknown, object: Parameters<typeof write>[0]) => write(object),
    patch: async (_kind: unknown, _key: unknown, patch: Parameters<typeof write>[0]) => write(patch),
  };
  const state = 'synced';
  const stores = {
    claims: {state, byIndex: () => [...claims.values()], get: (host: string) => claims.get(host)},
    projects: {state},
    namespaces: {state, get: () => ({metadata: {name: 'a', uid: 'uid-a'}})},
    heldHosts: {state, get: () => record},
  };
  const config = {defaultHost: {tls: 'wildcard'}, plans: {pro: {}}, defaultPlan: 'pro'};
  const reconcile = reconcileHeldHosts({stores, config, clock} as unknown as Operator);
  const context = {client: client as unknown as KubeClient, signal: new AbortController().signal};
  const run = () => reconcile('a', context as Parameters<typeof reconcile>[1]);
  for (let index = 0; index < 20; index++) {
    const [name, uid] = [`h${index}.test`, `uid-${index}`];
    claims.set(name, {metadata: {name, uid}, spec: {account: 'uid-a', namespace: 'a'}} as DomainClaim);
    await run();
    await clock.advance(10);
  }
  claims.delete('h0.test');
  expect(await run()).toMatchObject({kind: 'after'});
  expect(writes).toEqual([{'h0.test': 'uid-0'}, {'h0.test': null}]);
  await clock.advance(1000);
  await run();
  expect(Object.keys(writes[2] ?? {})).toHaveLength(19);
  expect(await run()).toEqual({kind: 'done'});
});
