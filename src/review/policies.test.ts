import {expect, test} from 'vitest';
import {type BindingObject, type PolicyObject, policiesOf, readConfig} from './policies.ts';

const policy = (name: string, ...resourceRules: object[]) =>
  ({
    ...{apiVersion: 'any/v1', kind: 'ValidatingAdmissionPolicy', metadata: {name}},
    spec: {matchConstraints: {resourceRules}},
  }) as PolicyObject;
const binding = (policyName: string, ...validationActions: string[]) =>
  ({
    ...{apiVersion: 'any/v1', kind: 'ValidatingAdmissionPolicyBinding', metadata: {name: policyName}},
    spec: {policyName, validationActions},
  }) as BindingObject;
const ingresses = {apiGroups: ['networking.k8s.io'], resources: ['ingresses'], operations: ['CREATE', 'UPDATE']};
const deletions = {apiGroups: [''], resources: ['secrets'], operations: ['DELETE']};

test.each([
  {actions: ['Deny'], mode: 'enforce'},
  {actions: ['Audit', 'Warn'], mode: 'audit'},
  {actions: ['Audit'], mode: 'silent'},
])('$actions is mode $mode', ({actions, mode}) => {
  const found = policiesOf([policy('np-routes', ingresses, deletions)], [binding('np-routes', ...actions)]);
  const matches = [{group: 'networking.k8s.io', resource: 'ingresses'}];
  expect(found).toEqual([{name: 'np-routes', rule: 'routes', mode, matches}]);
});

test('a policy without a binding judges nothing, and one about claims judges no tenant', () => {
  const policies = [policy('np-routes', ingresses), policy('np-own-kinds', ingresses)];
  expect(policiesOf(policies, [binding('np-own-kinds', 'Deny')])).toEqual([]);
});

const config = `platform: {baseDomain: a.test, targetDomain: b.test}
certificates: {issuerRef: {name: letsencrypt}}
`;

test('reads a configuration file, and the ConfigMap that helm template prints', () => {
  const map = JSON.stringify({kind: 'ConfigMap', data: {'nameplate.yaml': config}});
  expect(readConfig(config, 'a file').certificates.issuerRef.name).toBe('letsencrypt');
  expect(readConfig(`---\n# Source: chart\n${map}`, 'a file')).toEqual(readConfig(config, 'a file'));
  expect(() => readConfig('certificates: {}', 'a file')).toThrow('a file cannot be used');
  expect(() => readConfig('a: [', 'a file')).toThrow('a file cannot be used');
});
