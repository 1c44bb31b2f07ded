/** The order of writes to a namespace's record, by a client that refuses additions. */
import {expect, test} from 'vitest';
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
  const reconcile = reconcileHeldHosts({stores, config} as unknown as Operator);
  const context = {client: client as unknown as KubeClient, signal: new AbortController().signal};
  await expect(reconcile('a', context as Parameters<typeof reconcile>[1])).rejects.toThrow('refused');
  expect(patches).toEqual([{'lost.test': null}, {'new.test': 'uid-new'}]);
});
