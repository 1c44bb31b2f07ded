import {expect, test} from 'vitest';
import type {Certificate} from '../resources.ts';
import {assessCertificate} from './certificate.ts';

const FAILED_AT = '2026-11-21T12:00:00Z';

function certificate(status: 'True' | 'False', message: string, lastFailureTime?: string): Certificate {
  const issuing = {type: 'Issuing', status, reason: 'any', message, lastTransitionTime: FAILED_AT};
  return {
    apiVersion: 'cert-manager.io/v1',
    kind: 'Certificate',
    metadata: {name: 'np-a', namespace: 'a'},
    spec: {secretName: 'np-a', issuerRef: {name: 'ca'}},
    status: {conditions: [issuing], ...(lastFailureTime && {lastFailureTime})},
  };
}

test.each([
  ['order is in "invalid" state: ', 'order is in "invalid" state.'],
  ['too many certificates already issued.', 'too many certificates already issued.'],
  ['no such account', 'no such account.'],
])('a refusal that says "%s" is told as one sentence', (message, why) => {
  expect(assessCertificate(certificate('False', message, FAILED_AT), false)).toMatchObject({kind: 'failed', why});
});

test('progress is told as one sentence', () => {
  const found = assessCertificate(certificate('True', 'Issuing certificate as Secret does not exist.'), false);
  expect(found).toMatchObject({
    kind: 'issuing',
    progress: ' cert-manager: Issuing certificate as Secret does not exist.',
  });
});
