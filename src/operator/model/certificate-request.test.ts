import {expect, test} from 'vitest';
import {caAccountOf} from './ca-account.ts';
import {isOurs} from './certificate-request.ts';
import type {OperatorConfig} from './config.ts';

const ISSUER = {name: 'ca', kind: 'ClusterIssuer', group: 'cert-manager.io'};

/** `account`: the CA account that it orders from, in namespace a. */
test.each([
  {configured: ISSUER, issuerRef: ISSUER, ours: true, account: 'ClusterIssuer/ca'},
  {configured: ISSUER, issuerRef: {...ISSUER, group: ''}, ours: true, account: 'ClusterIssuer/ca'},
  {configured: ISSUER, issuerRef: {...ISSUER, kind: 'Issuer'}, ours: true, account: undefined},
  {configured: ISSUER, issuerRef: {name: 'ca'}, ours: true, account: undefined},
  {configured: ISSUER, issuerRef: {...ISSUER, kind: 'Unknown'}, ours: false, account: undefined},
  {configured: ISSUER, issuerRef: {...ISSUER, group: 'other.test'}, ours: false, account: undefined},
  {
    configured: {...ISSUER, kind: 'Issuer'},
    issuerRef: {name: 'ca', kind: '', group: ''},
    ours: true,
    account: 'Issuer/a/ca',
  },
  {configured: {...ISSUER, group: 'other.test'}, issuerRef: ISSUER, ours: true, account: undefined},
  {
    configured: {...ISSUER, group: 'other.test'},
    issuerRef: {...ISSUER, group: 'other.test'},
    ours: true,
    account: 'ClusterIssuer/ca',
  },
])('a request to $issuerRef, where $configured is configured', ({configured, issuerRef, ours, account}) => {
  const config = {certificates: {issuerRef: configured}} as OperatorConfig;
  const request = {
    apiVersion: 'cert-manager.io/v1',
    kind: 'CertificateRequest',
    metadata: {name: 'any', namespace: 'a'},
    spec: {request: '', issuerRef},
  };
  expect(isOurs(config, request)).toBe(ours);
  expect(caAccountOf(config, 'a', issuerRef)).toBe(account);
});
