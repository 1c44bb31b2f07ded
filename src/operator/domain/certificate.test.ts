import {expect, test} from 'vitest';
import type {Certificate} from '../resources.ts';
import {assessCertificate, pausedUntilMs} from './certificate.ts';

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

test('how long an order waited for its turn does not count as issuing', () => {
  const orderedAtMs = Date.parse(FAILED_AT) + 7_200_000;
  const found = assessCertificate(certificate('True', 'Issuing'), false, '', orderedAtMs);
  expect(found).toMatchObject({kind: 'issuing', sinceMs: orderedAtMs});
});

test.each([
  {failedHoursAgo: [], wantHours: undefined},
  {failedHoursAgo: [0.5], wantHours: 0.5},
  {failedHoursAgo: [1], wantHours: undefined},
  {failedHoursAgo: [3, 0.5], wantHours: 1.5},
  {failedHoursAgo: [7, 5, 1], wantHours: 3},
  {failedHoursAgo: [30, 0.5], wantHours: 0.5},
  {failedHoursAgo: [5, 4, 3, 2, 1, 0.5, 0.2, 0.1, 0], wantHours: 32},
])('after failures $failedHoursAgo hours ago a host that is added again waits $wantHours hours', row => {
  const hours = (n: number) => n * 3_600_000;
  const nowMs = Date.parse(FAILED_AT);
  const failures = row.failedHoursAgo.map(ago => new Date(nowMs - hours(ago)).toISOString());
  expect(pausedUntilMs(failures, nowMs)).toBe(row.wantHours && nowMs + hours(row.wantHours));
});
