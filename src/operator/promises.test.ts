import {expect, test} from 'vitest';
import type {OperatorConfig} from './model/config.ts';
import {configuredProblems, tooOld} from './promises.ts';

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
    routing: {traefik: {version}},
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
