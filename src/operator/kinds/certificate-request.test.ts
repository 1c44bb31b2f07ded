import {expect, test} from 'vitest';
import type {OperatorConfig} from '../config/config.ts';
import {isOurs} from './certificate-request.ts';
import {acmeIssuerOf} from './issuers.ts';

const ISSUER = {name: 'ca', kind: 'ClusterIssuer', group: 'cert-manager.io'};
const OURS = {name: 'ca', kind: 'ACMEIssuer', group: 'nameplate.dev'};

/** `acme`: the ACMEIssuer that it orders from. */
test.each([
  {configured: ISSUER, issuerRef: ISSUER, ours: true},
  {configured: ISSUER, issuerRef: {...ISSUER, group: ''}, ours: true},
  {configured: ISSUER, issuerRef: {...ISSUER, kind: 'Issuer'}, ours: true},
  {configured: ISSUER, issuerRef: {name: 'ca'}, ours: true},
  {configured: ISSUER, issuerRef: {...ISSUER, kind: 'Unknown'}, ours: false},
  {configured: ISSUER, issuerRef: {...ISSUER, group: 'other.test'}, ours: false},
  {configured: {...ISSUER, group: 'other.test'}, issuerRef: {...ISSUER, group: 'other.test'}, ours: true},
  {configured: OURS, issuerRef: OURS, ours: true, acme: 'ca'},
  {configured: ISSUER, issuerRef: OURS, ours: true, acme: 'ca'},
  {configured: OURS, issuerRef: ISSUER, ours: true},
  {configured: OURS, issuerRef: {name: 'ca', kind: 'ACMEIssuer'}, ours: false},
  {configured: OURS, issuerRef: {...OURS, group: 'other.test'}, ours: false},
])('a request to $issuerRef, where $configured is configured', ({configured, issuerRef, ours, acme}) => {
  const config = {certificates: {issuerRef: configured}} as OperatorConfig;
  const request = {
    apiVersion: 'cert-manager.io/v1',
    kind: 'CertificateRequest',
    metadata: {name: 'any', namespace: 'a'},
    spec: {request: '', issuerRef},
  };
  expect(isOurs(config, request)).toBe(ours);
  expect(acmeIssuerOf(issuerRef)).toBe(acme);
});
