import {expect, test} from 'vitest';
import type {DnsCheck} from '../../dns/dns.ts';
import {DnsVerified} from './conditions.ts';
import type {DomainOperator} from './context.ts';
import {verifyDns} from './verify.ts';
import type {DomainView} from './view.ts';

const NOW = Date.parse('2026-11-24T12:00:00Z');
const DRIFT_AFTER_SECONDS = 30;
const accepted = {type: 'Accepted', status: 'True', reason: 'Accepted', message: ''} as const;

/** A served host whose servers have agreed for this many seconds that it does not point here. */
function driftingFor(seconds: number, last: object) {
  const operator = {
    config: {dns: {driftAfterSeconds: DRIFT_AFTER_SECONDS}},
    clock: {monotonic: () => NOW},
    scheduler: {watch: () => undefined},
  } as unknown as DomainOperator;
  const since = NOW - seconds * 1000;
  const check = {
    verdict: {verified: false, agreed: true, reason: 'RecordMissing', message: 'There is no record.'},
    agreedSince: since,
    agreedSinceEpochMs: since,
  } as DnsCheck;
  const view = {
    key: 'a/shop.test',
    host: 'shop.test',
    account: {id: 'a', plan: {}},
    domain: {metadata: {uid: 'uid'}, status: {conditions: [last]}},
    holder: 'us',
    published: {kind: 'serve'},
    check,
    nowMs: NOW,
  } as unknown as DomainView;
  return verifyDns(operator, view, accepted).condition;
}

test('a live host keeps its state until its servers have agreed for driftAfterSeconds', () => {
  const verified = DnsVerified.yes('as it was');
  expect(driftingFor(DRIFT_AFTER_SECONDS - 1, verified)).toMatchObject(verified);
  const since = '2026-11-24T11:59:30Z';
  expect(driftingFor(DRIFT_AFTER_SECONDS, verified)).toEqual(DnsVerified.drifted(since, 'There is no record.'));
});

test('to a new process, a host that drifted has drifted since the same time', () => {
  const drifted = DnsVerified.drifted('2026-11-20T08:00:00Z', 'There is no record.');
  expect(driftingFor(1, drifted)).toMatchObject(drifted);
  expect(driftingFor(DRIFT_AFTER_SECONDS, drifted)).toEqual(drifted);
});

const cname = {reason: 'Verified', verified: true, agreed: true, caa: {outcome: 'allowed'}};
const forbidden = {...cname, caa: {outcome: 'forbidden'}};
const served = {published: {kind: 'serve'}};
const reported = (...conditions: readonly object[]) => ({domain: {metadata: {}, status: {conditions}}});
const dns = {type: 'DNSVerified', status: 'True'};
const caa = {type: 'CAAAllowed', status: 'True'};

test.each([
  {when: 'it was not checked yet', found: {}, want: 'pending'},
  {when: 'its record is missing', found: {verdict: {...cname, verified: false}}, want: 'pending'},
  {when: 'CAA forbids a certificate', found: {verdict: forbidden}, want: 'pending'},
  {when: 'it is verified and not live', found: {verdict: cname}, want: 'steady'},
  {when: 'it is verified and held, but not live', found: {verdict: cname, holder: 'us'}, want: 'steady'},
  {when: 'it is verified and live', found: {verdict: cname, holder: 'us', ...served}, want: 'steady'},
  {when: 'its record is lost', found: {verdict: {...cname, verified: false}, holder: 'us', ...served}, want: 'pending'},
  {when: 'a new process finds it live', found: {holder: 'us', ...served, ...reported(dns, caa)}, want: 'steady'},
  {when: 'a new process finds it unverified', found: {holder: 'us', ...served, ...reported(caa)}, want: 'pending'},
  {when: 'another holds it, whose claim a check may move', found: {verdict: cname, holder: 'another'}, want: 'pending'},
])('a host is $want when $when', ({found: {verdict, ...found}, want}) => {
  const watched: string[] = [];
  const scheduler = {watch: (_: string, {urgency}: {urgency: string}) => void watched.push(urgency), request() {}};
  const operator = {config: {dns: {}}, knownSince: {of: () => 0}, clock: {monotonic: () => NOW}, scheduler};
  const view = {
    ...{key: 'a/shop.test', host: 'shop.test', account: {id: 'a', plan: {}}, domain: {metadata: {}}, nowMs: NOW},
    ...(verdict && {check: {verdict, startedAt: NOW}}),
    ...found,
  };
  verifyDns(operator as unknown as DomainOperator, view as unknown as DomainView, accepted);
  expect(watched).toEqual([want]);
});
