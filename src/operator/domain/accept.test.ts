import {expect, test} from 'vitest';
import {memoryCaches} from '../../../test/support/memory-caches.ts';
import {operatorConfig} from '../../../test/support/operator-config.ts';
import {ANNOTATION, API_VERSION, LABEL} from '../../api/names.ts';
import type {KubeObject} from '../../runtime/kube/object.ts';
import type {Operator} from '../state/context.ts';
import {createStores} from '../state/stores.ts';
import {accept} from './accept.ts';
import type {DomainView} from './view.ts';

const config = operatorConfig();
const project = {metadata: {name: 'shop', annotations: {[ANNOTATION.firstDeployedAt]: '2026-11-26T05:00:00Z'}}};

interface Given {
  readonly count: number;
  readonly maxDomains: number;
  /** The numbers of the Domains that have their host. */
  readonly held?: readonly number[];
  /** How many hosts the account has released. */
  readonly released?: number;
}

/** The Domains `1` to `count` of one account, from the oldest to the youngest. */
function account({count, maxDomains, held = [], released = 0}: Given) {
  const caches = memoryCaches();
  const edge = {resources: [], platformKinds: [], backends: () => [], emptied: () => undefined};
  const stores = createStores(caches.manager, config, {defaultHost: () => ''}, edge);
  const put = (kind: string, metadata: KubeObject['metadata'], spec: object = {}) =>
    caches.put({apiVersion: API_VERSION, kind, metadata: {uid: metadata.name, ...metadata}, ...{spec}});
  const hostOf = (number: number) => `${number}.example.com`;
  put('Namespace', {name: 'acme', labels: {[LABEL.account]: 'acme'}});
  for (let number = 1; number <= count; number++) {
    const creationTimestamp = new Date(Date.parse('2026-11-26T05:00:00Z') + number * 1000).toISOString();
    const spec = {host: hostOf(number), projectRef: {name: 'shop'}};
    put('Domain', {name: hostOf(number), namespace: 'acme', creationTimestamp}, spec);
  }
  const holder = {namespace: 'acme', account: 'acme'};
  for (const number of held) put('DomainClaim', {name: hostOf(number)}, holder);
  for (let number = 1; number <= released; number++) {
    put('DomainClaim', {name: `released-${number}.example.com`}, {...holder, releasedAt: '2026-11-26T06:00:00Z'});
  }
  let reads = 0;
  const claims = {
    byIndex: (name: string, value: string) => {
      const found = stores.claims.byIndex(name, value);
      reads += found.length;
      return found;
    },
  };
  const operator = {
    ...{config, places: {listing: () => []}},
    stores: {...stores, claims},
  } as unknown as Operator;
  const decide = (number: number): string => {
    const key: `acme/${string}` = `acme/${hostOf(number)}`;
    const account = {id: 'acme', planName: 'pro', plan: {customDomains: true, maxDomains}};
    const view = {key, host: hostOf(number), namespace: 'acme', domain: stores.domains.get(key), project, account};
    return accept(operator, view as unknown as DomainView).reason;
  };
  return {decide, reads: () => reads};
}

test.each([
  {what: 'the youngest of as many as the plan allows', number: 3, count: 3, want: 'Accepted'},
  {what: 'one that is beyond the plan', number: 4, count: 4, want: 'PlanLimitReached'},
  {what: 'an older one, if others are beyond the plan', number: 3, count: 5, want: 'Accepted'},
  {what: 'an older one, if a younger one holds its host', number: 3, count: 4, held: [4], want: 'PlanLimitReached'},
  {what: 'an older one, if another older one holds its host', number: 3, count: 4, held: [1], want: 'Accepted'},
  {what: 'an older one, if hosts were released', number: 3, count: 4, released: 5, want: 'Accepted'},
])('a plan for three Domains: $what: $want', ({number, want, ...given}) => {
  expect(account({...given, maxDomains: 3}).decide(number)).toBe(want);
});

test('judging all Domains of an account reads few claims, however many are beyond the plan and however many it released', () => {
  const count = 500;
  const {decide, reads} = account({count, maxDomains: 3, held: [1, 2, 500], released: 1000});
  const reasons = Array.from({length: count}, (_, index) => decide(index + 1));
  expect(reasons.filter(reason => reason === 'Accepted')).toHaveLength(2);
  expect(reads()).toBeLessThanOrEqual(3 * 3); // for each Domain that its age would allow, what the account holds
});
