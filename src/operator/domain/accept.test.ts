import {expect, test} from 'vitest';
import {domainView, memoryOperator} from '../../../test/support/memory-operator.ts';
import {project as projectOf} from '../../../test/support/objects.ts';
import {operatorConfig} from '../../../test/support/operator-config.ts';
import {ANNOTATION} from '../../api/names.ts';
import type {CachedProject} from '../kinds/kinds.ts';
import {accept} from './accept.ts';

const {platform, ...rest} = operatorConfig();
const config = {...rest, platform: {...platform, acmeDomain: 'acme.platform.test'}};
const project: CachedProject = {
  ...projectOf('a', 'shop'),
  metadata: {name: 'shop', annotations: {[ANNOTATION.firstDeployedAt]: '2026-11-26T05:00:00Z'}},
  defaultHost: '',
};

interface Given {
  readonly hasPlace?: boolean;
  readonly customDomains?: boolean;
  readonly host?: string;
  readonly project?: undefined;
  readonly holder?: 'us';
}

test.each<{what: string; given: Given; want: string}>([
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
  {what: 'in the ACME domain', given: {host: 'a.acme.platform.test'}, want: 'ReservedHost'},
  {what: 'above the ACME domain', given: {host: 'platform.test'}, want: 'ReservedHost'},
])('a Domain $what: $want', ({given, want}) => {
  const {hasPlace = true, customDomains = true, ...view} = given;
  const {account} = domainView();
  const plan = {...account.plan, customDomains, maxDomains: 3};
  const places = {domains: {has: () => hasPlace}, projects: {has: () => true}};
  const whole = domainView({project, ...view, account: {...account, plan}});
  expect(accept({...memoryOperator({config}).operator, places}, whole).reason).toBe(want);
});
