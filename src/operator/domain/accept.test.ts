import {describe, expect, test} from 'vitest';
import {ON_GATEWAY} from '../../../test/support/edge.ts';
import {domainView, memoryOperator} from '../../../test/support/memory-operator.ts';
import {project as projectOf} from '../../../test/support/objects.ts';
import {operatorConfig} from '../../../test/support/operator-config.ts';
import {ANNOTATION} from '../../api/names.ts';
import {gateway} from '../edge/gateway.ts';
import {moving} from '../edge/moving.ts';
import {traefik} from '../edge/traefik.ts';
import type {CachedProject} from '../kinds/kinds.ts';
import {accept} from './accept.ts';

const {platform, ...rest} = operatorConfig();
const config = {
  ...rest,
  platform: {...platform, acmeDomain: 'acme.platform.test', reservedHosts: ['www.reserved.test']},
};
const project: CachedProject = {
  ...projectOf('a', 'shop'),
  metadata: {name: 'shop', annotations: {[ANNOTATION.firstDeployedAt]: '2026-11-26T05:00:00Z'}},
  defaultHost: '',
};

interface Given {
  readonly hasPlace?: boolean;
  readonly customDomains?: boolean;
  readonly host?: string;
  readonly redirect?: string;
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
  {what: 'for a wildcard', given: {host: '*.example.com'}, want: 'Accepted'},
  {what: 'for a wildcard that is held', given: {host: '*.example.com', holder: 'us'}, want: 'Accepted'},
  {what: 'for a wildcard at a platform zone', given: {host: '*.acme.platform.test'}, want: 'ReservedHost'},
  {what: 'for a wildcard below a platform zone', given: {host: '*.a.acme.platform.test'}, want: 'ReservedHost'},
  {what: 'for a wildcard above a platform zone', given: {host: '*.platform.test'}, want: 'ReservedHost'},
  {what: 'for a wildcard above a reserved host', given: {host: '*.reserved.test'}, want: 'ReservedHost'},
  {what: 'for a wildcard at a public suffix', given: {host: '*.co.uk'}, want: 'InvalidHost'},
  {
    what: 'for a wildcard that redirects',
    given: {host: '*.example.com', redirect: 'a.test'},
    want: 'WildcardUnsupported',
  },
])('a Domain $what: $want', ({given, want}) => {
  const {hasPlace = true, customDomains = true, redirect, ...view} = given;
  const {account} = domainView();
  const plan = {...account.plan, customDomains, maxDomains: 3};
  const places = {domains: {has: () => hasPlace}, projects: {has: () => true}};
  const {domain} = domainView(view);
  const spec = {...domain.spec, ...(redirect !== undefined && {redirect: {to: redirect}})};
  const whole = domainView({project, ...view, domain: {...domain, spec}, account: {...account, plan}});
  expect(accept({...memoryOperator({config}).operator, places}, whole).reason).toBe(want);
});

describe('a wildcard is refused, even if it is held', () => {
  const reasonWith = (parts: Partial<ReturnType<typeof memoryOperator>['operator']>) => {
    const {account} = domainView();
    const plan = {...account.plan, customDomains: true};
    const view = domainView({project, host: '*.example.com', holder: 'us', account: {...account, plan}});
    const {reason, message} = accept({...memoryOperator({config}).operator, ...parts}, view);
    return `${reason}: ${message}`;
  };

  test('by a platform without a name server', () => {
    const said = reasonWith({config: {...config, platform}});
    expect(said).toMatch(/^WildcardUnsupported: .*config\.platform\.acmeDomain/);
  });

  // attack: wildcard-over-host
  test('by an edge that cannot keep it from other hosts, and by both edges while one is replaced', () => {
    const next = gateway(ON_GATEWAY, 'challenges.test');
    const former = traefik(config.routing);
    for (const edge of [next, moving(next, former, config.routing)]) {
      expect(reasonWith({edge})).toMatch(/^WildcardUnsupported: /);
    }
  });
});
