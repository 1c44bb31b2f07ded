import {expect, test} from 'vitest';
import type {OperatorConfig} from '../model/config.ts';
import type {CertificateRequest} from '../model/kinds.ts';
import {isOfPlatform} from './decide.ts';

const group = 'cert-manager.io';
const [current, former] = [
  {kind: 'ClusterIssuer', name: 'letsencrypt', group},
  {kind: 'Issuer', name: 'own', group},
];
const certificates = {issuerRef: current, formerIssuerRefs: [former]} as unknown as OperatorConfig['certificates'];

test.each([
  ['a ClusterIssuer of the configuration', current, true],
  ['another ClusterIssuer', {...current, name: 'other'}, false],
  ['an Issuer, which its tenant may have created, whatever the configuration says', former, false],
])('%s is the platform’s: %o, %s', (_, issuerRef, expected) => {
  expect(isOfPlatform({certificates}, {spec: {issuerRef}} as unknown as CertificateRequest)).toBe(expected);
});
