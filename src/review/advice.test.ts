import {describe, expect, test} from 'vitest';
import {parse} from 'yaml';
import type {CertificateRequest} from '../operator/model/kinds.ts';
import type {KubeObject} from '../runtime/kube/object.ts';
import {approvalReason, issuerAdvice, policyReason} from './advice.ts';
import type {Rule} from './policies.ts';

/** Texts of a tenant that would add to the value if they were copied into YAML as they are. */
const HOSTILE = [
  "https://ca.example/dir'}, {url: 'https://evil.example/dir",
  'https://ca.example/dir, https://evil.example/dir',
  'https://ca.example/dir"}\n- {url: "https://evil.example/dir',
  'a, kind: ClusterIssuer, name: letsencrypt-prod}',
  "it's # a comment",
  'true',
  '- x: *y',
];
/** The value that the advice tells to list. */
const valueIn = (advice: string) =>
  parse(/(?:list it in|List its issuer in) [\w.]+: (.*?)\.(?: [A-Z]|$)/s.exec(advice)?.[1] ?? '');

const advised = (rule: Rule, message: string, kind: string, spec: object = {}) => {
  const object: KubeObject & {spec: object} = {apiVersion: 'any/v1', kind, metadata: {name: 'any'}, spec};
  return policyReason({rule, message}, object, 'traefik');
};

test.each<{
  what: string;
  rule: Rule;
  kind: string;
  message: string;
  spec?: object;
  value: string;
  advice: string;
}>([
  {
    what: 'the server of an Issuer, as the value takes it',
    rule: 'issuers',
    kind: 'Issuer',
    message:
      "The platform does not list the server https://ca.example/dir for tenants' Issuers. Use the platform's issuer.",
    spec: {vault: {server: 'https://ca.example/dir'}},
    value: 'config.certificates.tenantIssuers.servers',
    advice: '{url: "https://ca.example/dir"}.',
  },
  {
    what: 'the class of a Gateway',
    rule: 'routes',
    kind: 'Gateway',
    message: 'A Gateway in this namespace may not choose, and its class must be in admission.tenantGatewayClasses.',
    value: 'admission.tenantGatewayClasses',
    advice: 'its own proxies',
  },
  {
    what: 'a further class of the edge',
    rule: 'routes',
    kind: 'Ingress',
    message: 'Only Nameplate may write Ingresses of class second. To publish a host, list it in spec.domains.',
    value: 'admission.edgeClasses',
    advice: 'serves class "second"',
  },
])('the advice on $what', ({rule, kind, message, spec, value, advice}) => {
  const reason = advised(rule, message, kind, spec);
  expect(reason.values[0]).toBe(value);
  expect(reason.advice).toContain(advice);
});

describe.each(HOSTILE)('the text %j stays one value', text => {
  test('as the server of an Issuer that a policy refused', () => {
    const message = `The platform does not list the server ${text} for tenants' Issuers. Use the platform's issuer.`;
    const {advice} = advised('issuers', message, 'Issuer', {vault: {server: text}});
    expect(valueIn(advice)).toEqual({url: text});
  });

  test('as the server of an Issuer that is not approved', () => {
    const {advice} = issuerAdvice(`names a server that the platform does not list: vault.server is ${text}`);
    expect(valueIn(advice)).toEqual({url: text});
  });

  test.each(['NotManaged', 'IssuerNotListed'] as const)('as the issuer of a request (%s)', reason => {
    const issuerRef = {name: text, kind: text, group: text};
    const request = {metadata: {name: 'any', namespace: 'any'}, spec: {issuerRef}} as CertificateRequest;
    const {advice} = approvalReason({type: 'Denied', reason, message: 'any'}, request, undefined);
    expect(valueIn(advice)).toEqual({name: text, kind: text, group: text});
  });
});

test('an Issuer with several servers gets a value for each', () => {
  const message = "The platform does not list the server https://a.example, ns.example for tenants' Issuers.";
  const spec = {venafi: {cloud: {url: 'https://a.example'}, ngts: {url: 'ns.example'}}};
  expect(advised('issuers', message, 'Issuer', spec).advice).toContain(
    '{url: "https://a.example"}, {url: "ns.example"}.',
  );
});
