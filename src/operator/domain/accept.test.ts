import {expect, test} from 'vitest';
import {operatorConfig} from '../../../test/support/operator-config.ts';
import {ANNOTATION} from '../../api/names.ts';
import {accept} from './accept.ts';
import type {DomainOperator} from './context.ts';
import type {DomainView} from './view.ts';

const config = operatorConfig();
const project = {
  metadata: {name: 'shop', annotations: {[ANNOTATION.firstDeployedAt]: '2026-11-26T05:00:00Z'}},
  spec: {service: {name: 'shop'}},
};

test.each([
  {what: 'with a place in the plan', given: {}, want: 'Accepted'},
  {what: 'beyond the plan', given: {hasPlace: false}, want: 'PlanLimitReached'},
  {
    what: 'beyond the plan, without its Project',
    given: {hasPlace: false, project: undefined},
    want: 'PlanLimitReached',
  },
  {what: 'beyond the plan, but held', given: {hasPlace: false, holder: 'us'}, want: 'Accepted'},
  {what: 'on a plan without domains', given: {hasPlace: false, customDomains: false}, want: 'PlanRequired'},
  {what: 'that is invalid', given: {hasPlace: false, host: 'co.uk'}, want: 'InvalidHost'},
  {what: 'without its Project', given: {project: undefined}, want: 'ProjectNotFound'},
])('a Domain $what: $want', ({given, want}) => {
  const {
    hasPlace = true,
    customDomains = true,
    host = 'a.example.com',
    ...view
  } = given as Partial<{
    hasPlace: boolean;
    customDomains: boolean;
    host: string;
  }>;
  const operator = {
    config,
    stores: {domains: {get: () => undefined}, projects: {byIndex: () => [], get: () => undefined}},
    places: {domains: {has: () => hasPlace}, projects: {has: () => true}},
  } as unknown as DomainOperator;
  const account = {id: 'acme', planName: 'pro', plan: {customDomains, maxDomains: 3}};
  const domain = {metadata: {name: host, namespace: 'acme'}, spec: {host, projectRef: {name: 'shop'}}};
  const whole = {key: `acme/${host}`, host, namespace: 'acme', domain, project, account, holder: 'nobody', ...view};
  expect(accept(operator, whole as unknown as DomainView).reason).toBe(want);
});
