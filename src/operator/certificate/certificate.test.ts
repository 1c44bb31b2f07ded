import {expect, test} from 'vitest';
import type {Certificate} from '../kinds/kinds.ts';
import {
  attemptOf,
  certifiedBy,
  changesAtMs,
  datesOf,
  failedInFuture,
  freshAttempt,
  heldCertificate,
  pausedUntilMs,
  renewBeforePercentage,
} from './certificate.ts';

const FAILED_AT = '2026-11-21T12:00:00Z';
const NOW_MS = Date.parse(FAILED_AT);
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const isoIn = (ms: number) => new Date(NOW_MS + ms).toISOString();
const needed = {isNeeded: true, nowMs: NOW_MS};

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
  expect(attemptOf(certificate('False', message, FAILED_AT), needed)).toEqual({kind: 'failed', why});
});

test('progress is reported as one sentence', () => {
  const found = attemptOf(certificate('True', 'Issuing certificate as Secret does not exist.'), needed);
  expect(found).toMatchObject({
    kind: 'running',
    progress: ' cert-manager: Issuing certificate as Secret does not exist.',
  });
});

test('the time that an order was queued does not count as issuing', () => {
  const orderedAtMs = NOW_MS + HOUR_MS;
  const found = attemptOf(certificate('True', 'Issuing'), {...needed, orderedAtMs});
  expect(found).toMatchObject({kind: 'running', sinceMs: orderedAtMs});
});

test('a beginning that a wrong clock recorded is not believed', () => {
  const nowMs = NOW_MS - 365 * DAY_MS;
  expect(attemptOf(certificate('True', 'Issuing'), {isNeeded: true, nowMs})).toMatchObject({sinceMs: undefined});
});

test('without a need, cert-manager has nothing to do until it says so', () => {
  const rests = {isNeeded: false, nowMs: NOW_MS};
  expect(attemptOf(certificate('False', ''), rests)).toEqual({kind: 'none'});
  expect(attemptOf(certificate('True', ''), rests)).toMatchObject({kind: 'running', isStarted: true});
  expect(attemptOf(certificate('False', ''), needed)).toMatchObject({kind: 'running', isStarted: false});
});

const FOR_HOST = {kind: 'host'} as const;
/** Of 90 days, renewed after 60. */
const dates = (ageMs: number) => ({
  notBefore: isoIn(-ageMs),
  notAfter: isoIn(90 * DAY_MS - ageMs),
  renewalTime: isoIn(60 * DAY_MS - ageMs),
});

test.each([
  {case: 'new', ageMs: 0, kind: 'valid', changesInMs: 69 * DAY_MS},
  {case: 'whose renewal is due', ageMs: 60 * DAY_MS, kind: 'valid', changesInMs: 9 * DAY_MS},
  {case: 'whose renewal is overdue', ageMs: 69 * DAY_MS, kind: 'valid', isOverdue: true, changesInMs: 21 * DAY_MS},
  {case: 'a second before it expires', ageMs: 90 * DAY_MS - 1000, kind: 'valid', isOverdue: true, changesInMs: 1000},
  {case: 'at the time when it expires', ageMs: 90 * DAY_MS, kind: 'expired'},
  {case: 'of a CA whose clock is an hour ahead', ageMs: -HOUR_MS, kind: 'valid', changesInMs: 70 * DAY_MS},
  {case: 'that is valid only tomorrow', ageMs: -DAY_MS, kind: 'early', changesInMs: 22 * HOUR_MS},
])('a certificate $case is $kind, whatever cert-manager says', ({ageMs, kind, isOverdue = false, changesInMs}) => {
  for (const ready of ['True', 'False']) {
    const reason = ready === 'True' ? 'Ready' : 'IncorrectIssuer';
    const found: Certificate = {
      ...certificate('False', ''),
      status: {...dates(ageMs), conditions: [{type: 'Ready', status: ready, reason}]},
    };
    const held = heldCertificate(found, FOR_HOST, datesOf(found, undefined), NOW_MS);
    expect(held.kind).toBe(kind);
    if (held.kind === 'valid') expect(NOW_MS >= held.overdueAtMs).toBe(isOverdue);
    // A wall clock that is set changes the answer, and no timer notices.
    const wakesInMs = changesInMs === undefined ? undefined : Math.min(changesInMs, 6 * HOUR_MS);
    expect(changesAtMs(held, NOW_MS)).toBe(wakesInMs && NOW_MS + wakesInMs);
  }
});

test.each([
  {case: 'of 90 days', days: 90, said: undefined, want: undefined},
  {case: 'of 45 days', days: 45, said: undefined, want: undefined},
  {case: 'of six days', days: 6, said: undefined, want: 50},
  {case: 'of six days, after another one', days: 6, said: 50, want: 50},
  {case: 'of 45 days, after one of six', days: 45, said: 50, want: null},
  {case: 'of 45 days, long after one of six', days: 45, said: null, want: undefined},
  {case: 'whose lifetime is not known', days: undefined, said: undefined, want: undefined},
  {case: 'whose lifetime is not known, after one of six', days: undefined, said: 50, want: 50},
])('how early cert-manager renews a certificate $case', ({days, said, want}) => {
  const {spec, ...rest} = certificate('False', '');
  const known = {...rest, spec: {...spec, ...(said !== undefined && {renewBeforePercentage: said})}};
  const dates = days === undefined ? {} : {notBefore: isoIn(0), notAfter: isoIn(days * DAY_MS)};
  expect(renewBeforePercentage(dates, known)).toBe(want);
});

test.each(['MissingData', 'InvalidKeyPair', 'InvalidCertificate'])(
  'a Secret of which cert-manager reports %s holds nothing that an edge can use',
  reason => {
    const conditions = [{type: 'Ready', status: 'False', reason}];
    const found: Certificate = {...certificate('False', ''), status: {...dates(0), conditions}};
    expect(heldCertificate(found, FOR_HOST, datesOf(found, undefined), NOW_MS)).toEqual({kind: 'nothing'});
  },
);

test('while cert-manager has reported no dates of a Certificate, those that were known before count', () => {
  const young = certificate('True', '');
  expect(heldCertificate(young, FOR_HOST, datesOf(young, undefined), NOW_MS)).toEqual({kind: 'undated'});
  const known = {notAfter: isoIn(DAY_MS), renewalTime: isoIn(-DAY_MS)};
  const held = {kind: 'valid', notAfterMs: NOW_MS + DAY_MS, overdueAtMs: NOW_MS + DAY_MS};
  expect(heldCertificate(young, FOR_HOST, datesOf(young, known), NOW_MS)).toEqual(held);
  expect(heldCertificate(young, FOR_HOST, datesOf(young, known), NOW_MS + DAY_MS)).toMatchObject({kind: 'expired'});
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

test('a failure that a wrong clock recorded for next year delays nothing', () => {
  const future = isoIn(365 * DAY_MS);
  expect(pausedUntilMs([future], NOW_MS)).toBeUndefined();
  expect(pausedUntilMs([future, isoIn(-HOUR_MS / 2)], NOW_MS)).toBe(NOW_MS + HOUR_MS / 2);
  const failed = certificate('False', 'no', future);
  expect(failedInFuture(failed, NOW_MS)).toBe(true);
  expect(freshAttempt(failed, NOW_MS).status.conditions[0]?.lastTransitionTime).toBe(FAILED_AT);
});
