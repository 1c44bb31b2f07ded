import {expect, test} from 'vitest';
import {ANNOTATION} from '../../api/names.ts';
import {AgeRanks} from '../state/age-ranks.ts';
import type {Operator} from '../state/context.ts';
import {accept} from './accept.ts';
import type {DomainView} from './view.ts';

const project = {metadata: {name: 'shop', annotations: {[ANNOTATION.firstDeployedAt]: '2026-11-26T05:00:00Z'}}};

/** Domains `1` to `count` of one account, from the oldest to the youngest; `held` have their host. */
function decide(number: number, count: number, maxDomains: number, held: readonly number[]): string {
  const hosts = Array.from({length: count}, (_, index) => `${index + 1}.example.com`);
  const domainAges = new AgeRanks();
  const domains = new Map(
    hosts.map((name, index) => {
      const creationTimestamp = `2026-11-26T05:00:${String(index).padStart(2, '0')}Z`;
      const metadata = {name, namespace: 'acme', creationTimestamp};
      return [`acme/${name}`, {kind: 'Domain', apiVersion: '', metadata, spec: {projectRef: {name: 'shop'}}}] as const;
    }),
  );
  for (const domain of domains.values()) domainAges.add(domain);
  const claims = held.map(index => ({metadata: {name: hosts[index - 1]}, spec: {namespace: 'acme'}}));
  const operator = {
    config: {platform: {baseDomain: 'apps.test', targetDomain: 'edge.test', reservedHosts: []}},
    removals: {isHeld: () => false},
    places: {listing: () => []},
    stores: {
      domains,
      domainAges,
      namespaces: {byIndex: () => [{metadata: {name: 'acme'}}]},
      claims: {byIndex: () => claims},
    },
  } as unknown as Operator;
  const host = `${number}.example.com`;
  const key: `acme/${string}` = `acme/${host}`;
  const account = {id: 'acme', planName: 'pro', plan: {customDomains: true, maxDomains}};
  const view = {key, host, namespace: 'acme', domain: domains.get(key), project, account};
  return accept(operator, view as unknown as DomainView).reason;
}

test.each([
  {what: 'the youngest of as many as the plan allows', number: 3, count: 3, want: 'Accepted'},
  {what: 'one that is beyond the plan', number: 4, count: 4, want: 'PlanLimitReached'},
  {what: 'an older one, if others are beyond the plan', number: 3, count: 5, want: 'Accepted'},
  {what: 'an older one, if a younger one holds its host', number: 3, count: 4, held: [4], want: 'PlanLimitReached'},
  {what: 'an older one, if another older one holds its host', number: 3, count: 4, held: [1], want: 'Accepted'},
])('a plan for three Domains: $what: $want', ({number, count, held = [], want}) => {
  expect(decide(number, count, 3, held)).toBe(want);
});
