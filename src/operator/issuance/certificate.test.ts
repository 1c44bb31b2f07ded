import {expect, test} from 'vitest';
import type {Certificate} from '../model/kinds.ts';
import {assessCertificate, certifiedBy, pausedUntilMs} from './certificate.ts';

const FAILED_AT = '2026-11-21T12:00:00Z';
const NOTHING = {kind: 'nothing'} as const;

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
])('a refusal with the message "%s" is reported as one sentence', (message, why) => {
  expect(assessCertificate(certificate('False', message, FAILED_AT), NOTHING)).toMatchObject({kind: 'failed', why});
});

test('progress is reported as one sentence', () => {
  const found = assessCertificate(certificate('True', 'Issuing certificate as Secret does not exist.'), NOTHING);
  expect(found).toMatchObject({
    kind: 'issuing',
    progress: ' cert-manager: Issuing certificate as Secret does not exist.',
  });
});

test('the time that an order was queued does not count as issuing', () => {
  const orderedAtMs = Date.parse(FAILED_AT) + 7_200_000;
  const found = assessCertificate(certificate('True', 'Issuing'), NOTHING, '', orderedAtMs);
  expect(found).toMatchObject({kind: 'issuing', sinceMs: orderedAtMs});
});

/** Annotations as cert-manager writes them on the Secret: those that are always present, and others. */
const noted = (dnsNames: string, others: Record<string, string> = {}) => ({
  'alt-names': dnsNames,
  'common-name': '',
  'ip-sans': '',
  'uri-sans': '',
  ...others,
});

test.each([
  {annotations: noted('a.test'), kind: 'host'},
  {annotations: noted('A.test', {'common-name': 'a.test'}), kind: 'host'},
  {annotations: noted('victim.test'), kind: 'others', names: 'victim.test'},
  {annotations: noted('a.test,victim.test'), kind: 'others', names: 'a.test,victim.test'},
  {annotations: noted('*.test'), kind: 'others', names: '*.test'},
  {annotations: noted('a.test', {'common-name': 'victim.test'}), kind: 'others', names: 'a.test, victim.test'},
  {annotations: noted('a.test', {'ip-sans': '192.0.2.1'}), kind: 'others', names: 'a.test, 192.0.2.1'},
  {annotations: noted('a.test', {'uri-sans': 'spiffe://a.test/b'}), kind: 'others'},
  {annotations: noted('a.test', {'email-sans': 'a@a.test'}), kind: 'others'},
  {annotations: noted('', {'common-name': 'a.test'}), kind: 'others', names: 'a.test'},
  {annotations: noted(''), kind: 'others', names: 'nothing'},
  {annotations: noted('\u001b[2Jvictim.test'), kind: 'others', names: '?[2Jvictim.test'},
  {annotations: {}, kind: 'nothing'},
])('a Secret with $annotations is for $kind', ({annotations, ...want}) => {
  const notes = Object.entries(annotations).map(([name, value]) => [`cert-manager.io/${name}`, value]);
  const metadata = {name: 'np-a', namespace: 'a', annotations: Object.fromEntries(notes)};
  const secret = {apiVersion: 'v1', kind: 'Secret', metadata};
  expect(certifiedBy(secret, 'a.test')).toMatchObject(want);
});

test('a certificate with other names counts as misnamed until a new attempt is in progress', () => {
  const others = {kind: 'others', names: 'victim.test'} as const;
  expect(assessCertificate(certificate('False', ''), others)).toEqual({kind: 'misnamed', names: 'victim.test'});
  expect(assessCertificate(certificate('True', ''), others)).toMatchObject({kind: 'issuing'});
});

test.each([
  {failedHoursAgo: [], wantHours: undefined},
  {failedHoursAgo: [0.5], wantHours: 0.5},
  {failedHoursAgo: [1], wantHours: undefined},
  {failedHoursAgo: [3, 0.5], wantHours: 1.5},
  {failedHoursAgo: [7, 5, 1], wantHours: 3},
  {failedHoursAgo: [30, 0.5], wantHours: 0.5},
  {failedHoursAgo: [5, 4, 3, 2, 1, 0.5, 0.2, 0.1, 0], wantHours: 32},
])('after failures $failedHoursAgo hours ago, a host that is added again waits $wantHours hours', row => {
  const hours = (n: number) => n * 3_600_000;
  const nowMs = Date.parse(FAILED_AT);
  const failures = row.failedHoursAgo.map(ago => new Date(nowMs - hours(ago)).toISOString());
  expect(pausedUntilMs(failures, nowMs)).toBe(row.wantHours && nowMs + hours(row.wantHours));
});
