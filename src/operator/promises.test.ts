import {expect, test} from 'vitest';
import type {OperatorConfig} from './model/config.ts';
import type {Issuer} from './model/kinds.ts';
import {configuredProblems, issuerProblems, tooOld} from './promises.ts';
import {slimClusterIssuer} from './state/slim.ts';

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
  const config = {
    admission: {notEnforced},
    certificates: {approval: {enabled: approves}},
    routing: {provider: 'traefik', traefik: {version}},
  };
  return configuredProblems(config as unknown as OperatorConfig);
}

test('reports nothing with the chart’s defaults', () => {
  expect(problems([])).toEqual([]);
});

test('reports everything that is off', () => {
  const [policies, approval, edge] = problems(['routes'], false, '3.6.10');
  expect(policies).toContain('The admission policies are not enforced (routes)');
  expect(approval).toContain('config.certificates.approval.enabled is false');
  expect(edge).toContain('Traefik 3.6.10 is too old');
});

test.each([
  {solvers: [{http01: {ingress: {}}}], reported: true},
  {solvers: [{http01: {ingress: {serviceType: 'ClusterIP'}}}, {http01: {gatewayHTTPRoute: {}}}], reported: true},
  {solvers: [{http01: {ingress: {serviceType: 'ClusterIP'}}}, {dns01: {}}], reported: false},
  {solvers: undefined, reported: false},
])('an issuer with the solvers $solvers may run out of node ports: $reported', ({solvers, reported}) => {
  const ref = (name: string) => ({name, kind: 'ClusterIssuer', group: 'cert-manager.io'});
  const certificates = {
    issuerRef: ref('letsencrypt'),
    formerIssuerRefs: [ref('gone'), {...ref('own'), kind: 'Issuer'}],
  };
  const acme = {server: 'https://acme.test', ...(solvers && {solvers})};
  const issuer: Issuer = {apiVersion: 'cert-manager.io/v1', kind: 'ClusterIssuer', metadata: {name: ''}, spec: {acme}};
  const cached = new Map(
    ['letsencrypt', 'own', 'unlisted'].map(name => [name, slimClusterIssuer({...issuer, metadata: {name}})]),
  );
  const found = issuerProblems({certificates} as unknown as OperatorConfig, cached);
  expect(found).toEqual(reported ? [expect.stringContaining('ClusterIssuer letsencrypt gives each')] : []);
});
