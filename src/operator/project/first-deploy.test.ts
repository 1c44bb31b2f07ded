/** How often the operator lists a project's EndpointSlices. */

import {beforeEach, expect, test} from 'vitest';
import {ManualClock} from '../../../test/support/manual-clock.ts';
import {apiOf} from '../../../test/support/memory-operator.ts';
import {ANNOTATION} from '../../api/names.ts';
import type {KubeObject} from '../../runtime/kube/object.ts';
import {type CachedProject, PROJECT} from '../kinds/kinds.ts';
import {FirstDeploys} from './first-deploy.ts';

const NOW = Date.parse('2026-06-01T00:00:00Z');

let clock: ManualClock;
let asked: number;
let patched: unknown[];
let isReady: boolean;
let service: KubeObject;
let find: (project?: Partial<KubeObject['metadata']>, hasPlace?: boolean) => Promise<unknown>;

beforeEach(() => {
  clock = new ManualClock(NOW);
  [asked, patched, isReady] = [0, [], false];
  service = {apiVersion: 'v1', kind: 'Service', metadata: {name: 'shop', namespace: 'a', resourceVersion: '1'}};
  const client = {
    async *list(_: unknown, {namespace, labelSelector}: {namespace: string; labelSelector: string}) {
      asked += 1;
      expect({namespace, labelSelector}).toEqual({namespace: 'a', labelSelector: 'kubernetes.io/service-name=shop'});
      yield {items: [{endpoints: []}, {endpoints: [{conditions: {ready: isReady}}]}]};
    },
    patch: async (kind: unknown, _: unknown, patch: unknown) => {
      expect(kind).toBe(PROJECT);
      patched.push(patch);
    },
  };
  const stores = {services: {get: () => service}};
  const deploys = new FirstDeploys();
  const metadata = {name: 'shop', namespace: 'a', creationTimestamp: new Date(NOW).toISOString()};
  find = (changes, hasPlace = true) => {
    const project = {metadata: {...metadata, ...changes}, spec: {service: {name: 'shop', port: 80}}};
    const places = {projects: {has: () => hasPlace}};
    return deploys.find({...apiOf(client), clock, stores, places}, project as CachedProject);
  };
});

test('a young project is asked about every second, and its first ready endpoint is recorded', async () => {
  expect(await find()).toEqual({wakeAtMs: NOW + 1000});
  expect(await find()).toEqual({wakeAtMs: NOW + 1000});
  expect(asked).toBe(1);
  await clock.advance(1000);
  isReady = true;
  const deployedAt = '2026-06-01T00:00:01Z';
  expect(await find()).toEqual({deployedAt});
  expect(patched).toEqual([{metadata: {annotations: {[ANNOTATION.firstDeployedAt]: deployedAt}}}]);
});

test('an old one is asked about less and less often, but immediately after a change of its Service', async () => {
  const created = (ms: number) => ({creationTimestamp: new Date(NOW - ms).toISOString()});
  expect(await find({...created(300_000)})).toEqual({wakeAtMs: NOW + 10_000});
  service = {...service, metadata: {...service.metadata, resourceVersion: '2'}};
  expect(await find({...created(30 * 86_400_000)})).toEqual({wakeAtMs: NOW + 60_000});
  expect(asked).toBe(2);
});

test.each([
  {what: 'with its first deploy', metadata: {annotations: {[ANNOTATION.firstDeployedAt]: 'then'}}, hasPlace: true},
  {what: 'beyond the plan', metadata: {}, hasPlace: false},
])('one $what is never asked about', async ({metadata, hasPlace}) => {
  const {wakeAtMs} = (await find(metadata, hasPlace)) as {wakeAtMs?: number};
  expect({wakeAtMs, asked}).toEqual({wakeAtMs: undefined, asked: 0});
});
