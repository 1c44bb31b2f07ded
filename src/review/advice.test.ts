import {expect, test} from 'vitest';
import {policyReason} from './advice.ts';
import type {Rule} from './policies.ts';

const advised = (rule: Rule, message: string, kind: string) =>
  policyReason({rule, message}, {apiVersion: 'any/v1', kind, metadata: {name: 'any'}}, 'traefik');

test.each<{what: string; rule: Rule; kind: string; message: string; value: string; advice: string}>([
  {
    what: 'the server of an Issuer, as the value takes it',
    rule: 'issuers',
    kind: 'Issuer',
    message:
      "The platform does not list the server https://ca.example/dir for tenants' Issuers. Use the platform's issuer.",
    value: 'config.certificates.tenantIssuers.servers',
    advice: "{url: 'https://ca.example/dir'}",
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
    advice: 'serves class second',
  },
])('the advice on $what', ({rule, kind, message, value, advice}) => {
  const reason = advised(rule, message, kind);
  expect(reason.values[0]).toBe(value);
  expect(reason.advice).toContain(advice);
});
