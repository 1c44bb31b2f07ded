import {expect, test} from 'vitest';
import {type Condition, timestamp} from '../../api/conditions.ts';
import {
  Accepted,
  CaaAllowed,
  CertificateReady,
  Claimed,
  DnsVerified,
  type DomainCondition,
  Probed,
  Routed,
} from './conditions.ts';
import {progressOf, readyOf, type Steps, stateOf} from './summary.ts';

const WELL: Steps = [
  Accepted.yes('shop'),
  DnsVerified.yes('as it should be'),
  Claimed.yes('2026-01-01T00:00:00Z'),
  CaaAllowed.yes('No CAA record forbids it.'),
  CertificateReady.issued('2026-04-01T00:00:00Z'),
  Routed.serving('shop', ''),
  Probed.yes(true),
];

function steps(...changed: readonly DomainCondition[]): Steps {
  return WELL.map(step => changed.find(({type}) => type === step.type) ?? step);
}

const accepted = Accepted.noSuccessfulDeploy('shop', 'shop');
const missing = DnsVerified.no('RecordMissing', 'Create the record.');
const waitingCertificate = CertificateReady.waiting('DNS');
const waitingRoute = Routed.waiting('the certificate');
const held = Claimed.heldByAnother('a.test', 'a.test CNAME b.test');
const drifted = DnsVerified.drifted('2026-01-01T00:00:00Z', 'The record is gone.');

test.each([
  {case: 'all is well', now: steps(), published: true, state: 'Live', reason: 'Live', status: 'True'},
  {case: 'DNS drifted', now: steps(drifted), published: true, state: 'Degraded', reason: 'Drifted', status: 'True'},
  {
    case: 'the edge has not judged the route yet',
    now: steps(Routed.pending('HTTPRoute np-a')),
    published: true,
    state: 'Verified',
    reason: 'Pending',
    status: 'False',
  },
  {
    case: 'the edge does not answer yet',
    now: steps(Probed.pending()),
    published: true,
    state: 'Verified',
    reason: 'Pending',
    status: 'False',
  },
  {
    case: 'the edge presents another certificate',
    now: steps(Probed.no('WrongCertificate', 'The edge presents another one.')),
    published: true,
    state: 'Degraded',
    reason: 'WrongCertificate',
    status: 'False',
  },
  {
    case: 'the edge cannot be reached',
    now: steps(Probed.edgeUnreachable()),
    published: true,
    state: 'Live',
    reason: 'Live',
    status: 'True',
  },
  {
    case: 'hosts are not probed',
    now: steps(Probed.notProbed()),
    published: true,
    state: 'Live',
    reason: 'Live',
    status: 'True',
  },
  {
    case: 'the edge no longer accepts the route',
    now: steps(Routed.notAccepted('HTTPRoute np-a', 'Accepted is False')),
    published: true,
    state: 'Degraded',
    reason: 'NotAccepted',
    status: 'False',
  },
  {
    case: 'a change of the route is refused, and the last one stays',
    now: steps(Routed.refused('exceeded quota', true)),
    published: true,
    state: 'Degraded',
    reason: 'Refused',
    status: 'True',
  },
  {
    case: 'a change of the Certificate is refused, and its Secret stays valid',
    now: steps(CertificateReady.refused('exceeded quota', true)),
    published: true,
    state: 'Degraded',
    reason: 'Refused',
    status: 'True',
  },
  {
    case: 'a change of the route is held back by a pause',
    now: steps(Routed.paused(true)),
    published: true,
    state: 'Live',
    reason: 'Paused',
    status: 'True',
  },
  {
    case: 'the first route is refused',
    now: steps(Routed.refused('exceeded quota', false)),
    published: false,
    state: 'Verified',
    reason: 'Refused',
    status: 'False',
  },
  {
    case: 'the record is missing',
    now: steps(missing, Claimed.waiting(), waitingCertificate, waitingRoute),
    published: false,
    state: 'Unverified',
    reason: 'RecordMissing',
    status: 'False',
  },
  {
    case: 'another account holds it, and the record is missing',
    now: steps(missing, held, waitingCertificate, waitingRoute),
    published: false,
    state: 'Unverified',
    reason: 'HeldByAnotherAccount',
    status: 'False',
  },
  {
    case: 'another account holds it, and there is still a certificate',
    now: steps(held),
    published: false,
    state: 'Unverified',
    reason: 'HeldByAnotherAccount',
    status: 'False',
  },
  {
    case: 'proved, and the certificate is being issued',
    now: steps(CertificateReady.issuing(''), waitingRoute),
    published: false,
    state: 'Verified',
    reason: 'Issuing',
    status: 'False',
  },
  {
    case: 'not accepted',
    now: steps(accepted, missing, waitingCertificate, waitingRoute),
    published: false,
    state: 'Blocked',
    reason: 'NoSuccessfulDeploy',
    status: 'False',
  },
  {
    case: 'no longer accepted, but still served',
    now: steps(accepted),
    published: true,
    state: 'Degraded',
    reason: 'NoSuccessfulDeploy',
    status: 'False',
  },
])('$case: $state, $reason', ({now, published, state, reason, status}) => {
  const ready = readyOf(now);
  expect(ready).toMatchObject({reason, status});
  expect(stateOf(now, ready, published)).toBe(state);
});

const START = Date.parse('2026-01-01T00:00:00Z');
const at = (seconds: number) => ({generation: 3, propagationSeconds: 100, nowMs: START + seconds * 1000});
const unproved = steps(missing, Claimed.waiting(), waitingCertificate, waitingRoute);

function progress(type: string, reason: string, observedGeneration = 3): Condition[] {
  return [{type, status: 'True', reason, message: '', observedGeneration, lastTransitionTime: timestamp(START)}];
}

test.each([
  {case: 'what is live progresses no further', now: steps(), previous: [], seconds: 0, is: []},
  {
    case: 'what is live but cannot be changed is in progress',
    now: steps(Routed.refused('exceeded quota', true)),
    previous: [],
    seconds: 0,
    is: ['Reconciling'],
  },
  {
    case: 'what only a person can fix stalls immediately',
    now: steps(Accepted.invalidHost('it is an address')),
    previous: [],
    seconds: 0,
    is: ['Stalled'],
  },
  {
    case: 'a loop of redirects stalls',
    now: steps(Accepted.redirectLoop(['a.test', 'b.test', 'a.test'])),
    previous: [],
    seconds: 0,
    is: ['Stalled'],
  },
  {case: 'a missing record may take its time', now: unproved, previous: [], seconds: 0, is: ['Reconciling']},
  {
    case: 'a record still missing before the time is over',
    now: unproved,
    previous: progress('Reconciling', 'RecordMissing'),
    seconds: 99,
    is: ['Reconciling'],
  },
  {
    case: 'a record still missing when the time is over stalls',
    now: unproved,
    previous: progress('Reconciling', 'RecordMissing'),
    seconds: 100,
    is: ['Stalled'],
  },
  {
    case: 'what stalled stays so while DNS is wrong',
    now: unproved,
    previous: progress('Stalled', 'RecordMismatch'),
    seconds: 500,
    is: ['Stalled'],
  },
  {
    case: 'a person fixed the spec: the time starts again',
    now: unproved,
    previous: progress('Stalled', 'RecordMismatch', 2),
    seconds: 500,
    is: ['Reconciling'],
  },
  {
    case: 'a plan was upgraded: now DNS has its time',
    now: unproved,
    previous: progress('Stalled', 'PlanRequired'),
    seconds: 500,
    is: ['Reconciling'],
  },
])('$case', ({now, previous, seconds, is}) => {
  const {conditions} = progressOf(now, readyOf(now), previous, at(seconds));
  expect(conditions.map(({type}) => type)).toEqual(is);
});

test('a Domain that waits for DNS is reconciled when it stalls', () => {
  const {stallsAtMs} = progressOf(unproved, readyOf(unproved), progress('Reconciling', 'RecordMissing'), at(40));
  expect(stallsAtMs).toBe(START + 100_000);
});
