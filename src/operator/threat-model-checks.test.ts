import {expect, test} from 'vitest';
import {operatorConfig} from '../../test/support/operator-config.ts';
import {slimClusterIssuer} from './caches/slim.ts';
import type {OperatorConfig} from './config/config.ts';
import type {Issuer} from './kinds/kinds.ts';
import {configuredProblems, edgeVersions, issuerProblems, tooOld, unknownVersion} from './threat-model-checks.ts';

type Routing = OperatorConfig['routing'];

const config = operatorConfig();

test.each([
  {version: 'v1.17.9', old: true},
  {version: '1.18.0', old: false},
  {version: 'v1.21.2-beta.0', old: false},
  {version: 'v2.0.0', old: false},
  {version: undefined, old: false},
])('cert-manager $version is too old: $old', ({version, old}) => {
  expect(tooOld('cert-manager', version, '1.18.0')).toHaveLength(old ? 1 : 0);
});

function problems(notEnforced: readonly string[], approves = true, version = ''): string[] {
  const config = operatorConfig(`
admission: {notEnforced: ${JSON.stringify(notEnforced)}}
routing: {provider: traefik, traefik: {version: '${version}'}}
`);
  const approval = {...config.certificates.approval, enabled: approves};
  return configuredProblems({...config, certificates: {...config.certificates, approval}});
}

test('reports nothing with the chart’s defaults', () => {
  expect(problems([])).toEqual([]);
});

// promise: no-bypass
test('reports everything that is off', () => {
  const [policies, approval, edge] = problems(['routes'], false, '3.6.10');
  expect(policies).toContain('The admission policies are not enforced (routes)');
  expect(approval).toContain('config.certificates.approval.enabled is false');
  expect(edge).toContain('Traefik 3.6.10 is too old');
});

test('knows the version of each edge that has routes, as far as it is configured', () => {
  const {routing} = operatorConfig();
  const versions = (provider: Routing['provider'], movingFrom: Routing['movingFrom'] = 'none', gateway = '') =>
    edgeVersions({
      ...{...routing, provider, movingFrom},
      ...{traefik: {...routing.traefik, version: '3.6.12'}, gateway: {...routing.gateway, version: gateway}},
    });
  expect(versions('traefik')).toEqual([['traefik', '3.6.12']]);
  expect(versions('gateway')).toEqual([['gateway', undefined]]);
  expect(versions('gateway', 'traefik', 'Envoy Gateway 1.9.0')).toEqual([
    ['traefik', '3.6.12'],
    ['gateway', 'Envoy Gateway 1.9.0'],
  ]);
});

// promise: no-bypass
test.each([
  {component: 'traefik', says: 'Set config.routing.traefik.version'},
  {component: 'gateway', says: 'Set config.routing.gateway.version'},
  {component: 'cert-manager', says: 'Its CRDs have no label'},
])('an unknown version of $component is reported at startup', ({component, says}) => {
  expect(unknownVersion(component)).toContain(says);
});

test.each([
  {spec: {acme: {server: 'https://acme.test'}}, reported: ['letsencrypt', 'tenants']},
  {spec: {ca: {}}, reported: []},
  {spec: undefined, reported: []},
])('ClusterIssuers with $spec are reported: $reported', ({spec, reported}) => {
  const ref = (name: string) => ({name, kind: 'ClusterIssuer', group: 'cert-manager.io'}) as const;
  const {approval, ...others} = config.certificates;
  const certificates = {
    ...others,
    issuerRef: ref('letsencrypt'),
    formerIssuerRefs: [ref('gone'), {...ref('own'), kind: 'Issuer' as const}],
    approval: {
      ...approval,
      tenantCertificates: {...approval.tenantCertificates, hosts: [ref('letsencrypt'), ref('tenants')]},
    },
  };
  const issuer: Issuer = {
    apiVersion: 'cert-manager.io/v1',
    kind: 'ClusterIssuer',
    metadata: {name: ''},
    ...(spec && {spec}),
  };
  const platform = {...config.platform, baseDomain: 'apps.test'};
  const cached = new Map(
    ['letsencrypt', 'tenants', 'own', 'unlisted'].map(name => [
      name,
      slimClusterIssuer({...issuer, metadata: {name}}, {platform}),
    ]),
  );
  const found = issuerProblems({...config, platform, certificates}, cached);
  expect(found).toEqual(reported.map(name => expect.stringMatching(`^ClusterIssuer ${name} speaks ACME.* apps.test`)));
});
